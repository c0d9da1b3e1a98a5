// The host and the shaders of the other families share this beside interface.h: fused passes, tables, additions,
// biases, relative vectors and counts. GLSL and C++ (in namespace rope) include this file.
#ifndef ROPE_FAMILIES_H
#define ROPE_FAMILIES_H

#include "interface.h"

#ifdef __cplusplus
namespace rope {
#endif

// Fused passes.
#define ROPE_ID_ALL_HEADS 38    // K's and V's
#define ROPE_ID_TURNED_HEADS 39 // those before V's
#define ROPE_ID_SOURCE_HEAD 40  // strides
#define ROPE_ID_DESTINATION_HEAD 41
#define ROPE_ID_SOURCE_V 42      // from K's first element to V's, in one buffer
#define ROPE_ID_DESTINATION_V 43 // of integers: from K's first word to V's
#define ROPE_ID_COUNTED 44       // 1: the count of tokens is read
#define ROPE_ID_CACHE 45         // cache kind
#define ROPE_ID_SLOT_MAP_WIDE 46 // 1: slots or table are of int64
#define ROPE_ID_SLOT_MAP_BATCH 47
#define ROPE_ID_SLOT_MAP_TOKEN 48 // slots: from a token's to the next; table: pages of a sequence
#define ROPE_ID_SLOTS 49
#define ROPE_ID_PAGE_SIZE 50
#define ROPE_ID_PAGE_STRIDE 51
#define ROPE_ID_NORM 52
#define ROPE_ID_NORM_HEADS 53 // heads normed together: 1 or all
#define ROPE_ID_NORM_SHARE 54 // float32 bits: what the sum of squares is multiplied by
#define ROPE_ID_EPSILON 55    // float32 bits
#define ROPE_ID_WEIGHTS 56    // elements of the parameters before the weights; ROPE_NOWHERE: none
#define ROPE_ID_WEIGHT_OFFSET 57
#define ROPE_ID_QUERY_SCALE 58 // positions of one value; 0: none
#define ROPE_ID_QUERY_OFFSET 59
#define ROPE_ID_QUERY_COUNT 60
#define ROPE_ID_QUERY_VALUES 61
#define ROPE_ID_SCALE_PAGE 62 // strides of I8's scales
#define ROPE_ID_SCALE_SLOT 63
#define ROPE_ID_SCALE_HEAD 64
#define ROPE_ID_SCALE_BATCH 65
#define ROPE_ID_SCALE_AT 66   // from K's first word to its first scale, modulo 2^32
#define ROPE_ID_SCALE_V 67    // to V's
#define ROPE_ID_SHIFT 68      // 1: turn by push.ROPE_DELTA
#define ROPE_ID_PARAMETERS 69 // vectors of four
#define ROPE_ID_RUNS 70       // of four elements in a head

// Additions and biases.
#define ROPE_ID_LANES 38  // of one thread of an addition: a divisor of a row's
#define ROPE_ID_TOKENS 39 // of one thread; a bias' tokens are queries
// A pair's first element is given the sine; or, with 1, the cosine, or a row's first half.
#define ROPE_ID_COSINE_FIRST 40
#define ROPE_ID_SCALED 41     // 1: elements times push.ROPE_FACTOR first
#define ROPE_ID_BIAS 42       // which
#define ROPE_ID_WRITES 43     // 1: nothing is read, the bias alone is written
#define ROPE_ID_CAUSAL 44     // 1: keys behind their query are masked
#define ROPE_ID_BOTH_SIDES 45 // 1: T5's bidirectional buckets, ALiBi by the magnitude

#define ROPE_RELATIVE_RUN 32u // keys that one thread takes, with relative vectors

#define ROPE_NEAR_THRESHOLDS 4 // vectors of T5's thresholds, at least

#define ROPE_BIAS_BUCKETS 0
#define ROPE_BIAS_CLIP 1
#define ROPE_BIAS_LINEAR 2

#define ROPE_CACHE_OFF 0
#define ROPE_CACHE_BY_SLOTS 1
#define ROPE_CACHE_BY_POSITION 2
#define ROPE_CACHE_BY_RING 3
#define ROPE_CACHE_BY_TABLE 4

#define ROPE_NOWHERE 0xFFFFFFFFu
#define ROPE_NORM_OFF 0
#define ROPE_NORM_FIRST 1 // before the rotation
#define ROPE_NORM_LAST 2

#define ROPE_I8 3
#define ROPE_Q8_0 4
// Formats of caches alone. Their heads are looked at whole before a word of them is stored, and stored as 32-bit words.
#define ROPE_IS_FOR_CACHES(element) ((element) >= ROPE_I8)
// A block of Q8_0: a float16 scale, then its integers. Two blocks fill whole words.
#define ROPE_Q8_0_ELEMENTS 32
#define ROPE_Q8_0_BYTES 34
#define ROPE_Q8_0_PAIR_WORDS (2 * ROPE_Q8_0_BYTES / 4)

#ifndef __cplusplus
#define ROPE_SELF_TEST_WORDS 20 // rope.h's own in C++
#endif

// All others, whose threads are counted through: a thread's index is divided into token, group of heads and lane; see
// divide in index.h.
struct RopePush {
    ROPE_PUSH_COMMON
    uint lanes_magic; // lanes per token: head_lanes for each group of heads
    uint head_lanes;  // per group of heads: lanes of pairs, then lanes that copy what does not rotate
    uint head_lanes_magic;
    uint shifts;      // lanes_magic's in bits 0..15, head_lanes_magic's above
    uint pair_counts; // pairs in bits 0..15, lanes of pairs above
    uint rotary_begin;
    uint pass_elements; // elements of a head that a copying lane must bring over; 0 in place
    uint term_scale;    // float32 bits: of what relative vectors add to a score
};
#define ROPE_ROW_COPY pass_elements  // the table writes each value once more so much further; 0: once
#define ROPE_FACTOR pass_elements    // float32 bits: of an embedding
#define ROPE_KEYS pair_counts        // of a row of scores
#define ROPE_FIRST_KEY pass_elements // position of key 0
#define ROPE_ROW_STRIDE sin_offset   // from one of a bias' rows to the next; rows.head: from a head's to the next's
#define ROPE_BUCKETS_IN_ALL rotary_begin
#define ROPE_DIM rotary_begin // of relative vectors
#define ROPE_LEAST scale_mantissa
#define ROPE_MOST scale_exponent
// Fused passes have these as constants.
#define ROPE_COUNT_AT pair_counts     // element of the positions' buffer
#define ROPE_SLOT_MAP_AT rotary_begin // slots or table, there too
#define ROPE_DELTA pass_elements      // by which a cache is shifted
#define ROPE_FIRST_BATCH head_lanes
#define ROPE_SOURCE_V_AT heads // where K and V do not share a buffer
#define ROPE_DESTINATION_V_AT head_lanes_magic

#ifdef __cplusplus
} // namespace rope
#endif
#endif
