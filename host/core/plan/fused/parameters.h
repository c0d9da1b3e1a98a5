// PARAMETERS, which has the numbers of norms and scales.
#pragma once

#include "plan/fused/resolve.h"

namespace rope {

// ParameterLayout has the element of PARAMETERS at which each part begins. The parts are the weights of Q, the weights
// of K, those of V, the values of the scale of queries, and the given scales of K and of V, each padded to four
// elements. Biases of a norm follow its weights.
struct ParameterLayout {
    uint32_t q_weights, k_weights, v_weights, values, k_scales, v_scales, end;
};
ParameterLayout parameterLayout(const ResolvedFused& fused);

} // namespace rope
