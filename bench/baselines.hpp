// The baselines of a rotation, as plans: kernels that move the same bytes and compute nothing.
#pragma once

#include "rope.h"

namespace measure {

// Makes the rotation's loads and stores of its tensors, and flips the sign bits.
RopePlan negatePlan(const RopePlan& rotation);
// Copies slot Q to slot Q_OUT, 1, 2, 4 or 8 vectors of 16 bytes in each thread. `bytes` must be a multiple of 128.
RopePlan copyPlan(uint64_t bytes, uint32_t vectors, const RopeLimits& limits);
// Adds slot Q to slot Q_OUT, with two loads and a store for each element, as the addition of a table to float32 has.
RopePlan sumPlan(uint64_t bytes, const RopeLimits& limits);
// Dispatches one group that does nothing, with the bindings of another plan.
RopePlan emptyPlan(const RopePlan& like);

} // namespace measure
