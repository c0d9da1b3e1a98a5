// This shader counts the tokens that should turn and cannot, or that have no slot in the cache that they go to. A thread
// takes one token.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef ROPE_FUSED
#define INDEX gl_GlobalInvocationID.x
#else
#define ROPE_PUSH RopeCountPush
#define INDEX (gl_WorkGroupID.x * gl_WorkGroupSize.z + gl_LocalInvocationID.z)
#endif
#include "families.h"
#include "start.glsl"
#include "angle.h"
#include "position.glsl"

layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer Counter {
    uint counter[];
};

void main() {
    uint index = INDEX;
    if (index >= push.tokens) return;
    Token token = find_token(gl_WorkGroupID.y, index);
    bool lacks = !is_known(token) && token.turns;
    if (lacks) atomicAdd(counter[push.destination.offset], 1u);
}
