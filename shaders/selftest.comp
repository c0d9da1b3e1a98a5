// Float32 products and sums whose last bits tell how the device rounds: single ones, and pairs turned by the rotation's own
// text, four at a time. Some devices have a second unit for what all threads share, which turns no pair: so every operand
// depends on the thread, and is computed before any thread leaves. Push constants and index together give 1 in thread 0,
// so that no compiler can fold them; it cannot learn from the test against push.tokens that only thread 0 stays.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "start.glsl"

layout(set = 0, binding = ROPE_BINDING_DESTINATION) writeonly buffer Result {
    uint result[];
};

#define ROPE_BITS uvec4
#define ROPE_VALUES vec4
#define ROPE_LESS(a, b) lessThan(a, b)
#define ROPE_SELECT(which, yes, no) mix(no, yes, which)
#include "pair.h"

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
    if (gl_GlobalInvocationID.x >= push.tokens) return;
    uvec4 found[ROPE_SELF_TEST_WORDS / 4] = uvec4[](floatBitsToUint(sums), floatBitsToUint(both), first, second);
    for (uint i = 0u; i < ROPE_SELF_TEST_WORDS; ++i) result[push.destination.offset + i] = found[i / 4u][i % 4u];
}
