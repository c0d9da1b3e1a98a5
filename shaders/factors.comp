// This shader divides frequencies by factors. A thread takes one pair of one set: a token is a pair, and a sequence a
// set. The rows are the frequencies, and the source is the factors.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeRotatePush
#include "start.glsl"
#include "numbers/divide.h"

layout(constant_id = ROPE_ID_ANGLE) const uint kAngle = ROPE_PHASE_EXACT;
BUFFER(ROPE_BINDING_COS_SIN, Frequencies, readonly, uvec4, frequencies)
// The factors are bits, because a device may take a denormal float32 for 0.
BUFFER(ROPE_BINDING_SOURCE, Factors, readonly, uint, factors)
BUFFER(ROPE_BINDING_DESTINATION, Quotients, writeonly, uvec4, quotients)

void main() {
    uint pair = gl_WorkGroupID.x * gl_WorkGroupSize.z + gl_LocalInvocationID.z;
    if (pair >= push.tokens) return;
    uvec4 frequency = frequencies[push.rows.offset + gl_WorkGroupID.y * push.rows.batch + pair * push.rows.token];
    uint factor = factors[push.source.offset + pair * push.source.token];
    quotients[push.destination.offset + gl_WorkGroupID.y * push.destination.batch + pair * push.destination.token] =
        divided_frequency(frequency, factor, kAngle != ROPE_PHASE_EXACT);
}
