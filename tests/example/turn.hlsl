// A host's shader in HLSL with vkrope's rotation in it. Pairs lie side by side; positions are made of the token's index, and go
// through all of int32. Each pair of the input makes seven of the output: turned, turned by a scaled angle, its cos and sin
// as a sinusoid has them, those of a position with a fraction, scaled, and of the compatible angle, whole and with a fraction,
// and turned by a frequency that is divided by FACTOR.
#include "rope.hlsl"
#include "shape.h"

[[vk::binding(0, 0)]] StructuredBuffer<float2> pairs;
[[vk::binding(1, 0)]] StructuredBuffer<uint4> frequencies; // exact, then compatible
[[vk::binding(5, 0)]] RWStructuredBuffer<float2> turned;

typedef float2 vec2; // free again

[numthreads(64, 1, 1)] void main(uint3 thread : SV_DispatchThreadID) {
    uint i = thread.x;
    if (i >= TOKENS * DIM / 2) return;
    uint whole = (i / (DIM / 2)) * 0x9E3779B1u;
    uint4 exact = frequencies[i % (DIM / 2)];
    uint4 compatible = frequencies[DIM / 2 + i % (DIM / 2)];
    RopeDistance at = distance_of(whole, 0u);
    RopeDistance between = distance_of(whole, whole * 0x85EBCA6Bu);
    vec2 cos_sin = asfloat(rope_cos_sin_bits(at, exact, false, true, SCALE_MANTISSA, 0));
    turned[7 * i] = rope_rotate(pairs[i], rope_cos_sin(int(whole), exact));
    turned[7 * i + 1] = rope_rotate_scaled(pairs[i], cos_sin, SCALE_MANTISSA, 0);
    turned[7 * i + 2] = rope_sinusoid(int(whole), exact);
    turned[7 * i + 3] = asfloat(rope_cos_sin_bits(between, exact, false, false, SCALE_MANTISSA, 0));
    turned[7 * i + 4] = asfloat(rope_cos_sin_bits(at, compatible, true, true, 0x80000000u, 0));
    turned[7 * i + 5] = asfloat(rope_cos_sin_bits(between, compatible, true, false, SCALE_MANTISSA, 0));
    turned[7 * i + 6] = rope_rotate(pairs[i], rope_cos_sin(int(whole), rope_divide_frequency(exact, FACTOR)));
}
