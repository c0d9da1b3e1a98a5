// Copies ROPE_VECTORS vectors of four words in each thread; all are loaded before the first is stored. With ROPE_SUM the
// kernel adds one vector to the one in the destination.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeRotatePush
#include "../../shaders/encodings/words.h"
#include "../../shaders/start.glsl"

layout(set = 0, binding = ROPE_BINDING_SOURCE) readonly buffer Source {
    uvec4 source[];
};
#ifdef ROPE_SUM
layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer Destination {
#else
layout(set = 0, binding = ROPE_BINDING_DESTINATION) writeonly buffer Destination {
#endif
    uvec4 destination[];
};
#if ROPE_VECTORS > 1
#define TWO(at, more) \
    uvec4 first = source[at], second = source[at + 1u]; \
    more; \
    destination[at] = first, destination[at + 1u] = second;
#endif

void main() {
    if (gl_GlobalInvocationID.x >= push.tokens) return;
    uint at = gl_GlobalInvocationID.x * ROPE_VECTORS;
#ifdef ROPE_SUM
    destination[at] = floatBitsToUint(uintBitsToFloat(source[at]) + uintBitsToFloat(destination[at]));
#elif ROPE_VECTORS == 1
    destination[at] = source[at];
#elif ROPE_VECTORS == 2
    TWO(at, )
#elif ROPE_VECTORS == 4
    TWO(at, { TWO(at + 2u, ) })
#else
    TWO(at, { TWO(at + 2u, { TWO(at + 4u, { TWO(at + 6u, ) }) }) })
#endif
}
