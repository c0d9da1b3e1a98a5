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
    uint index = divide(gl_GlobalInvocationID.x, push.lanes_magic, push.shifts & 0xFFFFu);
    if (index >= push.tokens) return;
    uint pair = gl_GlobalInvocationID.x - index * push.head_lanes;
    uint batch = gl_WorkGroupID.y;
    Token token = find_token(batch, index);
    uvec2 bits = uvec2(0x3F800000u, 0u); // 1 and 0: leaves its token as it is
    if (is_known(token) && token.turns) bits = cos_sin_of(token, axis_of(pair), frequency_of(token, pair));
    uint at = push.destination.offset + batch * push.destination.batch + index * push.destination.token +
              push.rows.offset + pair * push.rows.head;
    rows[at] = bits.x;
    rows[at + push.sin_offset] = bits.y;
    if (push.ROPE_ROW_COPY == 0u) return;
    rows[at + push.ROPE_ROW_COPY] = bits.x;
    rows[at + push.ROPE_ROW_COPY + push.sin_offset] = bits.y;
}
