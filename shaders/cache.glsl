// Which tokens there are, and where in a cache each one goes.
layout(constant_id = ROPE_ID_COUNTED) const uint kCounted = 0;
layout(constant_id = ROPE_ID_CACHE) const uint kCache = ROPE_CACHE_OFF;
layout(constant_id = ROPE_ID_SHIFT) const uint kShift = 0;
layout(constant_id = ROPE_ID_SLOT_MAP_WIDE) const uint kSlotMapWide = 0;
layout(constant_id = ROPE_ID_SLOT_MAP_BATCH) const uint kSlotMapBatch = 0;
layout(constant_id = ROPE_ID_SLOT_MAP_TOKEN) const uint kSlotMapToken = 1;
layout(constant_id = ROPE_ID_SLOTS) const uint kSlots = 1;
layout(constant_id = ROPE_ID_PAGE_SIZE) const uint kPageSize = 1;

// Of all that the plan has, not of this part of it.
uint batch_index() { return push.ROPE_FIRST_BATCH + gl_WorkGroupID.y; }
uint token_index(uint number) { return push.first_token + number; }
uint sequence_of(Token token) { return kPacked ? token.sequence : batch_index(); }

bool is_counted_in(uint number) {
    if (kCounted == 0u) return true;
    uint count = position_word(push.ROPE_COUNT_AT, 0u);
    uint high = kEightBytes != 0u ? position_word(push.ROPE_COUNT_AT, 1u) : uint(int(count) >> 31);
    return int(high) >= 0 && (high != 0u || token_index(number) < count);
}

// A slot, or a page of the table: one of `count`, or ROPE_NOWHERE. `skipped`: it is -1.
uint map_entry(uint element, uint count, out bool skipped) {
    uint low = positions[element << kSlotMapWide];
    uint high = kSlotMapWide != 0u ? positions[(element << 1) + 1u] : uint(int(low) >> 31);
    skipped = (low & high) == ROPE_NOWHERE;
    return high == 0u && low < count ? low : ROPE_NOWHERE;
}

// ROPE_NOWHERE where the cache has none for it. `skipped`: it wants none.
uint slot_of(Token token, uint number, out bool skipped) {
    bool ignored;
    skipped = !token.placed;
    if (skipped) return ROPE_NOWHERE;
    if (kCache == ROPE_CACHE_BY_SLOTS) {
        return map_entry(push.ROPE_SLOT_MAP_AT + batch_index() * kSlotMapBatch + token_index(number) * kSlotMapToken,
                       kSlots, skipped);
    }
    uint position = token.whole[0];
    if (!token.first_positioned || int(position) < 0) return ROPE_NOWHERE;
    if (kCache == ROPE_CACHE_BY_RING) return position % kSlots;
    if (kCache == ROPE_CACHE_BY_POSITION) return position < kSlots ? position : ROPE_NOWHERE;
    uint page = position / kPageSize;
    if (page >= kSlotMapToken) return ROPE_NOWHERE;
    page = map_entry(push.ROPE_SLOT_MAP_AT + sequence_of(token) * kSlotMapBatch + page, kSlots / kPageSize, ignored);
    return page == ROPE_NOWHERE ? ROPE_NOWHERE : page * kPageSize + position % kPageSize;
}
