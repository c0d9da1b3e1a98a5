// A context carries out the plans that this check accepts.
#pragma once

#include "record/context.h"

namespace rope {

// Refuses a plan of another version, or of limits beyond the context's. The sentence names the plan by `number`.
RopeResult checkPlan(const RopeContext& context, const RopePlan& plan, uint32_t number, RopeReason* reason);

} // namespace rope
