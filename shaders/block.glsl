// A block is kHeadsPerThread heads of one token, of which a thread takes one lane. A head with more lanes than a group
// has threads takes kLaneParts groups.
#ifndef ROPE_BLOCK_GLSL
#define ROPE_BLOCK_GLSL
#include "start.glsl"

layout(constant_id = ROPE_ID_HEADS) const uint kHeadsPerThread = 1;
layout(constant_id = ROPE_ID_LANE_PARTS) const uint kLaneParts = 1;

#endif
