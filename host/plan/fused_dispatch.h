// A FusedDispatch is one dispatch of a fused pass. The functions here put its plan together.
#pragma once

#include "plan/fused.h"

namespace rope {

// A dispatch takes one tensor, or K with V beside it.
struct FusedDispatch {
    const ResolvedFused& fused;
    const FusedTensor& tensor;
    const FusedTensor* v; // null if the tensor is alone
    bool v_has_buffers;   // K and V have buffers of their own
    bool is_q;
};

inline uint32_t sequencesOf(const RopeRotateDescription& d) {
    return isPacked(d.positions) ? d.positions.sequences : d.batch;
}
// True if every element of a head is moved: elements that do not rotate are then copied, or pass a stage.
inline bool movesWholeHead(const FusedTensor& t) { return t.d.out_of_place != 0 || needsVectors(t); }
// Norms and quantizers reduce over a head: they look at all of its elements before any of them is stored.
inline bool reducesOverHead(const FusedTensor& t) { return isForCaches(t) || t.norm.kind != ROPE_NORM_NONE; }

// Sets the POSITIONS binding. Positions, the slot map or block table, and the count of tokens lie in one buffer, which
// is bound from its beginning.
void setPositionBuffer(const ResolvedFused& fused, const FusedTensor& t, bool cached, RopePush* push, RopePass* pass);
// Sets the constants and push words that tell the shader where a token goes in the cache.
void setCacheWords(const RopeCache& cache, uint32_t sequences, RopePush* push, RopePass* pass);
// Binds the tensors and the cache, and sets where the heads lie in these bindings.
void setTensorBindings(const FusedDispatch& dispatch, RopePush* push, RopePass* pass);
// Refuses a cache that one binding cannot span. The plan does not know which slots a call writes, so the cache is bound
// whole.
RopeResult checkCacheRange(const RopePass& pass, const RopeLimits& limits, RopeReason* reason);

// Decides how many heads share a team of threads, and how many teams fill a workgroup. A team is the threads that take
// one head between them, or several heads one after the other.
RopeResult setTeams(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits,
                    RopePass* pass, RopeReason* reason);

} // namespace rope
