// The host and the shaders of the other families share this beside interface.h: tables, additions, biases, relative
// vectors, divisions of frequencies and the self-test. GLSL and C++ (in namespace rope) include this file.
#ifndef ROPE_WORDS_H
#define ROPE_WORDS_H

#include "../interface.h"

#ifdef __cplusplus
namespace rope {
#endif

// Additions have the rotation's ids and push constants, and these. A pair's first element is given the sine, or with 1
// the cosine or a row's first half.
#define ROPE_ID_COSINE_FIRST 48
#define ROPE_ID_FACTOR 49    // float32 bits: elements are multiplied by it first; 0: they are not
#define ROPE_ROWS_BY_EIGHT 3 // as by four, but eight of 16 bits

// Biases have these, and the rotation's ROPE_ID_QUADS, ROPE_ID_BY_WORDS and ROPE_ID_SHARES.
#define ROPE_ID_BIAS 40       // the kind
#define ROPE_ID_WRITES 44     // 1: nothing is read, the bias alone is written
#define ROPE_ID_CAUSAL 45     // 1: keys behind their query are masked
#define ROPE_ID_BOTH_SIDES 46 // 1: T5's bidirectional buckets, ALiBi by the magnitude
#define ROPE_ID_QUERIES 47    // of one thread
#define ROPE_ID_BUCKETS 48    // T5's, of both sides
#define ROPE_ID_MAX_DISTANCE 49

// Relative vectors have these. A quad is four elements. Ids 41 and 42 are those of runs.glsl.
#define ROPE_ID_DIM 40
#define ROPE_ID_HELD 43       // 16 bytes of scores, or quads of weights, that a thread loads at a time
#define ROPE_ID_TILE_QUADS 44 // quads of a query, or of its weights, in shared memory
// Keys:
#define ROPE_ID_TERM_SCALE 45 // float32 bits: products are multiplied by it
#define ROPE_ID_ROW_SLOTS 46  // rows in shared memory
#define ROPE_ID_ALL_ROWS 47   // 1: all rows find room there
// Values:
#define ROPE_ID_DIM_PARTS 48 // groups that one query's elements take
#define ROPE_ID_ITEMS 49     // quads of elements of one thread

// Bits of by_words: a tensor's rows do not lie at multiples of what is loaded at once.
#define ROPE_SOURCE_BY_WORDS 1u
#define ROPE_DESTINATION_BY_WORDS 2u

#define ROPE_NEAR_THRESHOLDS 4 // vectors of T5's thresholds, at least

#define ROPE_BIAS_BUCKETS 0
#define ROPE_BIAS_CLIP 1
#define ROPE_BIAS_LINEAR 2

// The push constants of relative vectors. rows.head is from a head's rows to the next head's.
struct RopeRelativePush {
    ROPE_PUSH_TOKENS
    ROPE_PUSH_TENSOR
    uint keys;
    int first_key; // position of key 0
    int least;     // distances that have the first row and the last
    int most;
    uint row_stride;
    uint key_parts;  // scores: groups that the keys of a few queries take
    uint key_rounds; // scores: a tile has the keys that a group holds, so many times
    uint by_words;
};

// The push constants of biases. Places of scores count units of PlanPass.address_unit elements.
struct RopeBiasPush {
    ROPE_PUSH_TOKENS
    ROPE_PUSH_TENSOR
    uint keys;       // of a row of scores
    uint first_key;  // position of key 0
    uint row_stride; // from one of the bias' rows to the next; rows.head: from a head's value to the next head's
    int least;       // clipped: the first and the last distance that have a row
    int most;
    uint lane_bits;  // a group has 2^lane_bits runs of keys, and as many queries as its threads then make
    uint lane_parts; // groups that a row of keys takes
};

// The push constants of tables, whose rows are the destination.
struct RopeTablePush {
    ROPE_PUSH_TOKENS
    ROPE_PUSH_TENSOR
    uint row_copy; // each value is written once more so much further; 0: once
};

// The push constants of the self-test. Its destination is the result.
struct RopeSelfTestPush {
    ROPE_PUSH_TOKENS
    ROPE_PUSH_TENSOR
    uint one; // float32 bits of 1
};

#ifdef __cplusplus
// The host completes the push constants in this form: those that families share, then a family's own.
struct RopePush {
    ROPE_PUSH_TOKENS
    ROPE_PUSH_TENSOR
    uint own[8];
};
} // namespace rope
#endif
#endif
