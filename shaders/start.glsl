// Every shader begins with this file. ROPE_PUSH is the struct of its family's push constants.
#ifndef ROPE_START_GLSL
#define ROPE_START_GLSL

#include "interface.h"
#include "numbers/index.h"
layout(local_size_x_id = ROPE_ID_GROUP_SIZE, local_size_y_id = ROPE_ID_GROUP_BLOCKS,
       local_size_z_id = ROPE_ID_GROUP_TOKENS) in;
// BUFFER declares a storage buffer that has one array.
#define BUFFER(at, block, access, type, name) layout(set = 0, binding = at) access buffer block { type name[]; };
layout(push_constant) uniform Push { ROPE_PUSH push; };
// A head's elements.
layout(constant_id = ROPE_ID_PAIR_COUNTS) const uint kPairCounts = 0;
layout(constant_id = ROPE_ID_ROTARY_BEGIN) const uint kRotaryBegin = 0;
layout(constant_id = ROPE_ID_PASS_ELEMENTS) const uint kPassElements = 0;
layout(constant_id = ROPE_ID_HEAD_LANES) const uint kHeadLanes = 1;
const uint kPairs = kPairCounts & 0xFFFFu;
const uint kPairLanes = kPairCounts >> 16;

#endif
