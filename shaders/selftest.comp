// What a device computes, for ropeReadSelfTest and ropeEnabledBySelfTest.
//
// Float32 products and sums whose last bits tell how the device rounds: single ones, and pairs turned by the rotation's own
// text, four at a time. Then the device's own conversions of float16, by the rotation's own text again: every half widened,
// and narrowed what lies on, and next to, every half and every middle of two, and some of every binade. They are counted,
// and those counted that are other than the library's.
//
// Some devices have a second unit for what all threads share, which turns no pair: so every operand depends on the thread,
// and the rounding's are computed before any thread leaves. Push constants and index together give 1 in thread 0, so that
// no compiler can fold them; it cannot learn from the test against push.tokens that only thread 0 writes.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "start.glsl"

layout(set = 0, binding = ROPE_BINDING_DESTINATION) writeonly buffer Result {
    uint result[];
};

#include "halves_proof.glsl"
#include "pair.h"

// Halves widened, those of them that are wrong, floats narrowed, those of them that are wrong.
shared uint counts[4];

// A finite half, and the middle between it and the next one with its two neighbours: all exact.
void find_middle(uint half_bits, out uvec4 magnitudes, out uvec4 halves) {
    uint normal_middle = (half_bits << 13) + 0x38001000u;
    uint small_middle = floatBitsToUint(float(2u * half_bits + 1u)) - (25u << 23); // in 2^-25ths
    uint middle = choose(half_bits < 0x400u, small_middle, normal_middle);
    magnitudes = uvec4(middle - 1u, middle, middle + 1u, widen_f16(uvec4(half_bits)).x);
    halves = half_bits + uvec4(0u, half_bits & 1u, 1u, 0u);
}

// Four floats of a binade: denormals, infinity and NaNs are among them, quiet ones and signalling ones.
void find_of_binade(uint index, out uvec4 magnitudes, out uvec4 halves) {
    uint place = index & 31u;
    uint mantissa = choose(place < 23u, 1u << min(place, 22u), index * 0x9E3779B1u);
    uvec4 mantissas = uvec4(mantissa, mantissa - 1u, ~mantissa, choose(place < 23u, mantissa | 0x400000u, ~0u));
    magnitudes = (index >> 5) << 23 | (mantissas & 0x7FFFFFu);
    halves = narrow_f16(magnitudes);
}

// Four floats in one of four ways: each in the low and in the high half of a word, positive and negative.
uint wrong_of(uint index, uint way) {
    uvec4 magnitudes, halves, binade_magnitudes, binade_halves;
    find_middle(index, magnitudes, halves);
    find_of_binade(index - kHalfInfinity, binade_magnitudes, binade_halves);
    bvec4 of_binade = bvec4(index >= kHalfInfinity);
    magnitudes = mix(magnitudes, binade_magnitudes, of_binade);
    halves = mix(halves, binade_halves, of_binade);
    bvec4 swapped = bvec4(way > 1u);
    uvec4 signs = (uvec4(0u, 1u, 0u, 1u) ^ way) & 1u;
    uvec4 bits = mix(magnitudes, magnitudes.yxwz, swapped) | signs << 31;
    uvec4 wanted = mix(halves, halves.yxwz, swapped) | signs << 15;
    return wrongly_narrowed(bits, wanted);
}

// One loop for each, without a loop inside: compilers unroll those, and take as long for it.
void count_halves(uint thread) {
    uvec4 own = uvec4(0u);
    for (uint i = thread; i < 0x8000u; i += gl_WorkGroupSize.x) { // each half in the low and in the high half of a word
        own.x += 4u;
        own.y += wrongly_widened(i);
    }
    for (uint i = thread; i < 4u * (kHalfInfinity + 32u * 256u); i += gl_WorkGroupSize.x) {
        own.z += 4u;
        own.w += wrong_of(i >> 2, i & 3u);
    }
    if (thread == 0u) counts = uint[](0u, 0u, 0u, 0u);
    barrier();
    for (uint i = 0u; i < 4u; ++i) atomicAdd(counts[i], own[i]);
    barrier();
}

void main() {
    push = push_of(given);
    uint bits = push.scale_mantissa + gl_GlobalInvocationID.x;
    float one = uintBitsToFloat(bits);
    float zero = uintBitsToFloat(bits - 0x3F800000u);
    float tiny = uintBitsToFloat(bits - 0xC000000u);       // 2^-24
    float next = uintBitsToFloat(bits + 1u);               // 1 + 2^-23
    float third = uintBitsToFloat(bits + 3u);              // 1 + 3 * 2^-23
    float half_more = uintBitsToFloat(bits + 0x400001u);   // 1.5 + 2^-23
    float less = uintBitsToFloat((bits + 1u) ^ 0x80000000u); // -(1 + 2^-23)
    precise vec4 sums = vec4(one + tiny,                   // a tie: down to the even 1
                             next + tiny,                  // a tie: up to the even 1 + 2^-22
                             -one - tiny,                  // toward zero and nearest differ from down
                             next * next);                 // 1 + 2^-22 + 2^-46: down
    precise vec4 both = vec4(next * half_more,             // 1.5 + 2.5 * 2^-23 + 2^-46: up
                             next * third - one,           // 4 * 2^-23 unless fused: the product's tail is dropped
                             one + tiny * third,           // just above a tie: up
                             less * half_more);            // and so downward, away from zero
    // Pairs: of the first two a difference cancels all but the products' tails, if one is fused; the third rounds products
    // up, the fourth its sums.
    uvec4 first = floatBitsToUint(vec4(next, next, next, one));
    uvec4 second = floatBitsToUint(vec4(next, less, zero, tiny));
    turn_pair(first, second, vec4(third, third, half_more, third), vec4(next, next, half_more, one), 0u);
    count_halves(bits - 0x3F800000u);
    if (gl_GlobalInvocationID.x >= push.tokens) return;
    uvec4 counted = uvec4(counts[0], counts[1], counts[2], counts[3]);
    uvec4 found[ROPE_SELF_TEST_WORDS / 4] = uvec4[](floatBitsToUint(sums), floatBitsToUint(both), first, second, counted);
    for (uint i = 0u; i < ROPE_SELF_TEST_WORDS; ++i) result[push.destination.offset + i] = found[i / 4u][i % 4u];
}
