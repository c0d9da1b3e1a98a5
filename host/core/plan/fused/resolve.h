// ResolvedFused is the description of a fused pass with every default filled in, and a FusedTensor for each of its
// tensors that has heads. The plan and the CPU's own run both go by it.
#pragma once

#include "plan/element_formats.h"
#include "plan/layout.h"
#include "plan/positions.h"
#include "plan/resolve.h"
#include "plan/tensor.h"
#include "shaders/fused/record.h"

namespace rope {

enum FusedRole : uint32_t { kQ, kK, kV };
constexpr FusedRole kFusedRoles[] = {kQ, kK, kV};
constexpr char kRoleNames[][2] = {"q", "k", "v"};
inline RopeFusedTensor* tensorOf(RopeFusedDescription* d, FusedRole role) {
    return role == kQ ? &d->q : role == kK ? &d->k : &d->v;
}
inline const RopeFusedTensor& tensorOf(const RopeFusedDescription& d, FusedRole role) {
    return role == kQ ? d.q : role == kK ? d.k : d.v;
}

// One side of a tensor, and what its caller said of it: strides of one token or sequence alone are not in the layout.
struct FusedSide : RopeLayout {
    uint64_t given_token; // from token to token, also where there is one token only
    uint64_t given_batch; // and from sequence to sequence; 0: packed, or not given of one sequence
    bool packed;          // no stride of it was given: each follows from the counts
};

struct FusedTensor {
    const char* name;
    FusedRole role;
    RopeRotateDescription d; // the pass as this tensor takes it, without tensors; element_out may be a cache's
    uint32_t heads;
    FusedSide source;       // the tensor is read here, unless it is shifted
    FusedSide destination;  // the tensor is written here if it has no cache
    RopeCacheLayout cache;  // the tensor is written here, and a shift reads it here
    RopeCacheLayout scales; // the scales, if the cache stores them apart
    bool has_scales;        // it does
    RopeCacheScale given_scale;
    RopeSlot from_slot, to_slot;
    uint32_t stages; // ROPE_STAGE_ bits
    bool cached;
    uint64_t bias_offset;
    RopeNorm norm;

    bool takes(uint32_t stage) const { return (stages & stage) != 0; }
};

// A shift with a cache rotates K where it lies there.
inline bool shiftsCache(const RopeFusedDescription& d) {
    return d.cache.kind != ROPE_CACHE_NONE && d.k.heads != 0 && d.k.no_rotation == 0 &&
           d.rotation.operation == ROPE_OPERATION_SHIFT;
}
inline bool isShifted(const FusedTensor& t) { return t.cached && t.d.out_of_place == 0; }
inline SideBits fusedSideBits(const FusedTensor& t) {
    return {strideBits(t.source) | (isShifted(t) ? strideBits(t.cache) : 0),
            strideBits(t.destination) | strideBits(t.cache)};
}
// If one tensor is packed and the other is not, their batch strides agree for a single token count only. A range of
// tokens would then take one more pipeline for that count, so such tensors share nothing that asks for equal strides.
inline bool arePackedAlike(const FusedTensor& a, const FusedTensor& b, bool source) {
    const bool alike = source ? a.source.packed == b.source.packed : a.destination.packed == b.destination.packed;
    return alike || a.d.batch == 1;
}

struct ResolvedFused {
    // The description with every default filled in, also the widths of tensors that have heads. If there is a cache,
    // its page_size is never 0.
    RopeFusedDescription filled;
    FusedTensor tensors[3]; // the tensors that have heads, in the order Q, K, V
    uint32_t count;
    RopePositionElement count_element; // the count of tokens is INT32 or INT64
};

RopeResult resolveFused(const RopeFusedDescription& given, ResolvedFused* fused, RopeReason* reason);

inline bool isForCaches(const FusedTensor& tensor) { return tensor.takes(ROPE_STAGE_QUANTIZE); }
// A norm's weights lie in an array, which PARAMETERS holds, or in the engine's buffer, or there are none.
inline bool hasWeightsInBuffer(const RopeNorm& norm) {
    return norm.kind != ROPE_NORM_NONE && norm.weights == nullptr && norm.no_weights == 0;
}
inline bool isNormed(const FusedTensor& tensor) { return tensor.takes(ROPE_STAGE_NORM); }
inline bool normsAllHeads(const FusedTensor& tensor) { return isNormed(tensor) && tensor.norm.all_heads != 0; }
// Norms, quantizers, biases and the scale of queries take whole vectors of four elements.
inline bool needsVectors(const FusedTensor& tensor) { return tensor.takes(ROPE_STAGES_BESIDE_TURN & ~ROPE_STAGE_CLIP); }
// An idle tensor stays as it lies, and takes no dispatch.
inline bool isIdle(const FusedTensor& tensor) { return tensor.stages == 0 && tensor.d.out_of_place == 0; }
constexpr uint32_t kMaxVectorHead = 1024; // elements of a head that is normed, quantized or scaled

inline bool isTurnedByDelta(const RopeCache& cache) { return cache.delta != 0; }
// The positions that a pass reads. A rotation reads every axis, and the set. Slots and the scale of queries read axis
// 0. Other passes read only the lengths of packed sequences: to skip tokens, because a token outside every sequence has
// no slot, or because another tensor reads them.
struct PositionNeeds {
    bool axes, set, first_axis, lengths;
};
PositionNeeds positionNeeds(const ResolvedFused& fused, const FusedTensor& tensor);
inline PositionNeeds operator|(const PositionNeeds& a, const PositionNeeds& b) {
    return {a.axes || b.axes, a.set || b.set, a.first_axis || b.first_axis, a.lengths || b.lengths};
}
// Returns what a pass with these needs reads.
ReadPositions selectPositions(const RopeRotateDescription& d, const PositionNeeds& needs);
inline ReadPositions fusedPositions(const ResolvedFused& fused, const FusedTensor& tensor) {
    return selectPositions(tensor.d, positionNeeds(fused, tensor));
}

// Refuses geometry that cannot be taken in vectors of four elements, or in blocks.
RopeResult checkVectorGeometry(const FusedTensor& tensor, RopeReason* reason);
// Refuses geometry in which the blocks of a head do not fill 32-bit words.
RopeResult checkWholeWords(const FusedTensor& tensor, RopeReason* reason);

// ParameterLayout has the element of PARAMETERS at which each part begins. The values of the scale of queries come
// first. The weights of Q's, K's and V's norm and the given scales of K and V follow, each padded to four elements.
// Biases of a norm follow its weights.
struct ParameterLayout {
    uint32_t weights[3], scales[2], end;
};
ParameterLayout parameterLayout(const ResolvedFused& fused);

} // namespace rope
