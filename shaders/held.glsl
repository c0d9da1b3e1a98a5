// Frequencies of a lane that goes through several tokens: loaded once, then taken in turns, so that no index depends on
// a loop. turn_of asks for ROPE_LANE of them, in order: then they stand as before. Of one set, and one lane in a thread.
layout(constant_id = ROPE_ID_TOKENS) const uint kTokens = 1;
uvec4 held[ROPE_LANE];

void hold_frequencies(uint pair, uint count) {
    for (uint i = 0u; i < uint(ROPE_LANE); ++i) held[i] = frequencies[pair + min(i, count - 1u)];
}

uvec4 next_held() {
    uvec4 next = held[0];
    for (uint i = 1u; i < uint(ROPE_LANE); ++i) held[i - 1u] = held[i];
    held[uint(ROPE_LANE) - 1u] = next;
    return next;
}

uvec4 held_frequency_of(Token token, uint pair) { return kTokens > 1u ? next_held() : frequency_of(token, pair); }
