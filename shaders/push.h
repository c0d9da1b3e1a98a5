// The push words as the block that holds them: eight vectors, since every member of a block costs a decoration in each
// shader. The same text for GLSL and C++ (in namespace rope), so that a test can hold it against the struct.
#ifndef ROPE_PUSH_H
#define ROPE_PUSH_H

#include "dialect.h"

#define ROPE_PUSH_VECTORS 8

ROPE_FUNCTION RopePlace placed(uvec4 words) {
    RopePlace place;
    place.offset = words.x;
    place.batch = words.y;
    place.token = words.z;
    place.head = words.w;
    return place;
}

ROPE_FUNCTION RopePush push_of(ROPE_ARRAY(uvec4, words, ROPE_PUSH_VECTORS)) {
    RopePush push;
    push.tokens = words[0].x;
    push.heads = words[0].y;
    push.lanes_magic = words[0].z;
    push.head_lanes = words[0].w;
    push.head_lanes_magic = words[1].x;
    push.shifts = words[1].y;
    push.pair_counts = words[1].z;
    push.rotary_begin = words[1].w;
    push.pass_elements = words[2].x;
    push.first_token = words[2].y;
    push.position_offset = words[2].z;
    push.position_batch = words[2].w;
    push.position_token = words[3].x;
    push.position_axis = words[3].y;
    push.window_begin = words[3].z;
    push.window_end = words[3].w;
    push.sets = words[4].x;
    push.scale_mantissa = words[4].y;
    push.scale_exponent = int(words[4].z);
    push.sin_offset = words[4].w;
    push.rows = placed(words[5]);
    push.source = placed(words[6]);
    push.destination = placed(words[7]);
    return push;
}

ROPE_DIALECT_END
#endif
