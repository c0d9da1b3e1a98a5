// What every shader begins with.
#extension GL_GOOGLE_include_directive : require
#include "interface.h"
#include "index.h"

layout(local_size_x_id = ROPE_ID_GROUP_SIZE, local_size_y = 1, local_size_z = 1) in;
layout(push_constant) uniform Push {
    RopePush given;
};
RopePush push;
uint pair_count() { return push.pair_counts & 0xFFFFu; }
uint pair_lanes() { return push.pair_counts >> 16; }
