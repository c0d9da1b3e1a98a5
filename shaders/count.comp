// This shader counts the tokens that should turn and cannot. A thread takes one token.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeCountPush
#include "families.h"
#include "start.glsl"
#include "position.glsl"

BUFFER(ROPE_BINDING_DESTINATION, Counter, , uint, counter)

void main() {
    uint number = gl_WorkGroupID.x * gl_WorkGroupSize.z + gl_LocalInvocationID.z;
    if (number >= push.tokens) return;
    Token token = find_token(gl_WorkGroupID.y, number);
    bool lacks = !is_known(token) && token.turns;
    if (lacks) atomicAdd(counter[push.destination.offset], 1u);
}
