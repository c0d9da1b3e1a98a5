// How the threads of a fused pass are cut.
#pragma once

#include "plan/fused/arrangement.h"

namespace rope {

// Chooses the lanes of a dispatch. Returns false if its tensors are not cut alike, or lie at places that no lane takes.
bool chooseLanes(const RopeLimits& limits, FusedGroup* group);
// Decides the lanes of each tensor, how many heads a thread takes, and how the threads are cut into groups. Returns
// false if no group holds the lanes that meet, or rows of heads of several widths.
bool cutThreads(const RopeLimits& limits, FusedGroup* group);
// Says why a dispatch of one tensor is not cut.
RopeResult refuseThreads(const FusedGroup& group, const RopeLimits& limits, RopeReason* reason);

} // namespace rope
