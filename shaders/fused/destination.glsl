// This file finds where a token goes: to its place in a tensor, or to its slot of a cache.
#ifndef ROPE_DESTINATION_GLSL
#define ROPE_DESTINATION_GLSL
#include "cache.glsl"
#include "item.glsl"

const bool kTurnsCache = kCache != ROPE_CACHE_OFF && kKvInPlace; // a shift: the slot is known before anything is read

// Returns where a slot lies, behind `before` slots or pages of other sequences.
uint place_of_slot(uint before, uint slot, uint page_stride, uint slot_stride) {
    if (kPageSize == 0u) return (before + slot) * slot_stride;
    uint page = slot / kPageSize;
    return (before + page) * page_stride + (slot - page * kPageSize) * slot_stride;
}

// A token that goes nowhere gets slot 0, and its thread stores nothing.
void find_destination(inout WorkItem item, Token token) {
    uint tensor = item.tensor;
    uint length = length_to(tensor);
    uint sequence = gl_WorkGroupID.y;
    bool to_cache = kCache != ROPE_CACHE_OFF && !is_q(tensor);
    if (to_cache) sequence = sequence_of(token);
    uint before = sequence * (to_rows_of(tensor) * length);
    item.to = (before + item.token) * to_token_of(tensor);
    item.is_there = item.is_there && is_counted_in(item.token);
    if (kCache != ROPE_CACHE_OFF) {
        bool skipped;
        uint slot = slot_of(token, item.token, skipped);
        item.is_there = item.is_there && (is_q(tensor) || slot != ROPE_NOWHERE);
        if (slot == ROPE_NOWHERE) slot = 0u;
        uint of_slot = place_of_slot(before, slot, to_page_of(tensor), to_token_of(tensor));
        item.to = choose(to_cache, of_slot, item.to);
        item.scale = choose(tensor == kThird, push.scale_at_1, push.scale_at_0) + sequence * scale_batch_of(tensor) +
                     place_of_slot(before, slot, scale_page_of(tensor), scale_slot_of(tensor));
        item.scale_head = scale_head_of(tensor) + scale_head_grown_of(tensor) * length;
    }
    item.to += sequence * to_batch_of(tensor);
    if (!is_quantized(tensor)) item.to += to_begin(tensor);
    item.to_head = to_head_of(tensor) + to_head_grown_of(tensor) * length;
    if (kTurnsCache) item.from = item.to;
}

#endif
