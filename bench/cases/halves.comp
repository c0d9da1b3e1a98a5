// This shader converts float16 by the device's own functions. It counts the conversions, and those of them that do not
// give the library's bits. With push.window_end 1 it widens halves. Otherwise it narrows the floats from the bits
// push.scale_mantissa on, each in the low and in the high half of a word. A thread takes 64 runs of four.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeRotatePush
#include "../../shaders/encodings/words.h"
#include "../../shaders/start.glsl"
#include "../../shaders/halves_proof.glsl"

layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer Counts {
    uint counts[];
};

void main() {
    if (gl_GlobalInvocationID.x >= push.tokens) return;
    uint converted = 0u, wrong = 0u;
    for (uint i = 0u; i < 64u; ++i) {
        uint run = gl_GlobalInvocationID.x * 64u + i;
        if (push.window_end != 0u) {
            wrong += wrongly_widened(run);
            converted += 4u;
        } else {
            uvec4 bits = push.scale_mantissa + run * 4u + uvec4(0u, 1u, 2u, 3u);
            uvec4 halves = narrow_f16(bits);
            wrong += wrongly_narrowed(bits, halves) + wrongly_narrowed(bits.yxwz, halves.yxwz);
            converted += 8u;
        }
    }
    atomicAdd(counts[push.destination.offset], converted);
    if (wrong != 0u) atomicAdd(counts[push.destination.offset + 1u], wrong);
}
