// Cos and sin of LANE pairs from a row, in any of the formats that strides describe.
layout(constant_id = ROPE_ID_ROWS) const uint kRows = ROPE_ROWS_SINGLE;

layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer Rows {
    uint rows[];
};
#if ROPE_LANE == 4
layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer RowsByFour {
    uvec4 rows_by_four[];
};
#endif

// Not yet widened.
uint row_entry(uint at) {
    if (kRows == ROPE_ROWS_SINGLE) return rows[at];
    return (rows[at / 2u] >> (16u * (at & 1u))) & 0xFFFFu;
}

// `at` is the element of the first pair's cosine.
void load_row(uint at, uint count, out WORDS cosine, out WORDS sine) {
#if ROPE_LANE == 4
    if (kRows == ROPE_ROWS_BY_FOUR) {
        cosine = rows_by_four[at / 4u];
        sine = rows_by_four[(at + push.sin_offset) / 4u];
        return;
    }
    if (kRows == ROPE_ROWS_WOVEN) {
        WORDS low = rows_by_four[at / 4u];
        WORDS high = rows_by_four[at / 4u + 1u];
        cosine = uvec4(low.xz, high.xz);
        sine = uvec4(low.yw, high.yw);
        return;
    }
#endif
#if ROPE_LANE > 1
    for (uint i = 0u; i < kLane; ++i) {
        uint entry = at + min(i, count - 1u) * push.rows.head;
        cosine[i] = row_entry(entry);
        sine[i] = row_entry(entry + push.sin_offset);
    }
#else
    cosine = row_entry(at);
    sine = row_entry(at + push.sin_offset);
#endif
    if (kRows > ROPE_ROWS_SINGLE) {
        cosine = widen(cosine, kRows - ROPE_ROWS_SINGLE);
        sine = widen(sine, kRows - ROPE_ROWS_SINGLE);
    }
}
