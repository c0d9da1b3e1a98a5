// Returns one entry by itself, as a float.
float row_value(uint at) {
    uint bits = row_entry(at);
    WORDS one = WORDS(bits);
    if (kRowElement != ROPE_F32) one = widen(one, kRowElement);
    return uintBitsToFloat(NTH(one, 0));
}
