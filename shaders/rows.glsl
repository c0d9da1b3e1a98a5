// This file reads cos and sin of kLane pairs from a row, with any strides.
layout(constant_id = ROPE_ID_ROWS) const uint kRows = ROPE_ROWS_SINGLE;
layout(constant_id = ROPE_ID_ROW_ELEMENT) const uint kRowElement = ROPE_F32;

layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer Rows {
    uint rows[];
};
#if ROPE_LANE == 4
layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer RowsByFour {
    uvec4 rows_by_four[];
};
layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer RowsPacked {
    uvec2 rows_packed[];
};
WORDS four_entries(uint at) {
    if (kRowElement == ROPE_F32) return rows_by_four[at >> 2];
    return low_halves(rows_packed[at >> 2]);
}
#endif

// Returns an entry that is not widened yet. Two entries of 16 bits are in one word.
uint row_entry(uint at) {
    const uint halves = uint(kRowElement != ROPE_F32);
    return (rows[at >> halves] >> 16u * (at & halves)) & choose(halves != 0u, 0xFFFFu, 0xFFFFFFFFu);
}

// `at` has the element of each pair's cosine. Loads by four read at.x only.
void load_row(WORDS at, out WORDS cosine, out WORDS sine) {
#if ROPE_LANE == 4
    if (kRows <= ROPE_ROWS_WOVEN) {
        bool woven = kRows == ROPE_ROWS_WOVEN;
        WORDS low = four_entries(at.x);
        WORDS high = four_entries(at.x + (woven ? 4u : push.sin_offset));
        cosine = woven ? uvec4(low.xz, high.xz) : low;
        sine = woven ? uvec4(low.yw, high.yw) : high;
    } else
#endif
    {
        for (uint i = 0u; i < kLane; ++i) {
            NTH(cosine, i) = row_entry(NTH(at, i));
            NTH(sine, i) = row_entry(NTH(at, i) + push.sin_offset);
        }
    }
    for (uint i = 0u; kRowElement != ROPE_F32 && i < 2u; ++i) { // a loop keeps the SPIR-V small
        WORDS wide = widen(cosine, kRowElement);
        cosine = sine;
        sine = wide;
    }
}
