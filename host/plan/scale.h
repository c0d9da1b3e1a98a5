// The factor on cos and sin.
#pragma once

#include "rope.h"

namespace rope {

// The factor that an operation asks for.
double operationScale(RopeOperation operation, double scale);

struct SplitScale {
    uint32_t mantissa; // scale = mantissa * 2^(exponent - 31)
    int32_t exponent;
};
SplitScale splitScale(double scale);
// The grid by which a rotation takes the leading parts of cos and sin of that factor, or 0.
uint32_t scaleGrid(const RopeRotateDescription& d);

} // namespace rope
