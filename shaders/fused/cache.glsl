// This file finds which tokens there are, and the slot of a cache that each one goes to.
#ifndef ROPE_CACHE_GLSL
#define ROPE_CACHE_GLSL
#include "../position.glsl"

layout(constant_id = ROPE_ID_COUNTED) const uint kCounted = 0;
layout(constant_id = ROPE_ID_CACHE) const uint kCache = ROPE_CACHE_OFF;
layout(constant_id = ROPE_ID_SHIFT) const uint kShift = 0;
layout(constant_id = ROPE_ID_SLOT_MAP_WIDE) const uint kSlotMapWide = 0;
layout(constant_id = ROPE_ID_PAGE_SIZE) const uint kPageSize = 0; // 0: no pages
layout(constant_id = ROPE_ID_SLOT_MAP_APART) const uint kSlotMapApart = 0;
layout(constant_id = ROPE_ID_LONG_RING) const uint kLongRing = 0;
layout(constant_id = ROPE_ID_COUNT_STRIDE) const uint kCountStride = 0;

BUFFER(ROPE_BINDING_SLOT_MAP, SlotMap, readonly, uint, slot_map)

uint token_index(uint number) { return push.first_token + number; }
uint sequence_of(Token token) { return kPacked ? token.sequence : gl_WorkGroupID.y; }

// Reads how many tokens the sequence has, as two words.
uvec2 token_count() {
    uint at = push.count_at + gl_WorkGroupID.y * kCountStride;
    uint count = position_word(at, 0u);
    return uvec2(count, kEightBytes != 0u ? position_word(at, 1u) : uint(int(count) >> 31));
}

bool is_counted_in(uint number) {
    if (kCounted == 0u) return true;
    uvec2 count = token_count();
    return int(count.y) >= 0 && (count.y != 0u || token_index(number) < count.x);
}

// Returns true if a later token of the sequence takes the same slot of its ring. Tokens of other dispatches count too.
bool is_overtaken(Token token) {
    if (kLongRing == 0u) return false;
    uint length = push.ROPE_RING_TOKENS;
    if (kPacked) {
        uint begin = push.position_offset + token.sequence;
        length = position_word(begin + 1u, 0u) - position_word(begin, 0u);
    } else if (kCounted != 0u) {
        uvec2 count = token_count();
        length = count.y != 0u ? length : min(count.x, length);
    }
    return token.index + push.slots < length;
}

uint slot_map_word(uint at) {
    if (kSlotMapApart != 0u) return slot_map[at];
    return positions[at];
}

// Returns a slot, or a page of the table: one of `count`, or ROPE_NOWHERE. `skipped` becomes true if it is -1.
uint map_entry(uint element, uint count, out bool skipped) {
    uint low = slot_map_word(element << kSlotMapWide);
    uint high = kSlotMapWide != 0u ? slot_map_word((element << 1) + 1u) : uint(int(low) >> 31);
    skipped = (low & high) == ROPE_NOWHERE;
    return high == 0u && low < count ? low : ROPE_NOWHERE;
}

// Returns ROPE_NOWHERE if the cache has no slot for a token. `skipped` becomes true if the token wants none.
uint slot_of(Token token, uint number, out bool skipped) {
    bool ignored;
    skipped = !token.placed || is_overtaken(token);
    if (skipped) return ROPE_NOWHERE;
    if (kCache == ROPE_CACHE_BY_SLOTS) {
        uint list = push.slot_map_at + gl_WorkGroupID.y * push.slot_map_batch;
        return map_entry(list + token_index(number), push.slots, skipped);
    }
    uint position = token.whole[0];
    if (!token.first_positioned || int(position) < 0) return ROPE_NOWHERE;
    if (kCache == ROPE_CACHE_BY_RING) return position % push.slots;
    if (kCache == ROPE_CACHE_BY_POSITION) return position < push.slots ? position : ROPE_NOWHERE;
    uint page = position / kPageSize;
    if (page >= push.table_pages) return ROPE_NOWHERE;
    uint entry = push.slot_map_at + sequence_of(token) * push.slot_map_batch;
    page = map_entry(entry + page, push.slots / kPageSize, ignored);
    return page == ROPE_NOWHERE ? ROPE_NOWHERE : page * kPageSize + position % kPageSize;
}

#endif
