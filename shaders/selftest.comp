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

#define ROPE_LANE 4
const bool kNativeHalves = true;
#include "halves.glsl"
#include "pair.h"

const uint kInfinity = 0x7F800000u, kHalfInfinity = 0x7C00u;

// Halves widened, those of them that are wrong, floats narrowed, those of them that are wrong.
shared uint counts[4];

// How many differ. Of two NaNs the payloads may.
uint count_wrong(uvec4 found, uvec4 wanted, uint infinity, uint magnitude) {
    bvec4 differ = notEqual(found, wanted);
    uvec4 found_nan = uvec4(greaterThan(found & magnitude, uvec4(infinity)));
    uvec4 wanted_nan = uvec4(greaterThan(wanted & magnitude, uvec4(infinity)));
    uvec4 wrong = uvec4(differ) & ((found_nan & wanted_nan) ^ 1u);
    return wrong.x + wrong.y + wrong.z + wrong.w;
}

uint wrongly_widened(uvec2 run) {
    return count_wrong(widen_run(run, ROPE_F16), widen_f16(low_halves(run)), kInfinity, 0x7FFFFFFFu);
}

// A run in both orders of its pairs and with all signs; `halves` are those of the magnitudes.
uint wrongly_narrowed(uvec4 magnitudes, uvec4 halves) {
    uint wrong = 0u;
    for (uint way = 0u; way < 4u; ++way) {
        uvec4 signs = uvec4(way & 1u, ~way & 1u, way & 1u, ~way & 1u);
        bvec4 swapped = bvec4(way > 1u);
        uvec4 bits = mix(magnitudes, magnitudes.yxwz, swapped) | signs << 31;
        uvec4 wanted = mix(halves, halves.yxwz, swapped) | signs << 15;
        wrong += count_wrong(low_halves(narrow_run(bits, ROPE_F16)), wanted, kHalfInfinity, 0x7FFFu);
    }
    return wrong;
}

// A finite half, and the middle between it and the next one with its two neighbours: all exact.
uint wrong_around(uint half_bits) {
    uint normal_middle = (half_bits << 13) + 0x38001000u;
    uint small_middle = floatBitsToUint(float(2u * half_bits + 1u)) - (25u << 23); // in 2^-25ths
    uint middle = choose(half_bits < 0x400u, small_middle, normal_middle);
    uvec4 bits = uvec4(middle - 1u, middle, middle + 1u, widen_f16(uvec4(half_bits)).x);
    return wrongly_narrowed(bits, half_bits + uvec4(0u, half_bits & 1u, 1u, 0u));
}

// Four floats of every binade: denormals, infinity and NaNs are among them, quiet ones and signalling ones.
uint wrong_of_binade(uint index) {
    uint place = index & 31u;
    uint mantissa = choose(place < 23u, 1u << min(place, 22u), index * 0x9E3779B1u);
    uvec4 mantissas = uvec4(mantissa, mantissa - 1u, ~mantissa, choose(place < 23u, mantissa | 0x400000u, ~0u));
    uvec4 bits = (index >> 5) << 23 | (mantissas & 0x7FFFFFu);
    return wrongly_narrowed(bits, narrow_f16(bits));
}

void count_halves(uint thread) {
    uvec4 own = uvec4(0u);
    for (uint i = thread; i < 0x8000u; i += gl_WorkGroupSize.x) { // each half twice: low and high in a word
        own.x += 4u;
        own.y += wrongly_widened((i | i << 16) ^ uvec2(0x80000000u, 0x7FFFFFFFu));
    }
    for (uint i = thread; i < kHalfInfinity; i += gl_WorkGroupSize.x) {
        own.z += 16u;
        own.w += wrong_around(i);
    }
    for (uint i = thread; i < 0x2000u; i += gl_WorkGroupSize.x) {
        own.z += 16u;
        own.w += wrong_of_binade(i);
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
