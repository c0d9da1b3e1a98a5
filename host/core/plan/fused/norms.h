// The norms of fused passes.
#pragma once

#include "plan/fused/dispatch.h"
#include "plan/fused/parameters.h"

namespace rope {

// Fills in a norm, and refuses what is wrong with it. `name` is "q", "k" or "v". The width of the tensor must be filled
// in.
RopeResult resolveNorm(const char* name, const RopeRotateDescription& d, const RopeTensor& tensor, RopeNorm* norm,
                       RopeReason* reason);
// True if one dispatch can norm both. `a` comes before `b` in the order Q, K, V.
bool canNormTogether(const FusedTensor& a, const FusedTensor& b);
// Returns the quads of the widest part of a head that a norm takes; 0 without norms.
uint32_t normQuads(const FusedDispatch& dispatch);
// Sets the constants of the norms.
void setNorms(const FusedDispatch& dispatch, const ParameterLayout& parameters, RopePass* pass);

} // namespace rope
