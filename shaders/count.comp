// This shader counts the tokens that should turn and cannot, and in fused passes those that have no slot in their cache.
// A thread takes one token.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeFusedPush
#include "fused/cache.glsl"

BUFFER(ROPE_BINDING_DESTINATION, Counter, , uint, counter)

void main() {
    uint number = gl_WorkGroupID.x * gl_WorkGroupSize.z + gl_LocalInvocationID.z;
    if (number >= push.tokens) return;
    Token token = find_token(gl_WorkGroupID.y, number);
    if (!is_counted_in(number)) return;
    bool lacks = !is_known(token) && token.turns;
    if (kCosSin == ROPE_FROM_ROWS) lacks = false; // or nothing turns
    if (kByDelta && kSets == 0u) lacks = false;
    bool skipped = false;
    uint slot = 0u;
    if (kCache != ROPE_CACHE_OFF) slot = slot_of(token, number, skipped);
    if (slot == ROPE_NOWHERE) lacks = lacks || !skipped;
    if (lacks) atomicAdd(counter[0], 1u);
}
