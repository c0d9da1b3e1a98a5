// Cos and sin of LANE pairs from a row, in any of the formats that strides describe.
layout(constant_id = ROPE_ID_ROWS) const uint kRows = ROPE_ROWS_SINGLE;
layout(constant_id = ROPE_ID_ROW_ELEMENT) const uint kRowElement = ROPE_F32;

layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer Rows {
    uint rows[];
};
#if ROPE_LANE == 4
layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer RowsByFour {
    WHOLE_MEMORY rows_by_four[];
};
layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer RowsPacked {
    PACKED_MEMORY rows_packed[];
};
WORDS four_entries(uint at) {
    return kRowElement == ROPE_F32 ? FROM_WHOLE(rows_by_four[at >> 2]) : parted(FROM_PACKED(rows_packed[at >> 2]));
}
#endif

// Not yet widened.
uint row_entry(uint at) {
    bool packed = kRowElement != ROPE_F32;
    uint word = rows[packed ? at / 2u : at];
    return packed ? (word >> (16u * (at & 1u))) & 0xFFFFu : word;
}

// One entry by itself, as a float.
float row_value(uint at) {
    uint bits = row_entry(at);
    WORDS one = WORDS(bits);
    if (kRowElement != ROPE_F32) one = widen(one, kRowElement);
    return uintBitsToFloat(NTH(one, 0));
}

// `at` is the element of each pair's cosine; those of one row follow each other.
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
    for (uint i = 0u; kRowElement != ROPE_F32 && i < 2u; ++i) { // the code once, for a size that hosts pay
        WORDS wide = widen(cosine, kRowElement);
        cosine = sine;
        sine = wide;
    }
}
