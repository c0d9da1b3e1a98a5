// This file reads cos and sin of a quad of pairs from a row, with any strides.
#ifndef ROPE_ROWS_GLSL
#define ROPE_ROWS_GLSL
#include "runs.glsl"

layout(constant_id = ROPE_ID_ROWS) const uint kRows = ROPE_ROWS_SINGLE;
layout(constant_id = ROPE_ID_ROW_ELEMENT) const uint kRowElement = ROPE_F32;

BUFFER(ROPE_BINDING_COS_SIN, Rows, readonly, uint, rows)
BUFFER(ROPE_BINDING_COS_SIN, RowsByFour, readonly, uvec4, rows_by_four)
BUFFER(ROPE_BINDING_COS_SIN, RowsPacked, readonly, uvec2, rows_packed)
uvec4 four_entries(uint at) {
    return kRowElement == ROPE_F32 ? rows_by_four[at >> 2] : low_halves(rows_packed[at >> 2]);
}

// Returns an entry that is not widened yet. Two entries of 16 bits are in one word.
uint row_entry(uint at) {
    const uint halves = uint(kRowElement != ROPE_F32);
    return (rows[at >> halves] >> 16u * (at & halves)) & choose(halves != 0u, 0xFFFFu, 0xFFFFFFFFu);
}

// `at` has the element of each pair's cosine. Loads by four read at.x only.
void load_row(uvec4 at, out uvec4 cosine, out uvec4 sine) {
    if (kRows <= ROPE_ROWS_WOVEN) {
        bool woven = kRows == ROPE_ROWS_WOVEN;
        uvec4 low = four_entries(at.x);
        uvec4 high = four_entries(at.x + (woven ? 4u : push.sin_offset));
        cosine = woven ? uvec4(low.xz, high.xz) : low;
        sine = woven ? uvec4(low.yw, high.yw) : high;
    } else {
        for (uint i = 0u; i < 4u; ++i) {
            cosine[i] = row_entry(at[i]);
            sine[i] = row_entry(at[i] + push.sin_offset);
        }
    }
    if (kRowElement == ROPE_F32) return;
    cosine = widen(cosine, kRowElement);
    sine = widen(sine, kRowElement);
}

#endif
