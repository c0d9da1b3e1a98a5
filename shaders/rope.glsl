// This file gives a shader of your own vkrope's rotation, with the bits of the plans' rotation. An attention may keep
// its keys unrotated in the cache, for example, and rotate them as it reads them. Give glslc this folder with -I.
//
//     #extension GL_GOOGLE_include_directive : require
//     #include "rope.glsl"
//     layout(set = 0, binding = 3) readonly buffer Frequencies { uvec4 frequencies[]; }; // ropeWriteFrequencies' bytes
//     ...
//     vec2 turned = rope_rotate(vec2(x, y), rope_cos_sin(position, frequencies[pair]));
//
// A pair's four words say which angle they were written for (rope.h has their layout). Words of the other angle, and
// zeros, make cos and sin NaN. ropeWriteFrequencies of rope.h writes them on the CPU. rope_divide_frequency makes new
// words of them, which your own shaders and the plans take as FREQUENCIES.
//
// glslc -O with SPIRV-Tools older than October 2025 drops NoContraction from the copies that it makes of an [[unroll]]
// loop (issue 5902). A rotation in such a loop then has other bits on some GPUs. Compile the shader without -O or with
// a newer glslc, or unroll no loop around a rotation. `vkrope check-spirv` finds what a driver may fuse.
//
// rope.hlsl makes HLSL of this file.
//
// ROPE_GLSL_VERSION is vkrope's version. This file takes names that begin with rope_, Rope and ROPE_, and the names in
// angle.h, divide.h, pair.h and dialect.h. It takes no bindings, constants or extensions.
#ifndef ROPE_GLSL
#define ROPE_GLSL

#include "numbers/angle.h"
#include "numbers/divide.h"
#include "version.glsl"

// Returns cos and sin of position * frequency, the exact angle. A scale of your model's own goes into rope_cos_sin_bits
// and rope_rotate_scaled, as the mantissa and exponent that ropeSplitScale of rope.h makes of the scale.
vec2 rope_cos_sin(int position, uvec4 frequency) {
    RopeDistance distance = distance_of(uint(position), 0u);
    return uintBitsToFloat(rope_cos_sin_bits(distance, frequency, false, true, 0x80000000u, 0));
}

// Returns sine and cosine, as a pair of an embedding is given them.
vec2 rope_sinusoid(int position, uvec4 frequency) { return rope_cos_sin(position, frequency).yx; }

// Returns the words of frequency / factor, with the bits of ropePlanFactors, for the angle that the frequency was
// written for. The words are zeros if there is no quotient: see ropeDivideFrequencies in rope.h. Some devices take a
// denormal float for 0; given as bits, the factor is what memory holds.
uvec4 rope_divide_frequency_by_bits(uvec4 frequency, uint factor) {
    return divided_frequency(frequency, factor, (frequency.x & ROPE_MARKS) == ROPE_MARK_COMPATIBLE);
}

uvec4 rope_divide_frequency(uvec4 frequency, float factor) {
    return rope_divide_frequency_by_bits(frequency, floatBitsToUint(factor));
}

#define ROPE_BITS uint
#define ROPE_VALUES float
#define ROPE_WHERE_LESS(a, b, yes, no) choose((a) < (b), yes, no)
#include "numbers/pair.h"
#undef ROPE_BITS
#undef ROPE_VALUES
#undef ROPE_WHERE_LESS

// Turns by cos and sin that hold a scale. ropeSplitScale of rope.h makes the scale's mantissa and exponent.
vec2 rope_rotate_scaled(vec2 pair, vec2 cos_sin, uint mantissa, int exponent) {
    uvec2 bits = floatBitsToUint(pair);
    turn_pair(bits.x, bits.y, cos_sin.x, cos_sin.y, scale_grid(mantissa, exponent));
    return uintBitsToFloat(bits);
}

vec2 rope_rotate(vec2 pair, vec2 cos_sin) { return rope_rotate_scaled(pair, cos_sin, 0x80000000u, 0); }

#endif
