#!/bin/sh
# symbols.sh LIBRARY CONSUMER: the core calls no Vulkan function by name, needs no C++ runtime, allocates nowhere but in
# the context; and a host that plans, records table and rotation takes at most 150 KiB of code and SPIR-V.
set -u
failed=0
complain() { printf '%s\n' "$1"; failed=1; }

undefined=$(nm -u "$1" | awk '$1 == "U" {print $2}' | sort -u)
for symbol in $undefined; do
    case $symbol in
    vk*) complain "the core links against $symbol" ;;
    __cxa* | __gxx* | _Unwind* | _ZS* | _ZNS* | _ZNKS* | _Zn* | _Zd* | _ZT*) complain "the core needs the C++ runtime: $symbol" ;;
    esac
done
[ -n "$undefined" ] || complain "nm found no symbol in $1"
nm -A --defined-only "$1" 2>/dev/null | grep -E ' [TtWw] vk[A-Z]' && complain "the core defines a Vulkan function"

allocating=$(nm -A -u "$1" | grep -E ' U (malloc|calloc|realloc|free)$' | sed 's/^[^:]*:\([^:]*\):.*/\1/' | sort -u)
[ "$allocating" = "context.cpp.o" ] || complain "allocates elsewhere than in the context: $allocating"

bytes=$(size "$2" | awk 'NR == 2 {print $1 + $2}')
printf 'a host with table and rotation: %s bytes of code and data\n' "$bytes"
[ "$bytes" -le 153600 ] || complain "more than 150 KiB"
exit $failed
