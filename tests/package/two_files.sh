#!/usr/bin/env bash
# Two files: vkrope copied into an empty folder, with no build system. The same bytes are written twice. A C program and the
# README's first program rotate on every driver under validation, and compilers that are here take the sources without a word.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "two files: $*" && exit 1; }

"$CMAKE" --build "$BUILD" --target vkrope-amalgamation >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
mkdir "$work/first" && cp "$BUILD"/amalgamation/* "$work/first"
(cd / && PYTHONHASHSEED=7 "$CMAKE" --build "$BUILD" --target vkrope-amalgamation >/dev/null)
diff -r "$work/first" "$BUILD/amalgamation" || fail "the same sources have given other bytes"
cd "$work/first"

# Vulkan's headers alone, for compilers that have no others here.
mkdir "$work/headers"
ln -s "${VULKAN:-/usr/include}/vulkan" "${VULKAN:-/usr/include}/vk_video" "$work/headers"
warnings="-std=c++17 -Wall -Wextra -Wpedantic -Werror -I$work/headers"
# shellcheck disable=SC2086 # flags are several words
{
    for compiler in "$CXX" clang++ x86_64-w64-mingw32-g++; do
        command -v "$compiler" >/dev/null || continue
        "$compiler" $warnings -O2 -fno-exceptions -fno-rtti -c vkrope.cpp -o "${compiler##*/}.o"
    done
    "$CXX" $warnings -O1 -c vkrope_device.cpp
    "$CXX" $warnings -O1 -DVKROPE_NO_FUSED -DVKROPE_NO_ADDITIONS -DVKROPE_NO_BIASES -DVKROPE_NO_RELATIVE -DVKROPE_NO_REFERENCE \
        -c vkrope.cpp -o least.o
    "$CXX" $warnings -O1 -ffast-math -fsyntax-only vkrope.cpp 2>"$work/fast" && fail "-ffast-math was taken"
    grep -q "vkrope promises bits" "$work/fast" || fail "-ffast-math was refused without its sentence"
    "$CXX" $warnings -ffast-math -DVKROPE_ANY_BITS -fsyntax-only vkrope.cpp
}
core=${CXX##*/}.o
"$CC" -std=c99 -Wall -Wextra -Werror -DVKROPE_NO_REFERENCE -include vkrope.h -I"$SOURCE/host/include" -I"$work/headers" \
    "$SOURCE/tests/package/inside/left_out.c" least.o -lm -o least && ./least || fail "what is left out is not refused as it should be"
[ "$(stat -c %s least.o)" -lt $(($(stat -c %s "$core") / 2)) ] || fail "without its families vkrope.o has $(stat -c %s least.o) bytes"
foreign=$(nm --defined-only --extern-only "$core" | awk '{print $3}' | grep -vE '^(rope|_ZN?K?4rope)' || true)
[ -z "$foreign" ] || fail "names of others are defined: $foreign"

"$CC" -std=c99 -pedantic -Wall -Wextra -Werror -I. -I"$work/headers" "$SOURCE/tests/faces/two_files.c" "$core" -lvulkan -lm -o c_program
! ldd c_program | grep -F libstdc++ || fail "the C program takes libstdc++"
awk '/^```/ { if (taken) exit; taken = /^```cpp$/; next } taken' "$SOURCE/README.md" |
    sed 's|<vkrope/device.hpp>|"vkrope_device.hpp"|; s|<vkrope/rope.hpp>|"vkrope.hpp"|' >first.cpp
# shellcheck disable=SC2086
"$CXX" $warnings first.cpp "$core" vkrope_device.o -ldl -o cpp_program

run_both() {
    VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation ./c_program >said 2>&1 || { cat said && fail "the C program failed"; }
    ! grep -i "validation" said || fail "the layer has a message"
    ./cpp_program | grep -qF '(1.28674567, 0.586758614)' || fail "the README's program gave other numbers"
}
IFS=: read -ra drivers <<<"${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}"
[ ${#drivers[@]} -gt 0 ] || drivers=("")
for driver in "${drivers[@]}"; do
    (
        [ -z "$driver" ] || export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver
        run_both
    )
done

# Shaders of others, with and without the optimizer.
command -v glslc >/dev/null || exit 0
cat >turn.comp <<'GLSL'
#version 450
#include "vkrope_rope.glsl"
layout(set = 0, binding = 0) buffer Pairs { vec2 pairs[]; };
layout(set = 0, binding = 1) readonly buffer Frequencies { uvec4 frequencies[]; };
void main() { pairs[0] = rope_rotate(pairs[0], rope_cos_sin(int(gl_GlobalInvocationID.x), frequencies[0])); }
GLSL
cat >turn.hlsl <<'HLSL'
#include "vkrope_rope.hlsl"
[[vk::binding(0, 0)]] RWStructuredBuffer<float2> pairs;
[[vk::binding(1, 0)]] StructuredBuffer<uint4> frequencies;
[numthreads(64, 1, 1)] void main(uint3 at : SV_DispatchThreadID) {
    pairs[0] = rope_rotate(pairs[0], rope_cos_sin(int(at.x), frequencies[0]));
}
HLSL
for optimizer in -O0 -O; do
    sed 's|#include|#extension GL_GOOGLE_include_directive : require\n#include|' turn.comp >turn_$optimizer.comp
    glslc $optimizer --target-env=vulkan1.1 "turn_$optimizer.comp" -o turn.spv
    glslc $optimizer -x hlsl -fshader-stage=compute --target-env=vulkan1.1 turn.hlsl -o turn.spv
done
