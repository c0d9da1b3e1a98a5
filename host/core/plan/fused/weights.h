// Weights of norms that lie in buffers of the engine's own.
#pragma once

#include "plan/fused/dispatch.h"

namespace rope {

// Fills in weights on the device, as resolveNorm does a norm's other members.
RopeResult resolveNormWeights(const char* name, uint32_t tokens, const RopeTensor& tensor, RopeNorm* norm,
                              RopeReason* reason);
inline bool hasWeightsOnDevice(const RopeNorm& norm) {
    return norm.kind != ROPE_NORM_NONE && norm.weights_on_device != 0;
}
// Binds the weights of norms that lie in buffers of their own, and sets the constants and the push word of them.
void setWeights(const FusedDispatch& dispatch, const RopeLimits& limits, RopeFusedPush* push, RopePass* pass);
// Refuses more buffers than the device binds together, and says what makes them fewer.
RopeResult checkBuffers(const RopePass& pass, const RopeLimits& limits, RopeReason* reason);

} // namespace rope
