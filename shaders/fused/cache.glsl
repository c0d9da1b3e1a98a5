// This file finds which tokens there are, and the slot of a cache that each one goes to.
#ifndef ROPE_CACHE_GLSL
#define ROPE_CACHE_GLSL
#include "layout.glsl"
#include "../position.glsl"

layout(constant_id = ROPE_ID_PASS) const uint kPass = 0;
layout(constant_id = ROPE_ID_CACHE) const uint kCache = ROPE_CACHE_OFF;
layout(constant_id = ROPE_ID_PAGE_SIZE) const uint kPageSize = 0; // 0: no pages
layout(constant_id = ROPE_ID_COUNT_STRIDE) const uint kCountStride = 0;
const bool kCounted = (kPass & ROPE_PASS_COUNTED) != 0u;
const bool kByDelta = (kPass & ROPE_PASS_BY_DELTA) != 0u;
const bool kLongRing = (kPass & ROPE_PASS_LONG_RING) != 0u;
const bool kSlotMapApart = (kPass & ROPE_PASS_MAP_APART) != 0u;
const uint kSlotMapWide = uint((kPass & ROPE_PASS_MAP_WIDE) != 0u);

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
    if (!kCounted) return true;
    uvec2 count = token_count();
    return int(count.y) >= 0 && (count.y != 0u || token_index(number) < count.x);
}

// Returns true if a later token of the sequence takes the same slot of its ring. Tokens of other dispatches count too.
bool is_overtaken(Token token) {
    if (!kLongRing) return false;
    uint length = push.plan_tokens;
    if (kPacked) {
        uint begin = push.position_offset + token.sequence;
        length = position_word(begin + 1u, 0u) - position_word(begin, 0u);
    } else if (kCounted) {
        uvec2 count = token_count();
        length = count.y != 0u ? length : min(count.x, length);
    }
    return token.index + push.slots < length;
}

uint slot_map_word(uint at) { return kSlotMapApart ? slot_map[at] : positions[at]; }

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
