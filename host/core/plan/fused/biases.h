// A fused pass adds biases to elements as it loads them, and clips them.
#pragma once

#include "plan/fused/arrangement.h"

namespace rope {

// Fills in biases and the clip.
RopeResult resolveBiases(RopeFusedDescription* filled, RopeReason* reason);
// Sets the fields of biases and the constant of the clip, and binds the biases.
void setBiases(const FusedGroup& group, const RopeLimits& limits, PlanPass* pass);

} // namespace rope
