// PARAMETERS, which has the numbers of norms and scales.
#pragma once

#include "plan/fused/resolve.h"

namespace rope {

// ParameterLayout has the element of PARAMETERS at which each part begins. The values of the scale of queries come
// first. The weights of Q's, K's and V's norm and the given scales of K and V follow, each padded to four elements.
// Biases of a norm follow its weights.
struct ParameterLayout {
    uint32_t weights[3], scales[2], end;
};
ParameterLayout parameterLayout(const ResolvedFused& fused);

} // namespace rope
