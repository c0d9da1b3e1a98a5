// What the host and the shaders must agree on: bindings, specialization constants, push constants, enumerators.
// Read by GLSL and by C++ (in namespace rope). A test compares it with the compiled SPIR-V.
#ifndef ROPE_INTERFACE_H
#define ROPE_INTERFACE_H

#ifdef __cplusplus
#include <cstdint>
namespace rope {
using uint = uint32_t;
#endif

// Storage buffers of set 0. Frequencies and rows never meet in one dispatch but in the table shader, which writes its
// rows as the destination.
#define ROPE_BINDING_POSITIONS 0
#define ROPE_BINDING_COS_SIN 1 // frequencies, or rows
#define ROPE_BINDING_SOURCE 2
#define ROPE_BINDING_DESTINATION 3

// Specialization constants: choices.
#define ROPE_ID_GROUP_SIZE 0
#define ROPE_ID_HEADS 1      // heads per thread
#define ROPE_ID_POSITIONS 2  // position kind
#define ROPE_ID_COS_SIN 3    // inline, table or rows
#define ROPE_ID_PAIRING_IN 4 // pairs in a chunk: 0: all, the halves; 1: interleaved
#define ROPE_ID_PAIRING_OUT 5
#define ROPE_ID_IN_PLACE 6 // the source is not bound apart: read the destination
#define ROPE_ID_BACKWARD 7 // negate the sine
#define ROPE_ID_ANGLE 8    // 1: compatible
#define ROPE_ID_ELEMENT_IN 9
#define ROPE_ID_ELEMENT_OUT 10
#define ROPE_ID_ROWS 11             // how rows are read
#define ROPE_ID_POSITION_ELEMENT 12 // what positions are held in
#define ROPE_ID_AXES 13             // positions of one token
#define ROPE_ID_SETS 14             // 1: each token names its set of frequencies, or of table rows
#define ROPE_ID_AXIS_MAP 15         // first of ROPE_AXIS_WORDS: the axis of 16 pairs, two bits each

#define ROPE_AXIS_WORDS 16
#define ROPE_AXIS_PAIRS 16 // in a word

#define ROPE_F32 0
#define ROPE_F16 1
#define ROPE_BF16 2

#define ROPE_ROWS_BY_FOUR 0 // float32, four cosines or sines at a time
#define ROPE_ROWS_WOVEN 1   // float32, cosine and sine in turns, two of each at a time
#define ROPE_ROWS_SINGLE 2  // ROPE_ROWS_SINGLE + element: one at a time

#define ROPE_KIND_PER_TOKEN 0
#define ROPE_KIND_PER_SEQUENCE 1
#define ROPE_KIND_COUNTED 2
#define ROPE_KIND_PACKED 3
#define ROPE_KIND_PACKED_STARTS 4

#define ROPE_WHOLE_32 0
#define ROPE_WHOLE_64 1
#define ROPE_FLOAT_32 2
#define ROPE_FIXED_64 3

#ifndef __cplusplus
#define ROPE_SELF_TEST_WORDS 8 // rope.h's own in C++
#endif

#define ROPE_FROM_INLINE 0
#define ROPE_FROM_TABLE 1
#define ROPE_FROM_ROWS 2

// Where one tensor, row or list of positions lies, in elements.
struct RopePlace {
    uint offset;
    uint batch;
    uint token;
    uint head;
};

// Push constants: sizes. A thread's index is divided into token, group of heads and lane; see divide in index.h. Words
// that no dispatch needs both of share a place under a second name.
struct RopePush {
    uint tokens;
    uint heads;
    uint lanes_magic; // lanes per token: head_lanes for each group of heads
    uint head_lanes;  // per group of heads: lanes of pairs, then lanes that copy what does not rotate
    uint head_lanes_magic;
    uint shifts;      // lanes_magic's in bits 0..15, head_lanes_magic's above
    uint pair_counts; // pairs in bits 0..15, lanes of pairs above
    uint rotary_begin;
    uint pass_elements; // elements of a head that a copying lane must bring over; 0 in place
    uint first_token;   // index of token 0 in its sequence, or among the packed ones
    uint position_offset;
    uint position_batch;
    uint position_token;
    uint position_axis;
    uint window_begin; // tokens of a sequence before it do not turn, nor from window_end on
    uint window_end;   // packed: how many at each sequence's end do not
    uint sets;
    uint scale_mantissa; // scale = scale_mantissa * 2^(scale_exponent - 31)
    int scale_exponent;
    uint sin_offset; // from a cosine to its sine, modulo 2^32
    RopePlace rows;  // head: from a pair to the next
    RopePlace source;
    RopePlace destination;
};
#define ROPE_ROW_COPY pass_elements         // the table writes each value once more so much further; 0: once
#define ROPE_FIRST_POSITION position_offset // counted positions: token 0's, where first_token is 0
#define ROPE_SEQUENCES position_batch       // packed positions
#define ROPE_TABLE_FIRST scale_mantissa     // a table's first position
#define ROPE_TABLE_ROWS scale_exponent      // of one set

#ifdef __cplusplus
} // namespace rope
#endif
#endif
