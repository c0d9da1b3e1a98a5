// Float32 products and sums whose last bits tell how the device rounds. The operands come through push constants'
// values so that no compiler can fold them.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "start.glsl"

layout(set = 0, binding = ROPE_BINDING_DESTINATION) writeonly buffer Result {
    uint result[];
};

void main() {
    push = push_of(given);
    if (gl_GlobalInvocationID.x != 0u) return;
    float one = uintBitsToFloat(push.scale_mantissa);          // 1
    float tiny = uintBitsToFloat(push.scale_mantissa - 0xC000000u); // 2^-24
    float next = uintBitsToFloat(push.scale_mantissa + 1u);    // 1 + 2^-23
    float third = uintBitsToFloat(push.scale_mantissa + 3u);   // 1 + 3 * 2^-23
    float half_more = uintBitsToFloat(push.scale_mantissa + 0x400001u); // 1.5 + 2^-23
    precise float values[ROPE_SELF_TEST_WORDS];
    values[0] = one + tiny;            // a tie: down to the even 1
    values[1] = next + tiny;           // a tie: up to the even 1 + 2^-22
    values[2] = -one - tiny;           // toward zero and nearest differ from down
    values[3] = next * next;           // 1 + 2^-22 + 2^-46: down
    values[4] = next * half_more;      // 1.5 + 2.5 * 2^-23 + 2^-46: up
    values[5] = next * third - one;    // 4 * 2^-23 unless fused: the product's tail is dropped
    values[6] = one + tiny * third;    // just above a tie: up
    values[7] = -next * half_more;     // and so downward, away from zero
    for (uint i = 0u; i < ROPE_SELF_TEST_WORDS; ++i) result[push.destination.offset + i] = floatBitsToUint(values[i]);
}
