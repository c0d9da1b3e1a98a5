// A cache as a fused pass takes it: its defaults and refusals, and what its description says of slots and scales.
#pragma once

#include "plan/cache_kinds.h"
#include "plan/fused/resolve.h"

namespace rope {

// Fills in the cache, all but the layouts of its tensors. The counts, head and positions of `d` must be filled in.
RopeResult resolveCache(const RopeRotateDescription& d, RopeCache* cache, RopeReason* reason);
inline RopeElement cacheElement(const RopeCache& cache, bool is_v) { return is_v ? cache.v_element : cache.element; }
inline const RopeCacheScale& givenScale(const RopeCache& cache, bool is_v) {
    return is_v ? cache.v_given_scale : cache.k_given_scale;
}
// True if a scale of each slot and head is stored beside a tensor's elements.
inline bool storesScales(const RopeCache& cache, bool is_v) {
    return formatOf(cacheElement(cache, is_v)).scale == ElementScale::kApart && givenScale(cache, is_v).count == 0;
}
// Fills in where the tensors lie in the cache, and refuses two tensors at one place.
RopeResult resolveCacheLayouts(const RopeRotateDescription& d, const RopeTensor& k, const RopeTensor& v,
                               RopeCache* cache, RopeReason* reason);

// Refuses positions, a slot map and a count of tokens that certainly overlap in POSITIONS.
RopeResult checkPositionRegions(const ResolvedFused& fused, RopeReason* reason);

inline bool readsSlotMap(const RopeCache& cache) { return cacheKind(cache).map != SlotMap::kNone; }
inline bool readsPositionsForSlots(const RopeCache& cache) { return readsSlotMap(cache) && cache.slot_map_apart == 0; }
// True if a sequence may have more tokens than its ring has slots. The ring then keeps the sequence's last tokens.
inline bool isLongRing(const RopeCache& cache, const RopeRotateDescription& d) {
    return cache.kind == ROPE_CACHE_RING && d.tokens > cache.slots;
}

} // namespace rope
