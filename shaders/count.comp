// Counts the tokens whose position lies outside a table: one thread per token.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "start.glsl"
#include "position.glsl"

layout(set = 0, binding = ROPE_BINDING_DESTINATION) buffer Counter {
    uint counter[];
};

void main() {
    uint token = gl_GlobalInvocationID.x;
    if (token >= push.tokens) return;
    uint row = uint(position_of(gl_WorkGroupID.y, token)) - uint(push.table_first);
    if (row >= push.table_rows) atomicAdd(counter[push.destination.offset], 1u);
}
