// ResolvedFused is the description of a fused pass with every default filled in, and a FusedTensor for each of its
// tensors that has heads. The plan and the CPU's own run both go by it.
#pragma once

#include "plan/cache_kinds.h"
#include "plan/element_formats.h"
#include "plan/layout.h"
#include "plan/positions.h"
#include "plan/resolve.h"
#include "plan/tensor.h"

namespace rope {

enum FusedRole : uint32_t { kQ, kK, kV };
constexpr FusedRole kFusedRoles[] = {kQ, kK, kV};

struct FusedTensor {
    const char* name;
    FusedRole role;
    RopeRotateDescription d; // the pass as this tensor takes it, without tensors; element_out may be a cache's
    uint32_t heads;
    RopeLayout source;      // the tensor is read here, unless it is shifted
    RopeLayout destination; // the tensor is written here if it has no cache
    uint64_t source_token;  // the strides from token to token, also where there is one token only
    uint64_t destination_token;
    bool source_packed; // no stride of it was given: each follows from the counts
    bool destination_packed;
    RopeCacheLayout cache;  // the tensor is written here, and a shift reads it here
    RopeCacheLayout scales; // the scales, if the cache stores them apart
    bool has_scales;        // it does
    RopeCacheScale given_scale;
    RopeSlot from_slot, to_slot;
    bool turned;
    bool cached;
    bool query_scaled; // the tensor is multiplied by the scale of queries
    bool biased;       // the projection's biases are added
    uint64_t biases_offset;
    float clip;
    RopeNorm norm;
};

// A shifted tensor turns where it lies in the cache.
inline bool isShifted(const FusedTensor& t) { return t.cached && t.d.out_of_place == 0; }
inline SideBits fusedSideBits(const FusedTensor& t) {
    return {strideBits(t.source) | (isShifted(t) ? strideBits(t.cache) : 0),
            strideBits(t.destination) | strideBits(t.cache)};
}
inline uint64_t sourceHeadStride(const FusedTensor& t) {
    return isShifted(t) ? t.cache.head_stride : t.source.head_stride;
}
inline uint64_t destinationTokenStride(const FusedTensor& t) {
    return t.cached ? t.cache.slot_stride : t.destination_token;
}
inline uint64_t destinationHeadStride(const FusedTensor& t) {
    return t.cached ? t.cache.head_stride : t.destination.head_stride;
}
// If only one of two tensors is packed, their sequences are as far apart at one number of tokens alone. Such tensors
// share nothing that asks for equal strides, or a range of tokens would have a pipeline in its midst.
inline bool arePackedAlike(const FusedTensor& a, const FusedTensor& b, bool source) {
    const bool alike = source ? a.source_packed == b.source_packed : a.destination_packed == b.destination_packed;
    return alike || a.d.batch == 1;
}

struct ResolvedFused {
    // The description with every default filled in, also the widths of tensors that have heads. If there is a cache,
    // its page_size is never 0.
    RopeFusedDescription filled;
    FusedTensor tensors[3]; // the tensors that have heads, in the order Q, K, V
    uint32_t count;
    bool v_with_k;                     // K and V take one dispatch
    RopePositionElement count_element; // the count of tokens is INT32 or INT64
};

RopeResult resolveFused(const RopeFusedDescription& given, ResolvedFused* fused, RopeReason* reason);

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

// Fills in a norm, and refuses what is wrong with it. `name` is "q", "k" or "v". The width of the tensor must be filled
// in. The second call does so for weights on the device, and is the first one's.
RopeResult resolveNorm(const char* name, const RopeRotateDescription& d, const RopeTensor& tensor, RopeNorm* norm,
                       RopeReason* reason);
RopeResult resolveNormWeights(const char* name, uint32_t tokens, const RopeTensor& tensor, RopeNorm* norm,
                              RopeReason* reason);
// Fills in what becomes of elements as they are loaded: biases and the clip.
RopeResult resolveInputs(RopeFusedDescription* filled, RopeReason* reason);
inline bool hasWeightsOnDevice(const RopeNorm& norm) {
    return norm.kind != ROPE_NORM_NONE && norm.weights_on_device != 0;
}

// Refuses geometry that cannot be taken in vectors of four elements, or in blocks.
RopeResult checkVectorGeometry(const FusedTensor& tensor, RopeReason* reason);
// Refuses geometry in which the blocks of a head do not fill 32-bit words.
RopeResult checkWholeWords(const FusedTensor& tensor, RopeReason* reason);

inline bool isForCaches(const FusedTensor& tensor) { return isForCaches(tensor.d.element_out); }
inline bool isNormed(const FusedTensor& tensor) { return tensor.norm.kind != ROPE_NORM_NONE; }
inline bool normsAllHeads(const FusedTensor& tensor) { return isNormed(tensor) && tensor.norm.all_heads != 0; }
// True if one dispatch can norm both. `a` comes before `b` in the order Q, K, V.
bool canNormTogether(const FusedTensor& a, const FusedTensor& b);
// Norms, quantizers, biases and the scale of queries take whole vectors of four elements.
inline bool needsVectors(const FusedTensor& tensor) {
    return isForCaches(tensor) || isNormed(tensor) || tensor.biased || tensor.query_scaled;
}
// An idle tensor stays as it lies, and takes no dispatch.
inline bool isIdle(const FusedTensor& tensor) {
    return !tensor.turned && tensor.d.out_of_place == 0 && tensor.clip == 0 && !needsVectors(tensor);
}
constexpr uint32_t kMaxVectorHead = 1024; // elements of a head that is normed, quantized or scaled

inline bool readsSlotMap(const RopeCache& cache) { return cacheKind(cache).map != SlotMap::kNone; }
inline bool readsPositionsForSlots(const RopeCache& cache) { return readsSlotMap(cache) && cache.slot_map_apart == 0; }
// True if a sequence may have more tokens than its ring has slots. The ring then keeps the sequence's last tokens.
inline bool isLongRing(const RopeCache& cache, const RopeRotateDescription& d) {
    return cache.kind == ROPE_CACHE_RING && d.tokens > cache.slots;
}
inline bool isTurnedByDelta(const RopeCache& cache) { return cache.shift != 0 && cache.delta != 0; }
// The positions that a pass reads. A turn reads every axis, and the set. Slots and the scale of queries read axis 0.
// Other passes read only the lengths of packed sequences: for a window, because a token outside every sequence has no
// slot, or because another tensor reads them.
struct PositionNeeds {
    bool axes, set, first_axis, lengths;
};
PositionNeeds positionNeeds(const ResolvedFused& fused, const FusedTensor& tensor);
inline PositionNeeds operator|(const PositionNeeds& a, const PositionNeeds& b) {
    return {a.axes || b.axes, a.set || b.set, a.first_axis || b.first_axis, a.lengths || b.lengths};
}
// Selects these positions and axes of a description.
void selectPositions(const RopeRotateDescription& d, const PositionNeeds& needs, RopePositions* positions,
                     RopeFrequencies* frequencies);
inline void selectFusedPositions(const ResolvedFused& fused, const FusedTensor& tensor, RopePositions* positions,
                                 RopeFrequencies* frequencies) {
    selectPositions(tensor.d, positionNeeds(fused, tensor), positions, frequencies);
}

// ParameterLayout has the element of PARAMETERS at which each part begins. The parts are the weights of Q, the weights
// of K, those of V, the values of the scale of queries, and the given scales of K and of V, each padded to four
// elements. Biases of a norm follow its weights.
struct ParameterLayout {
    uint32_t q_weights, k_weights, v_weights, values, k_scales, v_scales, end;
};
ParameterLayout parameterLayout(const ResolvedFused& fused);

} // namespace rope
