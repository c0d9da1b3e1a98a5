#!/usr/bin/env bash
# vkrope_rope.glsl and vkrope_rope.hlsl, copied alone: each compiler of shaders that is here takes a rotation of a pair by them, and
# no driver may fuse a float operation of it. As WGSL the rotation is one that naga and tint take.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "rope files: $*" && exit 1; }
has() { command -v "$1" >/dev/null || { echo "rope files: skipped: there is no $1" | tee -a "${VKROPE_TEST_SKIPPED:-/dev/null}" && return 1; }; }

"$CMAKE" --build "$BUILD" --target vkrope-amalgamation >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
cp "$BUILD"/amalgamation/vkrope_rope.* "$work"
cd "$work"
cat >turn.comp <<'GLSL'
#version 450
#extension GL_GOOGLE_include_directive : require
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

is_exact() { # SPIRV
    [ ! -x "$BUILD/vkrope" ] || "$BUILD/vkrope" check-spirv "$1" >said || { cat said && fail "a driver may fuse operations of $1"; }
}
if has glslc; then
    for optimizer in -O0 -O; do
        glslc $optimizer --target-env=vulkan1.1 turn.comp -o "glsl$optimizer.spv"
        glslc $optimizer -x hlsl -fshader-stage=compute --target-env=vulkan1.1 turn.hlsl -o "hlsl$optimizer.spv"
    done
fi
if has dxc; then
    dxc -T cs_6_0 -spirv -fspv-target-env=vulkan1.1 turn.hlsl -Fo dxc.spv
    dxc -T cs_6_0 turn.hlsl -Fo turn.dxil
fi
for module in *.spv; do
    [ -f "$module" ] || continue
    is_exact "$module"
    [ ! -x "$(command -v spirv-cross)" ] || { spirv-cross "$module" --msl >turn.metal && spirv-cross "$module" --hlsl --shader-model 60 >cross.hlsl; }
done
has spirv-cross || true
if [ -f hlsl-O.spv ] && has naga; then
    naga hlsl-O.spv turn.wgsl 2>said || { cat said && fail "naga makes no WGSL of it"; }
    naga turn.wgsl || fail "naga does not take its own WGSL"
    ! has tint || tint turn.wgsl -o again.wgsl || fail "tint does not take naga's WGSL"
fi
