// The kinds of caches: what the host knows of each, and the number that shaders know it by.
// To add a kind: RopeCacheKind, a number in shaders/fused/record.h, a row here, a case in slot_of
// (shaders/fused/cache.glsl), and a case in findSlot (host/core/reference/slot.cpp).
#pragma once

#include <vkrope/rope.h>

#include "shaders/interface.h"

namespace rope {

// The entries that a cache reads from the slot map: the slot of each token, or the pages of each sequence.
enum class SlotMap : uint8_t { kNone, kSlots, kPages };

struct CacheKind {
    RopeCacheKind kind;
    uint8_t number; // the shaders'
    SlotMap map;
    bool by_position;  // a token's slot follows from its position
    bool per_sequence; // each sequence has slots of its own, batch_stride apart
    char phrase[16];   // as a plan in words has it
};

// In the order of RopeCacheKind.
inline constexpr CacheKind kCacheKinds[] = {
    {ROPE_CACHE_NONE, ROPE_CACHE_OFF, SlotMap::kNone, false, false, ""},
    {ROPE_CACHE_SLOTS, ROPE_CACHE_BY_SLOTS, SlotMap::kSlots, false, false, " at slots"},
    {ROPE_CACHE_POSITIONS, ROPE_CACHE_BY_POSITION, SlotMap::kNone, true, true, " at positions"},
    {ROPE_CACHE_RING, ROPE_CACHE_BY_RING, SlotMap::kNone, true, true, " in a ring"},
    {ROPE_CACHE_PAGE_TABLE, ROPE_CACHE_BY_TABLE, SlotMap::kPages, true, false, " by page table"},
};
constexpr uint32_t kCacheKindCount = sizeof kCacheKinds / sizeof kCacheKinds[0];
constexpr RopeCacheKind kLastCacheKind = static_cast<RopeCacheKind>(kCacheKindCount - 1);

constexpr const CacheKind& cacheKind(const RopeCache& cache) { return kCacheKinds[cache.kind]; }

constexpr bool isCacheTableInOrder() {
    for (uint32_t i = 0; i < kCacheKindCount; ++i)
        if (kCacheKinds[i].kind != static_cast<RopeCacheKind>(i) || kCacheKinds[i].number != i) return false;
    return true;
}
static_assert(isCacheTableInOrder());

} // namespace rope
