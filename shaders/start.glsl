// What every shader begins with.
#extension GL_GOOGLE_include_directive : require
#include "interface.h"
#include "index.h"
#include "push.h"

layout(local_size_x_id = ROPE_ID_GROUP_SIZE, local_size_y = 1, local_size_z = 1) in;
layout(push_constant) uniform Push {
    uvec4 given[ROPE_PUSH_VECTORS];
};
RopePush push;
// Of a head's elements: fused passes are made for one geometry.
#ifdef ROPE_FUSED
layout(constant_id = ROPE_ID_PAIR_COUNTS) const uint kPairCounts = 0;
layout(constant_id = ROPE_ID_ROTARY_BEGIN) const uint kRotaryBegin = 0;
layout(constant_id = ROPE_ID_PASS_ELEMENTS) const uint kPassElements = 0;
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
