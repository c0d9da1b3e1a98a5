// What the host and the shaders must agree on: bindings, specialization constants, push constants, enumerators.
// Read by GLSL and by C++ (in namespace rope). A test compares it with the compiled SPIR-V.
#ifndef ROPE_INTERFACE_H
#define ROPE_INTERFACE_H

#ifdef __cplusplus
#include <cstdint>
namespace rope {
using uint = uint32_t;
#endif

// The bindings of set 0. Each number has one meaning. All are storage buffers but the parameters. A dispatch binds
// those that its pass reads or writes. Frequencies and rows never meet in one dispatch but in the table shader, which
// writes its rows as the destination.
#define ROPE_BINDING_POSITIONS 0
#define ROPE_BINDING_COS_SIN 1       // frequencies, or rows
#define ROPE_BINDING_SOURCE 2        // Q's, or the one tensor's; in place nothing: the destination is read
#define ROPE_BINDING_SOURCE_K 3      // reserved
#define ROPE_BINDING_SOURCE_V 4      // where K and V do not share a buffer
#define ROPE_BINDING_DESTINATION 5   // Q's, or the one tensor's; a table's rows, or the counter. Every pass has it
#define ROPE_BINDING_DESTINATION_K 6 // reserved
#define ROPE_BINDING_DESTINATION_V 7
#define ROPE_BINDING_SLOT_MAP 8    // reserved: slots or block table, apart from the positions
#define ROPE_BINDING_WEIGHTS 9     // reserved
#define ROPE_BINDING_SCALES 10     // reserved
#define ROPE_BINDING_PARAMETERS 11 // a uniform buffer

// Specialization constants: choices.
#define ROPE_ID_GROUP_SIZE 0
#define ROPE_ID_HEADS 1      // heads per thread, or ROPE_EVERY_HEAD
#define ROPE_ID_POSITIONS 2  // position kind
#define ROPE_ID_COS_SIN 3    // inline, table or rows
#define ROPE_ID_PAIRING_IN 4 // pairs in a chunk: 0: all, the halves; 1: interleaved
#define ROPE_ID_PAIRING_OUT 5
#define ROPE_ID_IN_PLACE 6 // no source is bound: read the destination
#define ROPE_ID_BACKWARD 7 // negate the sine
#define ROPE_ID_ANGLE 8    // exact or compatible phases
#define ROPE_ID_ELEMENT_IN 9
#define ROPE_ID_ELEMENT_OUT 10
#define ROPE_ID_ROWS 11             // how rows are read
#define ROPE_ID_POSITION_ELEMENT 12 // what positions are held in
#define ROPE_ID_AXES 13             // positions of one token
#define ROPE_ID_SETS 14             // 1: each token names its set of frequencies, or of table rows
#define ROPE_ID_AXIS_MAP 15         // first of ROPE_AXIS_WORDS: the axis of 16 pairs, two bits each
#define ROPE_ID_ROW_ELEMENT 78      // what rows are held in
#define ROPE_ID_IN_FLIGHT 68        // heads whose elements are loaded before the first's are stored: 1 or 2

// Of the fused passes alone. What a model and its cache leave as it is are constants there.
#define ROPE_ID_PAIR_COUNTS 31 // pairs in bits 0..15, lanes of pairs above
#define ROPE_ID_ROTARY_BEGIN 32
#define ROPE_ID_PASS_ELEMENTS 33
#define ROPE_ID_HEAD_LANES 34   // per group of heads
#define ROPE_ID_ALL_HEADS 35    // K's and V's
#define ROPE_ID_TURNED_HEADS 36 // those before V's
#define ROPE_ID_SOURCE_HEAD 37  // strides
#define ROPE_ID_DESTINATION_HEAD 38
#define ROPE_ID_SOURCE_V 39      // from K's first element to V's, in one buffer
#define ROPE_ID_DESTINATION_V 40 // of integers: from K's first word to V's
#define ROPE_ID_COUNTED 41       // 1: the count of tokens is read
#define ROPE_ID_CACHE 42         // cache kind
#define ROPE_ID_SLOT_MAP_WIDE 43 // 1: slots or table are of int64
#define ROPE_ID_SLOT_MAP_BATCH 44
#define ROPE_ID_SLOT_MAP_TOKEN 45 // slots: from a token's to the next; table: pages of a sequence
#define ROPE_ID_SLOTS 46
#define ROPE_ID_PAGE_SIZE 47
#define ROPE_ID_PAGE_STRIDE 48
#define ROPE_ID_NORM 49
#define ROPE_ID_NORM_HEADS 50 // heads normed together: 1 or all
#define ROPE_ID_NORM_SHARE 51 // float32 bits: what the sum of squares is multiplied by
#define ROPE_ID_EPSILON 52    // float32 bits
#define ROPE_ID_WEIGHTS 53    // elements of the parameters before the weights; ROPE_NOWHERE: none
#define ROPE_ID_WEIGHT_OFFSET 54
#define ROPE_ID_QUERY_SCALE 55 // positions of one value; 0: none
#define ROPE_ID_QUERY_OFFSET 56
#define ROPE_ID_QUERY_COUNT 57
#define ROPE_ID_QUERY_VALUES 58
#define ROPE_ID_SCALE_PAGE 59 // strides of I8's scales
#define ROPE_ID_SCALE_SLOT 60
#define ROPE_ID_SCALE_HEAD 61
#define ROPE_ID_SCALE_BATCH 62
#define ROPE_ID_SCALE_AT 63   // from K's first word to its first scale, modulo 2^32
#define ROPE_ID_SCALE_V 64    // to V's
#define ROPE_ID_SHIFT 65      // 1: turn by push.ROPE_DELTA
#define ROPE_ID_PARAMETERS 66 // vectors of four
#define ROPE_ID_RUNS 67       // of four elements in a head

#define ROPE_ID_LANES 77      // of one thread: of the wide rotation 1 or 2, of additions a divisor of a row's
#define ROPE_ID_TOKENS 73     // of one thread: of additions and biases, whose tokens are queries
#define ROPE_ID_SCALE_GRID 69 // scale_grid in angle.h
#define ROPE_ID_ALL 79        // of a rotation what turns without exception

// Of additions to embeddings alone.
// What a pair's first element is given: the sine; or 1: the cosine, or a row's first half.
#define ROPE_ID_COSINE_FIRST 70
#define ROPE_ID_SCALED 71 // 1: elements times push.ROPE_FACTOR first

// Of biases on scores alone.
#define ROPE_ID_BIAS 72       // which
#define ROPE_ID_WRITES 74     // 1: nothing is read, the bias alone is written
#define ROPE_ID_CAUSAL 75     // 1: keys behind their query are masked
#define ROPE_ID_BOTH_SIDES 76 // 1: T5's bidirectional buckets, ALiBi by the magnitude

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

#define ROPE_AXIS_WORDS 16
#define ROPE_AXIS_PAIRS 16 // in a word

#define ROPE_F32 0
#define ROPE_F16 1
#define ROPE_BF16 2
#define ROPE_I8 3
#define ROPE_Q8_0 4
// Formats of caches alone. Their heads are looked at whole before a word of them is stored, and stored as 32-bit words.
#define ROPE_IS_FOR_CACHES(element) ((element) >= ROPE_I8)
// A block of Q8_0: a float16 scale, then its integers. Two blocks fill whole words.
#define ROPE_Q8_0_ELEMENTS 32
#define ROPE_Q8_0_BYTES 34
#define ROPE_Q8_0_PAIR_WORDS (2 * ROPE_Q8_0_BYTES / 4)

#define ROPE_EVERY_HEAD 0 // of a token, however many there are

#define ROPE_ALL_LANES 1  // each has pairs
#define ROPE_ALL_TOKENS 2 // and each token turns

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

#ifndef __cplusplus
#define ROPE_SELF_TEST_WORDS 20 // rope.h's own in C++
#endif

#define ROPE_PHASE_EXACT 0
#define ROPE_PHASE_COMPATIBLE 1

#define ROPE_FROM_INLINE 0
#define ROPE_FROM_TABLE 1
#define ROPE_FROM_ROWS 2

// Where one tensor, row or list of positions lies, in elements; the tensors of wide rotations and additions in runs of
// four.
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
#define ROPE_FACTOR pass_elements           // float32 bits: of an embedding
#define ROPE_KEYS pair_counts               // of a row of scores
#define ROPE_FIRST_KEY pass_elements        // position of key 0
#define ROPE_ROW_STRIDE sin_offset // from one of a bias' rows to the next; rows.head: from a head's to the next's
#define ROPE_BUCKETS_IN_ALL rotary_begin
#define ROPE_DIM rotary_begin // of relative vectors
#define ROPE_TERM_SCALE sets  // float32 bits: of what is added to a score
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
