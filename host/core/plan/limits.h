// Plans and contexts take a device's limits alike: defaults filled in, impossible limits refused.
#pragma once

#include "rules/refuse.h"

namespace rope {

constexpr uint32_t kMinAlignment = 16;     // bytes of a uvec4
constexpr uint32_t kMostAlignment = 65536; // a push word has 16 bits for what a binding's start loses; Vulkan has 256

// Fills in the default of each limit that is 0, and lowers storage_range to 32 bits.
void fillLimits(RopeLimits* limits);
// Refuses limits that no device has.
RopeResult checkLimits(const RopeLimits& limits, RopeReason* reason);

} // namespace rope
