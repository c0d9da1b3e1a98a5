#!/usr/bin/env bash
# pkgconfig.sh PREFIX: programs built with what pkg-config says of an installation there.
set -euo pipefail
prefix=$1
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config" && exit 77; }
PKG_CONFIG_LIBDIR=$(dirname "$(find "$prefix" -name vkrope.pc)")
export PKG_CONFIG_LIBDIR
[ "$(pkg-config --modversion vkrope)" = "$VERSION" ] || { echo "vkrope.pc is of another version" && exit 1; }
LD_LIBRARY_PATH=$(pkg-config --variable=libdir vkrope)
export LD_LIBRARY_PATH
case $LD_LIBRARY_PATH in
"$PKG_CONFIG_LIBDIR"/*) ;;
*) echo "vkrope.pc names $LD_LIBRARY_PATH, not where it lies" && exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2046,SC2086 # flags are several words
"$CC" -std=c99 -pedantic -Wall -Wextra -Werror ${VULKAN:+-I"$VULKAN"} $CFLAGS "$SOURCE/tests/package/consumer.c" \
    -o "$work/consumer" $(pkg-config --cflags --libs vkrope)
[ "$("$work/consumer")" = "$("$EXPECTED")" ] || { echo "other bits" && exit 1; }
# shellcheck disable=SC2046,SC2086
if echo '#include "rope.h"' | "$CC" -fsyntax-only ${VULKAN:+-I"$VULKAN"} $(pkg-config --cflags vkrope) -xc - 2>/dev/null; then
    echo "rope.h is found by its plain name, which may be another library's" && exit 1
fi
if [ -z "$CFLAGS" ] && readelf -d "$work/consumer" | grep libstdc++; then
    echo "a C host was given the C++ runtime" && exit 1
fi
if command -v glslc >/dev/null; then
    glslc --target-env=vulkan1.1 -I"$(pkg-config --variable=glsldir vkrope)" "$SOURCE/tests/package/turn.comp" -o "$work/turn.spv"
fi
if pkg-config --exists vkrope-device; then
    # shellcheck disable=SC2046,SC2086
    "$CXX" -std=c++17 ${VULKAN:+-I"$VULKAN"} $CFLAGS "$SOURCE/tests/package/device.cpp" -o "$work/device" \
        $(pkg-config --cflags --libs vkrope-device)
    "$work/device"
fi
