// The host and the shaders share these bindings, specialization constants, push constants and enumerators.
// GLSL and C++ (in namespace rope) include this file. A test compares it with the compiled SPIR-V.
#ifndef ROPE_INTERFACE_H
#define ROPE_INTERFACE_H

#ifdef __cplusplus
#include <cstdint>
namespace rope {
using uint = uint32_t;
#endif

// These are the bindings of set 0. Each number has one meaning. All are storage buffers but the parameters. A dispatch
// binds those that its pass reads or writes. No dispatch reads both frequencies and rows.
#define ROPE_BINDING_POSITIONS 0
#define ROPE_BINDING_COS_SIN 1     // frequencies, or rows
#define ROPE_BINDING_SOURCE 2      // Q's, the one tensor's, or factors; in place nothing: the destination is read
#define ROPE_BINDING_SOURCE_K 3    // where Q and K rotate in one dispatch
#define ROPE_BINDING_SOURCE_V 4    // where K and V do not share a buffer
#define ROPE_BINDING_DESTINATION 5 // Q's, the one tensor's, a table's rows, quotients or the counter. Every pass has it
#define ROPE_BINDING_DESTINATION_K 6
#define ROPE_BINDING_DESTINATION_V 7
#define ROPE_BINDING_SLOT_MAP 8    // slots or page table, apart from the positions
#define ROPE_BINDING_Q_WEIGHTS 9   // of Q's norm
#define ROPE_BINDING_K_WEIGHTS 10  // of K's norm
#define ROPE_BINDING_BIASES 11     // of the projection
#define ROPE_BINDING_PARAMETERS 12 // a uniform buffer

// Specialization constants hold what a description fixes for all its dispatches. Every family has these.
#define ROPE_ID_GROUP_SIZE 0
#define ROPE_ID_HEADS 1      // heads of one thread
#define ROPE_ID_POSITIONS 2  // position kind
#define ROPE_ID_COS_SIN 3    // inline, table or rows
#define ROPE_ID_PAIRING_IN 4 // pairs in a chunk: 0: all, the halves; 1: interleaved
#define ROPE_ID_PAIRING_OUT 5
#define ROPE_ID_IN_PLACE 6 // bit 0: the first tensor has no source and is read where it is written; bit 1: K and V
#define ROPE_ID_BACKWARD 7 // negate the sine
#define ROPE_ID_ANGLE 8    // exact or compatible phases
#define ROPE_ID_ELEMENT_IN 9
#define ROPE_ID_ELEMENT_OUT 10
#define ROPE_ID_ROWS 11             // how rows are read
#define ROPE_ID_POSITION_ELEMENT 12 // the element of positions
#define ROPE_ID_AXES 13             // positions of one token
#define ROPE_ID_SETS 14             // sets of frequencies or of table rows, one of which each token names; 0: one set
#define ROPE_ID_AXIS_MAP 15         // first of ROPE_AXIS_WORDS: the axis of 16 pairs, two bits each
#define ROPE_ID_ROW_ELEMENT 31      // the element of rows
#define ROPE_ID_SCALE_GRID 32       // scale_grid in angle.h
#define ROPE_ID_PAIR_COUNTS 33      // pairs in bits 0..15, lanes of pairs above
#define ROPE_ID_ROTARY_BEGIN 34
#define ROPE_ID_PASS_ELEMENTS 35 // elements of a head that copying lanes bring over; 0 in place
#define ROPE_ID_HEAD_LANES 36    // lanes of a head: of pairs, then those that copy
#define ROPE_ID_NATIVE_HALVES 37 // 1: the device's own conversions of float16 are proven
#define ROPE_ID_GROUP_BLOCKS 38  // a group has ROPE_ID_GROUP_SIZE lanes in x, blocks of heads in y, tokens in z
#define ROPE_ID_GROUP_TOKENS 39
// Ids from 40 on belong to a family each. These are the rotation's.
#define ROPE_ID_LANE_PARTS 40  // groups that one head's lanes take
#define ROPE_ID_QUADS 41       // four pairs each, in one lane: 1 or 2
#define ROPE_ID_BY_WORDS 42    // 1: runs lie anywhere
#define ROPE_ID_SHARES 43      // 1: a group makes each of its angles once
#define ROPE_ID_EVERY_TOKEN 44 // 1: every token rotates
#define ROPE_ID_Q_BLOCKS 45    // blocks of Q; K's follow. 0: one tensor, of push.heads heads
#define ROPE_ID_Q_HEADS 46
#define ROPE_ID_K_HEADS 47
#define ROPE_ID_PARAMETERS 58 // vectors of four in the uniform buffer; fused passes and biases of T5 have them

#define ROPE_AXIS_WORDS 16
#define ROPE_AXIS_PAIRS 16 // in a word

#define ROPE_F32 0
#define ROPE_F16 1
#define ROPE_BF16 2

#define ROPE_ROWS_BY_FOUR 0 // four cosines or sines at a time
#define ROPE_ROWS_WOVEN 1   // cosine and sine in turns, two of each at a time
#define ROPE_ROWS_SINGLE 2  // one at a time

#define ROPE_KIND_PER_TOKEN 0
#define ROPE_KIND_PER_SEQUENCE 1
#define ROPE_KIND_COUNTED 2
#define ROPE_KIND_PACKED 3
#define ROPE_KIND_PACKED_STARTS 4

#define ROPE_WHOLE_32 0
#define ROPE_WHOLE_64 1
#define ROPE_FLOAT_32 2
#define ROPE_FIXED_64 3

#define ROPE_PHASE_EXACT 0
#define ROPE_PHASE_COMPATIBLE 1

#define ROPE_FROM_INLINE 0
#define ROPE_FROM_TABLE 1
#define ROPE_FROM_ROWS 2

// Locates a tensor, row or list of positions, in elements. Tensors of rotations and additions, and scores, are counted
// in units of address_unit elements.
struct RopePlace {
    uint offset;
    uint batch;
    uint token;
    uint head;
};

// Every family's push constants have these: where tokens stand, and what rotates them. A word has two names where no
// dispatch needs both.
#define ROPE_PUSH_WHERE                                                                                                \
    uint tokens;                                                                                                       \
    uint first_token;  /* index of token 0 in its sequence, or among the packed ones */                                \
    uint window_begin; /* tokens of a sequence before it do not turn, nor from window_end on */                        \
    uint window_end;   /* packed: how many at each sequence's end do not */                                            \
    uint position_offset;                                                                                              \
    uint position_batch;
#define ROPE_PUSH_ANGLE                                                                                                \
    uint position_axis;                                                                                                \
    uint scale_mantissa; /* rope_cos_sin_bits in angle.h takes both */                                                 \
    int scale_exponent;                                                                                                \
    uint sin_offset; /* from a cosine to its sine, modulo 2^32 */
// Every family but the fused passes begins with these. Each RopePlace begins at a multiple of 16 bytes, which HLSL asks
// for.
#define ROPE_PUSH_TOKENS                                                                                               \
    RopePlace rows; /* head: from a pair to the next */                                                                \
    ROPE_PUSH_WHERE                                                                                                    \
    uint position_token;                                                                                               \
    ROPE_PUSH_ANGLE
#define ROPE_PUSH_TENSOR                                                                                               \
    uint heads;                                                                                                        \
    RopePlace source;                                                                                                  \
    RopePlace destination;

// The push constants of rotations. Places of tensors count units of PlanPass.address_unit elements.
struct RopeRotatePush {
    ROPE_PUSH_TOKENS
    ROPE_PUSH_TENSOR
    RopePlace source_k;
    RopePlace destination_k;
};

#define ROPE_FIRST_POSITION position_offset // counted positions: token 0's, where first_token is 0
#define ROPE_SEQUENCES position_batch       // packed positions
#define ROPE_TABLE_FIRST scale_mantissa     // a table's first position
#define ROPE_TABLE_ROWS scale_exponent      // of one set

#ifdef __cplusplus
} // namespace rope
#include "encodings/words.h"
#include "fused/record.h"
#endif
#endif
