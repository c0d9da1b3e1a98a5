// Counts the tokens that should turn and cannot, or that have no slot in the cache they go to: one thread per token.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "start.glsl"
#include "angle.h"
#include "position.glsl"
#ifdef ROPE_FUSED
#include "cache.glsl"
#endif

layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer Counter {
    uint counter[];
};

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= push.tokens) return;
    Token token = find_token(gl_WorkGroupID.y, index);
    bool lacks = !is_known(token) && token.turns;
#ifdef ROPE_FUSED
    if (!is_counted_in(index)) return;
    bool skipped = false;
    if (kCosSin == ROPE_FROM_ROWS) lacks = false; // or nothing turns
    if (kShift != 0u && kSets == 0u) lacks = false;
    if (kCache != ROPE_CACHE_OFF && slot_of(token, index, skipped) == ROPE_NOWHERE) lacks = lacks || !skipped;
#endif
    if (lacks) atomicAdd(counter[push.destination.offset], 1u);
}
