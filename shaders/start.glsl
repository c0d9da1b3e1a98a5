// Every shader begins with this file. ROPE_ROTATION and ROPE_FUSED say which family it belongs to.
#include "interface.h"
#include "index.h"
#ifdef ROPE_ROTATION
layout(local_size_x_id = ROPE_ID_GROUP_SIZE, local_size_y_id = ROPE_ID_GROUP_BLOCKS,
       local_size_z_id = ROPE_ID_GROUP_TOKENS) in;
layout(push_constant) uniform Push { RopeRotatePush push; };
#else
#include "families.h"
layout(local_size_x_id = ROPE_ID_GROUP_SIZE, local_size_y = 1, local_size_z = 1) in;
layout(push_constant) uniform Push { RopePush push; };
#endif
// A head's elements: rotations and fused passes are made for one geometry.
#if defined(ROPE_ROTATION) || defined(ROPE_FUSED)
layout(constant_id = ROPE_ID_PAIR_COUNTS) const uint kPairCounts = 0;
layout(constant_id = ROPE_ID_ROTARY_BEGIN) const uint kRotaryBegin = 0;
layout(constant_id = ROPE_ID_PASS_ELEMENTS) const uint kPassElements = 0;
layout(constant_id = ROPE_ID_HEAD_LANES) const uint kHeadLanes = 1;
uint pair_counts() { return kPairCounts; }
uint rotary_begin() { return kRotaryBegin; }
uint pass_elements() { return kPassElements; }
#else
uint pair_counts() { return push.pair_counts; }
uint rotary_begin() { return push.rotary_begin; }
uint pass_elements() { return push.pass_elements; }
#endif
uint pair_count() { return pair_counts() & 0xFFFFu; }
uint pair_lanes() { return pair_counts() >> 16; }
