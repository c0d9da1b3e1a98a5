// Returns one entry by itself, as a float.
float row_value(uint at) {
    uvec4 one = uvec4(row_entry(at));
    if (kRowElement != ROPE_F32) one = widen(one, kRowElement);
    return uintBitsToFloat(one[0]);
}
