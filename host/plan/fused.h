// What a description of a fused pass comes to: its tensors, each with every default filled in. The plan and the CPU's
// own run both go by it.
#pragma once

#include "plan/layout.h"
#include "plan/positions.h"
#include "plan/resolve.h"
#include "plan/tensor.h"

namespace rope {

struct FusedTensor {
    const char* name;
    RopeRotateDescription d; // the pass, as this tensor takes it: without tensors, and element_out may be a cache's
    uint32_t heads;
    RopeLayout source;      // read, but for a shift
    RopeLayout destination; // written, where there is no cache
    RopeCacheLayout cache;  // written, and by a shift read
    RopeCacheLayout scales; // of a cache whose format has them apart
    RopeSlot from_slot, to_slot;
    bool turned;
    bool cached;
    bool query_scaled; // by the scale of queries
    RopeNorm norm;
};

// A tensor that turns where it lies in the cache.
inline bool isShifted(const FusedTensor& t) { return t.cached && t.d.out_of_place == 0; }
inline SideBits fusedSideBits(const FusedTensor& t) {
    return {strideBits(t.source) | (isShifted(t) ? strideBits(t.cache) : 0),
            strideBits(t.destination) | strideBits(t.cache)};
}
inline uint64_t sourceHeadStride(const FusedTensor& t) {
    return isShifted(t) ? t.cache.head_stride : t.source.head_stride;
}
inline uint64_t destinationHeadStride(const FusedTensor& t) {
    return t.cached ? t.cache.head_stride : t.destination.head_stride;
}

struct ResolvedFused {
    // Filled in: rotate, save for its tensors, and the cache, whose page_size is never 0 where there is one.
    RopeFusedDescription filled;
    FusedTensor tensors[3]; // those that have heads, in the order Q, K, V
    uint32_t count;
    bool v_with_k;                     // K and V take one dispatch
    RopePositionElement count_element; // INT32 or INT64, of the count of tokens
};

RopeResult resolveFused(const RopeFusedDescription& given, ResolvedFused* fused, RopeReason* reason);

// What is not one tensor's own, for a rotation whose counts, head and positions are filled in.
RopeResult resolveCache(const RopeRotateDescription& d, RopeCache* cache, RopeReason* reason);
// Where the tensors lie in it, and that no two of them do at one place.
RopeResult resolveCacheLayouts(const RopeRotateDescription& d, uint32_t k_heads, uint32_t v_heads, RopeCache* cache,
                               RopeReason* reason);

// Refuses positions, a slot map and a count of tokens that certainly overlap in POSITIONS.
RopeResult checkPositionRegions(const ResolvedFused& fused, RopeReason* reason);

// Refuses geometry that cannot be taken in runs of four elements, or in blocks.
RopeResult checkVectorGeometry(const FusedTensor& tensor, RopeReason* reason);

inline bool isQuantized(const FusedTensor& tensor) { return isQuantized(tensor.d.element_out); }
// Norms, quantizers and the scale of queries take whole runs of four elements.
inline bool needsVectors(const FusedTensor& tensor) {
    return isQuantized(tensor) || tensor.norm.kind != ROPE_NORM_NONE || tensor.query_scaled;
}
// Nothing is done to it: it stays as it lies.
inline bool isIdle(const FusedTensor& tensor) {
    return !tensor.turned && tensor.d.out_of_place == 0 && !needsVectors(tensor);
}
constexpr uint32_t kMaxVectorHead = 1024; // elements of a head

inline bool readsSlotMap(const RopeCache& cache) { return cacheKind(cache).map != SlotMap::kNone; }
inline bool isTurnedByDelta(const RopeCache& cache) { return cache.shift != 0 && cache.delta != 0; }
// What a tensor's pass reads of positions: for the turn every axis and the set, for slots and the scale of queries axis
// 0, and otherwise the lengths of packed sequences, for a window or since a token of none has no slot.
void selectFusedPositions(const ResolvedFused& fused, const FusedTensor& tensor, RopePositions* positions,
                          RopeFrequencies* frequencies);

// Elements of PARAMETERS where each part begins; weights of Q, then of K, then the scale's values, each padded to four.
struct ParameterLayout {
    uint32_t q_weights, k_weights, values, end;
};
ParameterLayout parameterLayout(const ResolvedFused& fused);

} // namespace rope
