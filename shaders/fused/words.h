// The host and the shaders of the other families share this beside interface.h: fused passes, tables, additions,
// biases, relative vectors, counts and divisions of frequencies. GLSL and C++ (in namespace rope) include this file.
#ifndef ROPE_FAMILIES_H
#define ROPE_FAMILIES_H

#include "../interface.h"

#ifdef __cplusplus
namespace rope {
#endif

// Fused passes have these, and the rotation's constants of lanes and heads.
#define ROPE_ID_V_HEADS 48
#define ROPE_ID_APART 49         // ROPE_APART_ bits: K or V does not share the buffer of the tensor before it
#define ROPE_ID_ELEMENT_CACHE 50 // K's and V's; ROPE_ID_ELEMENT_OUT is Q's
// Strides are in units of RopePass.address_unit. Those of heads may be ROPE_SHARES_SEQUENCE and a number: a sequence's
// stride is that of so many heads, and the shader divides its push word.
#define ROPE_SHARES_SEQUENCE 0x80000000u
#define ROPE_ID_Q_SOURCE_TOKEN 51
#define ROPE_ID_Q_SOURCE_HEAD 52
#define ROPE_ID_KV_SOURCE_TOKEN 53
#define ROPE_ID_KV_SOURCE_HEAD 54
#define ROPE_ID_Q_DESTINATION_TOKEN 55
#define ROPE_ID_Q_DESTINATION_HEAD 56
#define ROPE_ID_KV_DESTINATION_TOKEN 57 // of a cache: from slot to slot; strides count blocks in a format that has them
#define ROPE_ID_PAGE_STRIDE 58
#define ROPE_ID_PAGE_SIZE 59     // 0: the cache has no pages
#define ROPE_ID_CACHE 60         // cache kind
#define ROPE_ID_SLOT_MAP_WIDE 61 // 1: slots or table are of int64
#define ROPE_ID_COUNTED 62       // 1: the count of tokens is read
#define ROPE_ID_SHIFT 63         // 1: turn by push.delta
#define ROPE_ID_HEAD_QUADS 64    // four elements each
#define ROPE_ID_NORM 65
#define ROPE_ID_NORM_ALL_HEADS 66 // 1: all heads of a tensor are normed together
#define ROPE_ID_Q_NORM_SHARE 67   // float32 bits: what the sum of squares is multiplied by
#define ROPE_ID_K_NORM_SHARE 68
#define ROPE_ID_Q_EPSILON 69 // float32 bits
#define ROPE_ID_K_EPSILON 70
#define ROPE_ID_Q_WEIGHTS 71 // elements of the parameters before the weights; ROPE_NOWHERE: none
#define ROPE_ID_K_WEIGHTS 72
#define ROPE_ID_Q_WEIGHT_OFFSET 73 // float32 bits
#define ROPE_ID_K_WEIGHT_OFFSET 74
#define ROPE_ID_QUERY_SCALE 75 // positions of one value; 0: none
#define ROPE_ID_QUERY_OFFSET 76
#define ROPE_ID_QUERY_COUNT 77
#define ROPE_ID_QUERY_VALUES 78
#define ROPE_ID_PARAMETERS 79 // vectors of four
#define ROPE_ID_SCALE_PAGE 80 // strides of I8's scales
#define ROPE_ID_SCALE_SLOT 81
#define ROPE_ID_SLOT_MAP_APART 82   // 1: slots or table lie in a buffer of their own
#define ROPE_ID_WEIGHT_BITS 83      // ROPE_WEIGHTS_ facts of weights in buffers of their own
#define ROPE_ID_Q_WEIGHT_ELEMENT 84 // of weights in a buffer of their own: 1 + the element's number; 0: there are none
#define ROPE_ID_K_WEIGHT_ELEMENT 85
#define ROPE_ID_Q_WEIGHT_TOKEN 86 // elements from a token's weights to the next token's; 0: they are the same
#define ROPE_ID_K_WEIGHT_TOKEN 87
#define ROPE_ID_Q_WEIGHT_HEAD 88 // and so from head to head
#define ROPE_ID_K_WEIGHT_HEAD 89
#define ROPE_ID_CACHE_FORMAT 90 // ROPE_FORMAT_ facts of a format that is for caches alone
#define ROPE_ID_K_SCALE 91      // a scale that the parameters hold: ROPE_SCALE_; 0: none
#define ROPE_ID_V_SCALE 92
#define ROPE_ID_RELAYED 94       // elements of the widest head, if pairs go through shared memory; 0: none does
#define ROPE_ID_LONG_RING 110    // 1: sequences may be longer than their ring, which keeps their last tokens
#define ROPE_ID_COUNT_STRIDE 111 // elements from a sequence's count of tokens to the next one's; 0: all have one
// These are for heads that differ in width. The lanes of the widest are ROPE_ID_HEAD_LANES.
#define ROPE_ID_Q_LANES 95 // 0: all heads have the same lanes
#define ROPE_ID_K_LANES 96
#define ROPE_ID_K_ROTARY_BEGIN 97
#define ROPE_ID_K_PASS_ELEMENTS 98
// Bits 0..15 have how many quads of a head its norm takes, and the bits above have the first of them; 0: no norm.
#define ROPE_ID_Q_NORM_QUADS 99
#define ROPE_ID_K_NORM_QUADS 100
#define ROPE_ID_V_NORM_QUADS 101
#define ROPE_ID_NORM_BITS 102 // ROPE_NORM_ bits of Q, from bit 8 on of K, from bit 16 on of V
#define ROPE_ID_V_NORM_SHARE 103
#define ROPE_ID_V_EPSILON 104
#define ROPE_ID_V_WEIGHTS 105
#define ROPE_ID_V_WEIGHT_OFFSET 106
#define ROPE_ID_CLIP 107         // float32 bits: elements are limited to it; 0: none
#define ROPE_ID_BIAS_ELEMENT 108 // of the projection's biases: 1 + the element's number; 0: there are none
#define ROPE_ID_BIAS_VECTORS 109 // 1: they lie at multiples of four elements
#define ROPE_ID_Q_BIASES 115     // elements before the first bias of a tensor
#define ROPE_ID_K_BIASES 116
#define ROPE_ID_V_BIASES 117
#define ROPE_ID_Q_BIAS_HEAD 118 // elements from one head's biases to the next head's
#define ROPE_ID_K_BIAS_HEAD 119
#define ROPE_ID_V_BIAS_HEAD 120

#define ROPE_NORM_CENTERED 1u // elements less their mean
#define ROPE_NORM_BIASED 2u   // biases follow the weights in the parameters
#define ROPE_NORM_PER_HEAD 4u // each head has weights of its own in the parameters
#define ROPE_NORM_BITS_OF_ALL(bit) ((bit)*0x10101u)
#define ROPE_NORM_PART 0x1000000u // of all: a norm takes a part of the widest head only, or not every tensor is so wide

#define ROPE_APART_SOURCE_K 1u
#define ROPE_APART_SOURCE_V 2u
#define ROPE_APART_DESTINATION_K 4u
#define ROPE_APART_DESTINATION_V 8u

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
// These formats are for caches alone. A whole head is looked at before a word of it is stored. Its words have 32 bits,
// or 16.
#define ROPE_IS_FOR_CACHES(element) ((element) >= ROPE_I8)
// Shaders know such a format by one word. It has the bits of an integer, or of a float8 below its leading 1. It says if
// a block's least value is taken off its elements first, and kept behind the scale. Its bits from ROPE_FORMAT_HALVES on
// have how many 16-bit numbers 32 elements take. A block is a float16 scale, and then the integers of 32 elements.
// Without blocks a head has a float32 scale apart, or a given scale.
#define ROPE_FORMAT_BITS 0xFu
#define ROPE_FORMAT_MINIMUM 0x10u
#define ROPE_FORMAT_BLOCKS 0x20u
#define ROPE_FORMAT_FLOAT8 0x40u
#define ROPE_FORMAT_HALVES 8
#define ROPE_BLOCK_ELEMENTS 32
// A given scale is a word: the element of the parameters at which the scale lies, or the first head's scale.
#define ROPE_SCALE_AT 0xFFFFFFFu
#define ROPE_SCALE_OF_HEADS 0x10000000u
#define ROPE_SCALE_MULTIPLIES 0x20000000u
#define ROPE_SCALE_GIVEN 0x40000000u

#ifndef __cplusplus
#define ROPE_SELF_TEST_WORDS 20 // rope.h's own in C++
#endif

// The push constants of fused passes. Places of tensors count units of RopePass.address_unit elements, but those of
// integers count words.
#define ROPE_PUSH_FUSED                                                                                                \
    uint count_at; /* element of the positions' buffer */                                                              \
    uint delta;    /* by which a cache is shifted; normed: ROPE_WEIGHTS_AT */                                          \
    uint slot_map_at;                                                                                                  \
    uint slot_map_batch;                                                                                               \
    uint table_pages; /* of a sequence; long rings: ROPE_RING_TOKENS */                                                \
    uint slots;                                                                                                        \
    uint k_from;                                                                                                       \
    uint v_from;                                                                                                       \
    uint kv_from_batch;                                                                                                \
    uint k_to;                                                                                                         \
    uint v_to;                                                                                                         \
    uint kv_to_batch;                                                                                                  \
    uint kv_to_head;

// These are the elements of the bindings before weights in buffers of their own: Q's in the low half, K's in the high
// half.
#define ROPE_WEIGHTS_AT delta
#define ROPE_WEIGHTS_BY_FOUR 1u // they lie at multiples of four elements
#define ROPE_MOST_WEIGHTS_AT 0xFFFFu
#define ROPE_RING_TOKENS table_pages // planned tokens of a sequence

struct RopeFusedPush {
    ROPE_PUSH_TOKENS
    ROPE_PUSH_FUSED
    uint q_from;
    uint q_from_batch;
    uint q_to;
    uint q_to_batch;
};

// A cache that stores scales apart from its elements needs four words more: how many words K's and V's first scales lie
// behind k_to and v_to, modulo 2^32, and two strides. A dispatch without Q has them where Q has its places. A dispatch
// with Q has them where rows have theirs, and then makes its angles itself, or turns nothing.
#define ROPE_K_SCALES q_from
#define ROPE_V_SCALES q_from_batch
#define ROPE_SCALE_BATCH q_to
#define ROPE_SCALE_HEAD q_to_batch
#define ROPE_K_SCALES_BESIDE_Q rows.offset
#define ROPE_V_SCALES_BESIDE_Q sin_offset
#define ROPE_SCALE_BATCH_BESIDE_Q rows.token
#define ROPE_SCALE_HEAD_BESIDE_Q rows.head

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

// The push constants of biases. Places of scores count units of RopePass.address_unit elements.
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

// The push constants of divisions of frequencies. A token is a pair, and a sequence is a set. The rows are the
// frequencies, and the source is the factors.
struct RopeFactorsPush {
    ROPE_PUSH_TOKENS
    ROPE_PUSH_TENSOR
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
#endif

#ifdef __cplusplus
} // namespace rope
#endif
#endif
