#!/usr/bin/env bash
# vkrope inside another library, which is installed and then used alone: a shared one with every family, and a static one
# without the families that a build may leave out.
set -euo pipefail
complain() { echo "$1" && exit 1; }
logged() { "$@" >"$STAGE/inside.log" 2>&1 || { tail -n 50 "$STAGE/inside.log" && exit 1; }; }
configure() { # FOLDER ARGUMENT...
    local folder=$1
    shift
    logged "$CMAKE" -S "$SOURCE/tests/package/inside" -B "$folder" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
        ${LAUNCHER:+-DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER"} -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_CXX_FLAGS="$CFLAGS" ${VULKAN:+-DVKROPE_VULKAN_INCLUDE="$VULKAN"} "$@"
}
build() { # FOLDER ARGUMENT...: of the parent
    configure "$@" -DPARENT_SOURCE="$SOURCE" -DVKROPE_SPIRV="$SPIRV"
    logged "$CMAKE" --build "$1" --parallel 2
}
use() { # FOLDER: installs the parent there, and runs a program that knows the parent alone
    rm -rf "$1-place" "$1-program"
    logged "$CMAKE" --install "$1" --prefix "$1-place"
    configure "$1-program" -DCMAKE_PREFIX_PATH="$1-place"
    logged "$CMAKE" --build "$1-program"
    local printed
    printed=$("$1-program/program")
    [ "$printed" = "$("$EXPECTED")" ] || complain "$1: the program printed $printed"
}

shared=$STAGE/inside-shared static=$STAGE/inside-static
rm -rf "$shared" "$static"
build "$shared" -DBUILD_SHARED_LIBS=ON
use "$shared"
if grep '"command"' "$shared/compile_commands.json" | grep -v -- ' -fPIC '; then
    complain "these are not position independent, which this machine's linker may let pass"
fi
library=$(find "$shared-place" -name libparent.so)
exported=$(nm -D --defined-only "$library" | awk '{print $3}')
[ "$exported" = parent_main ] || complain "the parent exports $exported"
found=$(find "$shared-place" -iname '*vkrope*' -o -iname 'rope*')
[ -z "$found" ] || complain "installed unasked: $found"

build "$static" -DBUILD_SHARED_LIBS=OFF -DVKROPE_INSTALL=OFF \
    -DVKROPE_WITH_ADDITIONS=OFF -DVKROPE_WITH_BIASES=OFF -DVKROPE_WITH_RELATIVE=OFF -DVKROPE_WITH_FUSED=OFF
"$static/left-out" || complain "what is left out is not refused as it should be"
use "$static"
configure "$static" -DVKROPE_INSTALL=ON # the same libraries in two packages
use "$static"
kept=$(nm -A "$(find "$static-place" -name libvkrope.a)" | grep -oE 'rope_shader_[a-z_]+' | sort -u | tr '\n' ' ')
[ "$kept" = "rope_shader_count rope_shader_factors rope_shader_rotate_wide rope_shader_selftest rope_shader_table " ] ||
    complain "without the families the library has $kept"
