// Rows of cos and sin: one thread per row and pair.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "start.glsl"
#include "angle.h"
#include "position.glsl"
#include "frequency.glsl"

layout(set = 0, binding = ROPE_BINDING_DESTINATION) writeonly buffer Rows {
    uint rows[];
};

void main() {
    uint token = divide(gl_GlobalInvocationID.x, push.lanes_magic, push.shifts & 0xFFFFu);
    if (token >= push.tokens) return;
    uint pair = gl_GlobalInvocationID.x - token * push.head_lanes;
    uint batch = gl_WorkGroupID.y;
    uvec2 bits = cos_sin_of(position_of(batch, token), pair);
    uint at = push.destination.offset + batch * push.destination.batch + token * push.destination.token +
              push.rows.offset + pair * push.rows.head;
    rows[at] = bits.x;
    rows[at + push.sin_offset] = bits.y;
    if (push.row_copy == 0u) return;
    rows[at + push.row_copy] = bits.x;
    rows[at + push.row_copy + push.sin_offset] = bits.y;
}
