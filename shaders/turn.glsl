// What one lane turns or brings over, and by which cos and sin.
layout(constant_id = ROPE_ID_HEADS) const uint kHeads = 1;
layout(constant_id = ROPE_ID_PAIRING_IN) const uint kChunkIn = 0;
layout(constant_id = ROPE_ID_PAIRING_OUT) const uint kChunkOut = 0;
layout(constant_id = ROPE_ID_BACKWARD) const uint kBackward = 0;

#define ROPE_VALUES VALUES
#if ROPE_LANE > 1 // of single ones there is one already
#include "pair.h"
#endif

// What one thread turns: pairs j to j + count of `heads` heads.
struct Work {
    uint heads;
    uint j;
    uint count;
};

struct Turn {
    VALUES cosine;
    VALUES sine;
};

const uint kPlaces = kCosSin != ROPE_FROM_INLINE && kRows <= ROPE_ROWS_WOVEN ? 1u : kLane; // entries follow the first

// Cos and sin of the pairs: computed, or where they lie and then loaded. In a table each pair has the row of its axis'
// position, otherwise all have the token's own. Frequencies are asked for kLane times, in order (held.glsl).
Turn turn_of(Token token, uint row, Work work) {
    WORDS cosine;
    WORDS sine;
    WORDS at = WORDS(0u);
    for (uint i = 0u; i < kPlaces; ++i) {
        uint pair = work.j + min(i, work.count - 1u);
        uint axis = axis_of(pair);
        if (kCosSin == ROPE_FROM_INLINE) {
            uvec2 bits = cos_sin_of(token, axis, pair);
            NTH(cosine, i) = bits.x;
            NTH(sine, i) = bits.y;
        } else {
            if (kCosSin == ROPE_FROM_TABLE) row = row_of(token, axis) * push.rows.token;
            NTH(at, i) = push.rows.offset + row + pair * push.rows.head;
        }
    }
    if (kCosSin != ROPE_FROM_INLINE) load_row(at, cosine, sine);
    if (kBackward != 0u) sine ^= 0x80000000u;
    return Turn(uintBitsToFloat(cosine), uintBitsToFloat(sine));
}

// What of all that does not rotate a copying lane brings over, two runs; where only one is left, that one twice.
Runs pass_runs(uint lane) {
    uint low = 2u * copy_step() * lane;
    uint high = low + copy_step() < pass_elements() ? low + copy_step() : low;
    return Runs(pass_element(low, rotary_begin(), pair_count()), pass_element(high, rotary_begin(), pair_count()),
                copy_step(), copy_step());
}

// A lane's pairs are of one chunk.
Work work_of(uint lane, uint heads) {
    const uint chunk = max(kChunkIn, kChunkOut);
    const uint lanes = (chunk + kLane - 1u) / kLane;
    uint first = lane * kLane;
    uint end = pair_count();
    uint begin = 0u;
    if (chunk > 1u) {
        begin = lane / lanes * chunk;
        first = lane % lanes * kLane;
        end = chunk;
    }
    return Work(heads, begin + first, min(kLane, end - first));
}
