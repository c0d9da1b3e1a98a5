// This file finds the slot of a cache that a token takes, on the CPU.
#include "reference/slot.h"

#include "plan/cache_kinds.h"

#if !defined(VKROPE_NO_REFERENCE) && !defined(VKROPE_NO_FUSED)
namespace rope {
namespace {

SlotOutcome slotInCache(int64_t found, const RopeCache& cache, uint64_t* slot) {
    *slot = static_cast<uint64_t>(found);
    return found >= 0 && found < cache.slots ? SlotOutcome::kTaken : SlotOutcome::kOutside;
}

SlotOutcome mappedSlot(const RopeCache& cache, const void* map, uint32_t batch, uint32_t number, uint64_t* slot) {
    const uint64_t entry = cache.map_offset + batch * cache.map_batch_stride + number;
    const int64_t found = readInteger(map, cache.map_element, entry);
    return found == -1 ? SlotOutcome::kSkipped : slotInCache(found, cache, slot);
}

SlotOutcome slotInPages(const RopeCache& cache, const void* table, uint32_t sequence, int64_t position,
                        uint64_t* slot) {
    const int64_t column = position / cache.page_size;
    if (column >= cache.table_pages) return SlotOutcome::kOutside;
    const uint64_t entry = cache.map_offset + sequence * cache.map_batch_stride + static_cast<uint64_t>(column);
    const int64_t page = readInteger(table, cache.map_element, entry);
    if (page < 0 || page >= cache.slots / cache.page_size) return SlotOutcome::kOutside;
    return slotInCache(page * cache.page_size + position % cache.page_size, cache, slot);
}

} // namespace

SlotOutcome findSlot(const RopeCache& cache, const void* map, uint32_t batch, uint32_t number, const HostToken& token,
                     uint64_t* slot) {
    if (!token.placed) return SlotOutcome::kSkipped;
    const int64_t position = token.position[0] >> 32;
    if (cacheKind(cache).by_position && (!token.known || position < 0)) return SlotOutcome::kOutside;
    switch (cache.kind) {
    case ROPE_CACHE_SLOTS:
        return mappedSlot(cache, map, batch, number, slot);
    case ROPE_CACHE_RING:
        return slotInCache(position % cache.slots, cache, slot);
    case ROPE_CACHE_PAGE_TABLE:
        return slotInPages(cache, map, token.sequence, position, slot);
    default:
        return slotInCache(position, cache, slot);
    }
}

uint64_t slotElement(const RopeCache& cache, const RopeCacheLayout& layout, uint32_t sequence, uint64_t slot) {
    return layout.offset + sequence * layout.batch_stride + slot / cache.page_size * layout.page_stride +
           slot % cache.page_size * layout.token_stride;
}

} // namespace rope
#endif
