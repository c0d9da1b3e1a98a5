// The host and the shaders share this: how a fused pass knows its tensors. GLSL and C++ (in namespace rope) include
// this file. A pass takes up to three tensors, Q, K and V, and a record describes each of them by the same fields.
#ifndef ROPE_RECORD_H
#define ROPE_RECORD_H

#include "../interface.h"

#ifdef __cplusplus
namespace rope {
#endif

// These constants are the pass's. It has the rotation's constants of lanes and heads beside them.
#define ROPE_ID_POSITION_TOKEN 44 // from a token's position to the next token's
#define ROPE_ID_ROW_TOKEN 45      // from a row of cosines and sines to the next row
#define ROPE_ID_ROW_PAIR 46       // from a pair's cosine to the next pair's
#define ROPE_ID_PASS 47           // ROPE_PASS_ bits
#define ROPE_ID_APART 48          // ROPE_APART_ bits: K or V does not share the buffer of the tensor before it
#define ROPE_ID_CACHE 49          // cache kind
#define ROPE_ID_PAGE_SIZE 50      // 0: the cache has no pages
#define ROPE_ID_COUNT_STRIDE 51   // elements from a sequence's count of tokens to the next one's; 0: all have one
#define ROPE_ID_CLIP 52           // float32 bits: elements are limited to it; 0: none
#define ROPE_ID_BIAS_ELEMENT 53   // of the projection's biases: 1 + the element's number; 0: there are none
#define ROPE_ID_QUERY_SCALE 54    // positions of one value; 0: queries have no scale
#define ROPE_ID_QUERY_OFFSET 55
#define ROPE_ID_QUERY_COUNT 56
#define ROPE_ID_RELAYED 57 // elements of the widest head, if pairs go through shared memory; 0: none does

#define ROPE_PASS_MAP_WIDE 1u      // slots or page table are of int64
#define ROPE_PASS_MAP_APART 2u     // they lie in another buffer than the positions
#define ROPE_PASS_COUNTED 4u       // the count of tokens is read
#define ROPE_PASS_BY_DELTA 8u      // a shift rotates by push.delta
#define ROPE_PASS_LONG_RING 16u    // sequences may be longer than their ring, which keeps their last tokens
#define ROPE_PASS_NORM_PART 32u    // a norm takes a part of the widest head only, or not every tensor is so wide
#define ROPE_PASS_SIDE_BY_SIDE 64u // a lane of Hadamard blocks holds eight elements side by side, in two vectors

#define ROPE_APART_SOURCE_K 1u
#define ROPE_APART_SOURCE_V 2u
#define ROPE_APART_DESTINATION_K 4u
#define ROPE_APART_DESTINATION_V 8u

// A record of a tensor has these fields. Strides count what the tensor's lanes load or store at a time: runs of
// elements, or elements where runs lie anywhere; in a cache of blocks they count blocks. A length is how many tokens,
// slots or pages lie from one sequence or head to the next. It is a push word, so no constant depends on a count of
// tokens or slots. A stride of heads is `fixed + grown * length` modulo 2^32. Sequence s begins s * rows * length
// tokens, and s times `batch`, behind the first sequence. A tensor that the dispatch does not take has no heads, and
// another tensor's fields.
#define ROPE_RECORD(FIELD)                                                                                             \
    FIELD(heads, 0)                                                                                                    \
    FIELD(lanes, 1)         /* of a head */                                                                            \
    FIELD(rotary_begin, 2)  /* element of a head */                                                                    \
    FIELD(pass_elements, 3) /* of a head, beside its pairs */                                                          \
    FIELD(from_token, 4)                                                                                               \
    FIELD(from_head, 5)                                                                                                \
    FIELD(from_head_grown, 6)                                                                                          \
    FIELD(from_batch, 7)                                                                                               \
    FIELD(from_rows, 8)                                                                                                \
    FIELD(to_token, 9) /* in a cache from slot to slot */                                                              \
    FIELD(to_head, 10)                                                                                                 \
    FIELD(to_head_grown, 11)                                                                                           \
    FIELD(to_batch, 12)                                                                                                \
    FIELD(to_rows, 13)                                                                                                 \
    FIELD(kind, 14)         /* ROPE_TENSOR_ bits */                                                                    \
    FIELD(norm_range, 15)   /* the quads that its norm takes, and from bit 16 on the first of them; 0: no norm */      \
    FIELD(norm_bits, 16)    /* ROPE_NORM_ bits */                                                                      \
    FIELD(norm_share, 17)   /* float32 bits: what the sum of squares is multiplied by */                               \
    FIELD(epsilon, 18)      /* float32 bits */                                                                         \
    FIELD(weight_plus, 19)  /* float32 bits: added to each weight */                                                   \
    FIELD(uniform_at, 20)   /* vector of the parameters at which its weights begin */                                  \
    FIELD(weight_token, 21) /* in a buffer: elements from a token's weights to the next token's */                     \
    FIELD(weight_head, 22)                                                                                             \
    FIELD(bias_at, 23) /* elements before its first bias */
// K and V have these too.
#define ROPE_CACHE_RECORD(FIELD)                                                                                       \
    FIELD(to_page, 24)                                                                                                 \
    FIELD(scale_slot, 25) /* strides of stored scales, in words */                                                     \
    FIELD(scale_page, 26)                                                                                              \
    FIELD(scale_head, 27)                                                                                              \
    FIELD(scale_head_grown, 28)                                                                                        \
    FIELD(scale_batch, 29)                                                                                             \
    FIELD(given_scale, 30) /* ROPE_SCALE_: a scale that the parameters hold; 0: none */
#define ROPE_ID_RECORD_K 59
#define ROPE_ID_RECORD_V 90
#define ROPE_ID_RECORD_Q 121

// Bits of a kind: what the tensor becomes, and what its lanes are.
#define ROPE_TENSOR_ELEMENT 0xFu     // the number of its element
#define ROPE_TENSOR_FORMAT 4         // from this bit on: ROPE_FORMAT_ facts of an element that is for caches alone
#define ROPE_TENSOR_PAIRED 0x100000u // lanes of pairs come first, and take two elements for each pair
// Its other bits are the stages that the tensor takes. A bit more is a stage more.
#define ROPE_STAGE_BIASES 0x200000u
#define ROPE_STAGE_CLIP 0x400000u
#define ROPE_STAGE_NORM 0x800000u
#define ROPE_STAGE_TURN 0x1000000u
#define ROPE_STAGE_SCALE 0x2000000u
#define ROPE_STAGE_QUANTIZE 0x4000000u
#define ROPE_STAGE_HADAMARD 0x78000000u // log2 of its blocks' elements, from this bit on:
#define ROPE_TENSOR_HADAMARD 27
#define ROPE_TENSOR_LAST_IN_LANE 31 // this bit: a lane's two runs are the halves of a block
#define ROPE_STAGES_AT_LOAD (ROPE_STAGE_BIASES | ROPE_STAGE_CLIP) // they change an element as it is loaded
#define ROPE_STAGES_BESIDE_TURN                                                                                        \
    (ROPE_STAGES_AT_LOAD | ROPE_STAGE_NORM | ROPE_STAGE_SCALE | ROPE_STAGE_QUANTIZE | ROPE_STAGE_HADAMARD)

#define ROPE_I8 3
// These formats are for caches alone. A whole head is looked at before a word of it is stored. Its words have 32 bits,
// or 16.
#define ROPE_IS_FOR_CACHES(element) ((element) >= ROPE_I8)
// Shaders know a quantized format by some facts. They are the bits of an integer, or of a float8 below its leading 1;
// if a block's least value is taken off its elements first, and kept behind the scale; and, from ROPE_FORMAT_HALVES on,
// how many 16-bit numbers 32 elements take. A block is a float16 scale, and then the integers of 32 elements. Without
// blocks a head has a float32 scale apart, or a given scale.
#define ROPE_FORMAT_BITS 0xFu
#define ROPE_FORMAT_MINIMUM 0x10u
#define ROPE_FORMAT_BLOCKS 0x20u
#define ROPE_FORMAT_FLOAT8 0x40u
#define ROPE_FORMAT_CODES 0x80u // integers are codes of sixteen values
#define ROPE_FORMAT_HALVES 8
#define ROPE_BLOCK_ELEMENTS 32

#define ROPE_NORM_BEFORE 1u    // before the rotation
#define ROPE_NORM_AFTER 2u     // behind the rotation
#define ROPE_NORM_CENTERED 4u  // elements less their mean
#define ROPE_NORM_ALL_HEADS 8u // one norm takes all heads of a token
#define ROPE_NORM_GIVEN 16u    // weights lie in the parameters
#define ROPE_NORM_PER_HEAD 32u // each head has other weights there
#define ROPE_NORM_BIASED 64u   // biases follow them
#define ROPE_NORM_BY_FOUR 128u // weights in a buffer lie at multiples of four elements
#define ROPE_NORM_WEIGHTS 8    // from this bit on: 1 + the number of their element; 0: no buffer has them

// A given scale is a word: the element of the parameters at which the scale lies, or the first head's scale.
#define ROPE_SCALE_AT 0xFFFFFFFu
#define ROPE_SCALE_OF_HEADS 0x10000000u
#define ROPE_SCALE_MULTIPLIES 0x20000000u
#define ROPE_SCALE_GIVEN 0x40000000u

#define ROPE_CACHE_OFF 0
#define ROPE_CACHE_BY_SLOTS 1
#define ROPE_CACHE_BY_POSITION 2
#define ROPE_CACHE_BY_RING 3
#define ROPE_CACHE_BY_TABLE 4

#define ROPE_NOWHERE 0xFFFFFFFFu

// Arrays of words in C++. Shaders name each word, because HLSL has no array of words that lie side by side.
#ifdef __cplusplus
#define ROPE_WORDS(name) uint name[2];
#define ROPE_WORDS_OF_THREE(name) uint name[3];
#else
#define ROPE_WORDS(name) uint name##_0, name##_1;
#define ROPE_WORDS_OF_THREE(name) uint name##_0, name##_1, name##_2;
#endif

// The push constants of a fused pass, and of a count of tokens. Places of tensors count as their strides do, but those
// of a quantized cache count words, or halves of words. Two lengths and two places of weights are Q's, then K's and
// V's; two places of scales are K's and V's.
struct RopeFusedPush {
    ROPE_PUSH_WHERE
    ROPE_PUSH_ANGLE
    uint rows_offset;
    uint plan_tokens; // of a sequence
    uint count_at;    // element of the positions' buffer
    uint slot_map_at;
    uint slot_map_batch;
    uint table_pages; // of a sequence
    uint slots;
    ROPE_WORDS(length_from)
    ROPE_WORDS(length_to)
    ROPE_WORDS_OF_THREE(from)
    ROPE_WORDS_OF_THREE(to)
    ROPE_WORDS(scale_at)
    ROPE_WORDS(weights_at) // elements of the binding before the first weight
    uint delta;            // by which a cache is shifted
};

#ifdef __cplusplus
} // namespace rope
#endif
#endif
