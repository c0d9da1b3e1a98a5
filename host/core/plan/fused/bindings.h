// The buffers of a fused pass, and where its heads lie in them.
#pragma once

#include "plan/fused/dispatch.h"

namespace rope {

// Sets the POSITIONS binding, for the positions that the given needs ask for. Positions, the slot map or block table,
// and the count of tokens lie in one buffer, which is bound from its beginning; a slot map apart is bound so as well.
void setPositionBuffer(const ResolvedFused& fused, const PositionNeeds& needs, const FusedTensor& t, bool cached,
                       RopePush* tokens, RopeFusedPush* push, RopePass* pass);
// Sets the constants and push words that tell the shader where a token goes in the cache.
void setCacheWords(const RopeCache& cache, const RopeRotateDescription& d, RopeFusedPush* push, RopePass* pass);
// Binds the tensors and the cache, and sets where the heads lie in these bindings. The pass's address_unit and its
// elements must be set.
void setTensorBindings(const FusedDispatch& dispatch, RopeFusedPush* push, RopePass* pass);
// Writes the push words of a dispatch: those that all families share, those of fused passes, and those of scales.
void writeFusedPush(const FusedDispatch& dispatch, const RopePush& tokens, const RopeFusedPush& push, RopePass* pass);
// Refuses caches of K and V in one buffer that no binding spans together.
RopeResult checkSharedCache(const FusedDispatch& dispatch, const RopePass& pass, const RopeLimits& limits,
                            RopeReason* reason);

} // namespace rope
