// A device's limits, as plans and contexts take them.
#pragma once

#include "rules/refuse.h"

namespace rope {

constexpr uint32_t kMinAlignment = 16; // a uvec4

// Puts a limit's default where the limit is 0.
void fillLimits(RopeLimits* limits);
// Refuses limits that no device has.
RopeResult checkLimits(const RopeLimits& limits, RopeReason* reason);

} // namespace rope
