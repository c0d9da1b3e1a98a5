// Cos and sin of LANE pairs from a row, in any of the formats that strides describe.
layout(constant_id = ROPE_ID_ROWS) const uint kRows = ROPE_ROWS_SINGLE;

layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer Rows {
    uint rows[];
};
#if ROPE_LANE == 4
layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer RowsByFour {
    WHOLE_MEMORY rows_by_four[];
};
#endif

// Not yet widened.
uint row_entry(uint at) {
    bool packed = kRows > ROPE_ROWS_SINGLE;
    uint word = rows[packed ? at / 2u : at];
    return packed ? (word >> (16u * (at & 1u))) & 0xFFFFu : word;
}

// One entry by itself, as a float.
float row_value(uint at) {
    uint bits = row_entry(at);
    WORDS one = WORDS(bits);
    if (kRows > ROPE_ROWS_SINGLE) one = widen(one, kRows - ROPE_ROWS_SINGLE);
    return uintBitsToFloat(NTH(one, 0));
}

// `at` is the element of each pair's cosine; those of one row follow each other.
void load_row(WORDS at, out WORDS cosine, out WORDS sine) {
#if ROPE_LANE == 4
    if (kRows <= ROPE_ROWS_WOVEN) {
        bool woven = kRows == ROPE_ROWS_WOVEN;
        WORDS low = FROM_WHOLE(rows_by_four[at.x >> 2]);
        WORDS high = FROM_WHOLE(rows_by_four[(at.x + (woven ? 4u : push.sin_offset)) >> 2]);
        cosine = woven ? uvec4(low.xz, high.xz) : low;
        sine = woven ? uvec4(low.yw, high.yw) : high;
    } else
#endif
    {
        for (uint i = 0u; i < kLane; ++i) {
            NTH(cosine, i) = row_entry(NTH(at, i));
            NTH(sine, i) = row_entry(NTH(at, i) + push.sin_offset);
        }
        for (uint i = 0u; kRows > ROPE_ROWS_SINGLE && i < 2u; ++i) { // the code once, for a size that hosts pay
            WORDS wide = widen(cosine, kRows - ROPE_ROWS_SINGLE);
            cosine = sine;
            sine = wide;
        }
    }
}
