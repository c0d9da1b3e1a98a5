// A plan's dispatches, one after the other.
#pragma once

#include "plan/pass.h"

namespace rope {

// Fills in a pass's dispatch.
void fillDispatch(const PlanPass& pass, uint32_t index, uint32_t alignment, RopeDispatch* dispatch);

} // namespace rope
