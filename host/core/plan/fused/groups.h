// How the threads of a fused pass are cut.
#pragma once

#include "plan/fused/dispatch.h"

namespace rope {

// True if the threads of one dispatch can take these tensors: their heads are of one width, or the widest have no more
// lanes than a group has threads.
bool canShareRows(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits);
// Decides how many heads a thread takes, and how the threads are cut into groups.
RopeResult setFusedGroups(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits,
                          RopePass* pass, RopeReason* reason);

} // namespace rope
