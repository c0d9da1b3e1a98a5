// What one lane turns or brings over, and by which cos and sin.
layout(constant_id = ROPE_ID_HEADS) const uint kHeads = 1;
layout(constant_id = ROPE_ID_PAIRING_IN) const uint kChunkIn = 0;
layout(constant_id = ROPE_ID_PAIRING_OUT) const uint kChunkOut = 0;
layout(constant_id = ROPE_ID_BACKWARD) const uint kBackward = 0;

#include "pair.h"

// What one thread turns: pairs j to j + count of `heads` heads.
struct Work {
    uint heads;
    uint j;
    uint count;
};

#ifdef ROPE_HOLDS_FREQUENCIES
#include "held.glsl"
#define FREQUENCY_OF held_frequency_of
#else
#define FREQUENCY_OF frequency_of
#endif

struct Turn {
    VALUES cosine;
    VALUES sine;
};

const uint kPlaces = !kInline && kRows <= ROPE_ROWS_WOVEN ? 1u : kLane; // entries follow the first

// Cos and sin of the pairs: computed, or where they lie and then loaded. In a table each pair has the row of its axis'
// position, otherwise all have the token's own. Frequencies are asked for kLane times, in order (held.glsl).
Turn turn_of(Token token, uint row, Work work) {
    WORDS cosine;
    WORDS sine;
    WORDS at;
    uint i = 0u;
    do {
        uint pair = work.j + min(i, work.count - 1u);
        uint axis = axis_of(pair);
        if (kInline) {
            uvec2 bits = cos_sin_of(token, axis, FREQUENCY_OF(token, pair));
            NTH(cosine, i) = bits.x;
            NTH(sine, i) = bits.y;
        } else {
            uint start = choose(kFromTable, row_of(token, axis) * push.rows.token, row);
            uint place = push.rows.offset + start + pair * push.rows.head;
            if (kPlaces == 1u) at = WORDS(place);
            else NTH(at, i) = place;
        }
    } while (++i < kPlaces);
    if (!kInline) load_row(at, cosine, sine);
    sine ^= choose(kBackward != 0u, 0x80000000u, 0u);
    return Turn(uintBitsToFloat(cosine), uintBitsToFloat(sine));
}

// What of all that does not rotate a copying lane brings over, two runs; where only one is left, that one twice.
Runs pass_runs(uint lane) {
    uint low = 2u * copy_step() * lane;
    uint high = low + copy_step() < pass_elements() ? low + copy_step() : low;
    return Runs(place_of(pass_element(low, rotary_begin(), pair_count())),
                place_of(pass_element(high, rotary_begin(), pair_count())), copy_step(), copy_step());
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
