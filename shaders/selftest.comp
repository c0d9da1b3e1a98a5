// This shader shows how a device computes; ropeReadSelfTest and ropeEnabledBySelfTest read the result.
//
// The first words are float32 products and sums whose last bits tell how the device rounds: single ones, and pairs
// rotated by the rotation's own text, four at a time. The other words count conversions of float16 by the device's own
// functions, and those that do not give the library's bits. Every half is widened, and multiplied. Narrowed are every
// half as a float, every middle between two halves and the two floats beside it, some floats of every binade, and sums
// and products, since some compilers make one operation of a sum or product and its conversion.
//
// Some devices have a second unit for what all threads share, which rotates no pair. Every operand therefore depends on
// the thread, and the sums and products are computed before any thread leaves. Push constants and index together give
// 1 in thread 0, so that no compiler can fold them; it cannot learn from the test against push.tokens that only thread
// 0 writes.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeSelfTestPush
#include "encodings/words.h"
#include "start.glsl"

#define ROPE_SELF_TEST_WORDS 20 // as in rope.h
BUFFER(ROPE_BINDING_DESTINATION, Result, writeonly, uint, result)

#include "halves_proof.glsl"
#include "numbers/pair.h"

// These count the halves that were widened, the wrong ones of them, the floats that were narrowed, and the wrong ones
// of them.
shared uint counts[4];

// Returns the middle between each finite half and the next one.
uvec4 middle_of(uvec4 halves) {
    uvec4 normal_middle = (halves << 13) + 0x38001000u;
    uvec4 small_middle = floatBitsToUint(vec4(2u * halves + 1u)) - (25u << 23); // in 2^-25ths
    return mix(normal_middle, small_middle, lessThan(halves, uvec4(0x400u)));
}

// Gives a finite half, the middle between it and the next one, and the two floats beside the middle. All are exact,
// and so are the halves that they are narrowed to.
void find_middle(uint half_bits, out uvec4 magnitudes, out uvec4 halves) {
    uint middle = middle_of(uvec4(half_bits)).x;
    magnitudes = uvec4(middle - 1u, middle, middle + 1u, widen_f16(uvec4(half_bits)).x);
    halves = half_bits + uvec4(0u, half_bits & 1u, 1u, 0u);
}

// Gives four floats of a binade. The binades have denormals, infinity, and quiet and signalling NaNs among them.
void find_of_binade(uint index, out uvec4 magnitudes, out uvec4 halves) {
    uint place = index & 31u;
    uint mantissa = choose(place < 23u, 1u << min(place, 22u), index * 0x9E3779B1u);
    uvec4 mantissas = uvec4(mantissa, mantissa - 1u, ~mantissa, choose(place < 23u, mantissa | 0x400000u, ~0u));
    magnitudes = (index >> 5) << 23 | (mantissas & 0x7FFFFFu);
    halves = narrow_f16(magnitudes);
}

// Narrows four floats in one of four ways. The ways put each float into the low and into the high half of a word,
// positive and negative.
uint wrong_of(uint index, uint way) {
    uvec4 magnitudes, halves;
    if (index < kHalfInfinity) find_middle(index, magnitudes, halves);
    else find_of_binade(index - kHalfInfinity, magnitudes, halves);
    bvec4 swapped = bvec4(way > 1u);
    uvec4 signs = (uvec4(0u, 1u, 0u, 1u) ^ way) & 1u;
    uvec4 bits = mix(magnitudes, magnitudes.yxwz, swapped) | signs << 31;
    uvec4 wanted = mix(halves, halves.yxwz, swapped) | signs << 15;
    return wrongly_narrowed(bits, wanted);
}

// Widens four halves and multiplies them by 1. A device that joins both may take a denormal half for 0.
uint wrong_of_factors(uint number, float one) {
    uvec2 run = (number | number << 16) ^ uvec2(0x80000000u, 0x7FFFFFFFu);
    precise vec4 products = uintBitsToFloat(widen_run(run, ROPE_F16)) * one;
    return count_wrong(floatBitsToUint(products), widen_f16(low_halves(run)), kInfinity, 0x7FFFFFFFu);
}

// Narrows differences, sums and products whose float32 is the middle above one of four halves. The exact number is less
// than that middle for the differences, and more for the others. So a device that rounds once gives other halves.
uint wrong_of_rounded(uint index, uint way, float one) {
    uvec4 halves = 4u * index + uvec4(0u, 1u, 2u, 3u);
    uvec4 middle = middle_of(halves);
    uvec4 signs = (uvec4(0u, 1u, 0u, 1u) ^ way) & 1u;
    uvec4 wanted = (halves + (halves & 1u)) | signs << 15;
    uvec4 first = middle | signs << 31;
    uvec4 second = (floatBitsToUint(vec4(one)) - (60u << 23)) | signs << 31; // 2^-60
    precise vec4 products = uintBitsToFloat((middle + 1u) | signs << 31) * uintBitsToFloat(floatBitsToUint(one) - 1u);
    turn_pair(first, second, vec4(one), vec4(one), 0u);
    return wrongly_narrowed(first, wanted) + wrongly_narrowed(second, wanted) +
           wrongly_narrowed(floatBitsToUint(products), wanted);
}

// No loop has another loop inside: a compiler would unroll it, and take longer.
void count_halves(uint thread) {
    float one = uintBitsToFloat(push.one + (gl_GlobalInvocationID.x >> 16)); // 1 in each of these few threads
    uvec4 own = uvec4(0u);
    for (uint i = thread; i < 0x8000u; i += gl_WorkGroupSize.x) { // each half in the low and in the high half of a word
        own.x += 8u;
        own.y += wrongly_widened(i) + wrong_of_factors(0x7FFFu - i, one);
    }
    for (uint i = thread; i < 4u * (kHalfInfinity + 32u * 256u); i += gl_WorkGroupSize.x) {
        own.z += 4u;
        own.w += wrong_of(i >> 2, i & 3u);
    }
    for (uint i = thread; i < kHalfInfinity / 2u; i += gl_WorkGroupSize.x) {
        own.z += 12u;
        own.w += wrong_of_rounded(i >> 1, i & 1u, one);
    }
    if (thread == 0u) counts = uint[](0u, 0u, 0u, 0u);
    barrier();
    for (uint i = 0u; i < 4u; ++i) atomicAdd(counts[i], own[i]);
    barrier();
}

void main() {
    uint bits = push.one + gl_GlobalInvocationID.x;
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
    // In the first two pairs a difference cancels all but the products' tails, if a product is fused; the third rounds
    // products up, the fourth its sums.
    uvec4 first = floatBitsToUint(vec4(next, next, next, one));
    uvec4 second = floatBitsToUint(vec4(next, less, zero, tiny));
    turn_pair(first, second, vec4(third, third, half_more, third), vec4(next, next, half_more, one), 0u);
    count_halves(bits - 0x3F800000u);
    if (gl_GlobalInvocationID.x >= push.tokens) return;
    uvec4 counted = uvec4(counts[0], counts[1], counts[2], counts[3]);
    uvec4 found[ROPE_SELF_TEST_WORDS / 4] =
        uvec4[](floatBitsToUint(sums), floatBitsToUint(both), first, second, counted);
    for (uint i = 0u; i < ROPE_SELF_TEST_WORDS; ++i) result[push.destination.offset + i] = found[i / 4u][i % 4u];
}
