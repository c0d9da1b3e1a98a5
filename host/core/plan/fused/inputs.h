// A fused pass adds biases to elements as it loads them, and clips them.
#pragma once

#include "plan/fused/dispatch.h"

namespace rope {

// Fills in biases and the clip.
RopeResult resolveInputs(RopeFusedDescription* filled, RopeReason* reason);
// Sets the constants of the clip, and binds the projection's biases.
void setInputs(const FusedDispatch& dispatch, const RopeLimits& limits, RopePass* pass);

} // namespace rope
