// What a rotation is measured against: kernels that move the same bytes and compute nothing, as plans.
#pragma once

#include "rope.h"

namespace measure {

// The rotation's lanes, loads and stores with a sign bit flipped. `loads`: with its other loads too.
RopePlan negatePlan(const RopePlan& rotation, bool loads);
// From slot Q to slot Q_OUT, 1, 2, 4 or 8 vectors of 16 bytes in each thread; bytes are a multiple of 128.
RopePlan copyPlan(uint64_t bytes, uint32_t vectors, const RopeLimits& limits);
// Adds slot Q to slot Q_OUT: as an addition of a table to float32 does, two loads and a store of each element.
RopePlan sumPlan(uint64_t bytes, const RopeLimits& limits);
// A dispatch of one group that does nothing, with the bindings of another plan.
RopePlan emptyPlan(const RopePlan& like);

} // namespace measure
