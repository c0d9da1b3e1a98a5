// The norms of fused passes.
#pragma once

#include "plan/fused/arrangement.h"

namespace rope {

// Fills in a norm, and refuses what is wrong with it. `name` is "q", "k" or "v". The width of the tensor must be filled
// in.
RopeResult resolveNorm(const char* name, const RopeRotateDescription& d, RopeFusedTensor* tensor, RopeReason* reason);
// True if one dispatch can norm both. `a` comes before `b` in the order Q, K, V.
bool canNormTogether(const FusedTensor& a, const FusedTensor& b);
// Sets the fields of the norms, and binds their weights.
void setNorms(const FusedGroup& group, const ParameterLayout& parameters, const RopeLimits& limits, RopeFusedPush* push,
              PlanPass* pass);

} // namespace rope
