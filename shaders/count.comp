// Counts the tokens that should turn and cannot: one thread per token.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "start.glsl"
#include "angle.h"
#include "position.glsl"

layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer Counter {
    uint counter[];
};

void main() {
    push = given;
    uint index = gl_GlobalInvocationID.x;
    if (index >= push.tokens) return;
    Token token = find_token(gl_WorkGroupID.y, index);
    if (token.turns && !token.known) atomicAdd(counter[push.destination.offset], 1u);
}
