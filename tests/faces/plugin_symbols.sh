#!/bin/sh
# plugin_symbols.sh PLUGIN: it exports its own names alone, and takes no function that allocates, starts a thread, or is Vulkan's.
set -eu
exported=$(nm -D --defined-only "$1" | awk '{print $3}' | sort | tr '\n' ' ')
wanted="rope_plugin_event rope_plugin_load rope_plugin_prepare rope_plugin_unload rope_plugin_version "
[ "$exported" = "$wanted" ] || { echo "it exports $exported" && exit 1; }
taken=$(nm -D --undefined-only "$1" | awk '{print $2}' | sed 's/@.*//')
[ -n "$taken" ]
if printf '%s\n' "$taken" | grep -E '^(vk|_Z|__cxa_(throw|guard|begin)|dl|pthread_|(m|c|re|aligned_)alloc|free$|posix_memalign|mmap)'; then
    echo "these it may not take" && exit 1
fi
