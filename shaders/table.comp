// This shader writes rows of cosines and sines. A thread writes one pair of one row. In a group, x is the pair and z
// the row. Among groups, x is the row, y the sequence and z the pair.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeTablePush
#include "encodings/words.h"
#include "frequency.glsl"

BUFFER(ROPE_BINDING_DESTINATION, Rows, writeonly, uint, rows)

void main() {
    uint index = gl_WorkGroupID.x * gl_WorkGroupSize.z + gl_LocalInvocationID.z;
    uint pair = gl_WorkGroupID.z * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (index >= push.tokens || pair >= kPairs) return;
    Token token = find_token(gl_WorkGroupID.y, index);
    uvec2 bits = uvec2(0x3F800000u, 0u); // 1 and 0: leaves its token as it is
    if (is_known(token) && token.turns) bits = cos_sin_of(token, axis_of(pair), frequency_of(token, pair));
    uint at = push.destination.offset + gl_WorkGroupID.y * push.destination.batch + index * push.destination.token +
              push.rows.offset + pair * push.rows.head;
    rows[at] = bits.x;
    rows[at + push.sin_offset] = bits.y;
    if (push.row_copy == 0u) return;
    rows[at + push.row_copy] = bits.x;
    rows[at + push.row_copy + push.sin_offset] = bits.y;
}
