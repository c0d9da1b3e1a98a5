// A cache as a fused pass takes it: its defaults and refusals, and what its description says of slots and scales.
#pragma once

#include "plan/cache_kinds.h"
#include "plan/fused/resolve.h"

namespace rope {

// Fills in the cache. The counts and positions of `d` must be filled in.
RopeResult resolveCache(const RopeRotateDescription& d, RopeCache* cache, RopeReason* reason);
// True if a scale of each slot and head is stored beside a tensor's elements.
inline bool storesScales(const RopeFusedTensor& t) {
    return formatOf(t.element).scale == ElementScale::kApart && t.given_scale.count == 0;
}
// Fills in where K and V lie in the cache, and refuses two tensors at one place.
RopeResult resolveCacheLayouts(const RopeRotateDescription& d, RopeFusedDescription* filled, RopeReason* reason);

// Refuses positions, a slot map and a count of tokens that certainly overlap in POSITIONS.
RopeResult checkPositionRegions(const ResolvedFused& fused, RopeReason* reason);

inline bool readsSlotMap(const RopeCache& cache) { return cacheKind(cache).map != SlotMap::kNone; }
inline bool readsPositionsForSlots(const RopeCache& cache) {
    return readsSlotMap(cache) && cache.map_in_positions != 0;
}
// True if a sequence may have more tokens than its ring has slots. The ring then keeps the sequence's last tokens.
inline bool isLongRing(const RopeCache& cache, const RopeRotateDescription& d) {
    return cache.kind == ROPE_CACHE_RING && d.tokens > cache.slots;
}

} // namespace rope
