// One dispatch of a fused pass: what its plan is put together from.
#pragma once

#include "plan/fused.h"

namespace rope {

// A dispatch takes one tensor, or K and V beside it.
struct FusedDispatch {
    const ResolvedFused& fused;
    const FusedTensor& tensor;
    const FusedTensor* v; // null where the tensor is alone
    bool v_has_buffers;   // K and V have buffers of their own
    bool is_q;
};

inline uint32_t sequencesOf(const RopeRotateDescription& d) {
    return isPacked(d.positions) ? d.positions.sequences : d.batch;
}
inline bool movesWholeHead(const FusedTensor& t) { return t.d.out_of_place != 0 || needsVectors(t); }
// Norms and quantizers look at a whole head before any of its elements is stored.
inline bool reducesOverHead(const FusedTensor& t) { return isQuantized(t) || t.norm.kind != ROPE_NORM_NONE; }

// Positions, the slot map or block table, and the count lie in one buffer, which is bound from its beginning.
void setPositionBuffer(const ResolvedFused& fused, const FusedTensor& t, bool cached, RopePush* push, RopePass* pass);
void setCacheWords(const RopeCache& cache, uint32_t sequences, RopePush* push, RopePass* pass);
// The tensors' and the cache's bindings, and where the heads lie in them.
void setTensorBindings(const FusedDispatch& dispatch, RopePush* push, RopePass* pass);
// Refuses a cache that one binding cannot span: the plan does not know its slots, so it is bound whole.
RopeResult checkCacheRange(const RopePass& pass, const RopeLimits& limits, RopeReason* reason);

// How many heads share a team of threads, and how many teams a group.
RopeResult setTeams(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits,
                    RopePass* pass, RopeReason* reason);

} // namespace rope
