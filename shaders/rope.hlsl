// This file gives a shader in HLSL vkrope's rotation, with the bits of the plans' rotation. It is rope.glsl, read as
// HLSL. The functions and their arguments are the same, with float2, uint2 and uint4 for vec2, uvec2 and uvec4.
//
//     #include "rope.hlsl"
//     [[vk::binding(3, 0)]] StructuredBuffer<uint4> frequencies; // ropeWriteFrequencies' bytes
//     ...
//     float2 turned = rope_rotate(float2(x, y), rope_cos_sin(position, frequencies[pair]));
//
// Give the compiler this folder with -I. The tests compile it to SPIR-V with glslc -x hlsl. `vkrope check-spirv` finds
// nothing that a driver may fuse in what glslc and DXC make.
//
// Include it before macros of your own with the names vec2, uvec2, uvec4, uintBitsToFloat and floatBitsToUint. The file
// takes these words while it is read, and frees them at its end.
#ifndef ROPE_HLSL
#define ROPE_HLSL

#include "rope.glsl"

#undef vec2
#undef uvec2
#undef uvec4
#undef uintBitsToFloat
#undef floatBitsToUint
#endif
