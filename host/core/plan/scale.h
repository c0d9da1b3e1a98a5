// The scale is the factor on cos and sin.
#pragma once

#include "rules/refuse.h"

namespace rope {

// Accepts a factor on embeddings or scores: 0, which means 1, and 2^-20 to 2^20.
RopeResult checkFactor(float factor, RopeReason* reason);
// Returns the factor that an operation asks for.
double operationScale(RopeOperation operation, double scale);

// A scale as the shaders take it.
struct SplitScale {
    uint32_t mantissa; // |scale| = mantissa * 2^(exponent - 31)
    int32_t exponent;  // 256 more if the scale is negative
};
SplitScale splitScale(double scale);
// Returns the grid by which a rotation takes the leading parts of cos and sin of that factor, or 0.
uint32_t scaleGrid(const RopeRotateDescription& d);

} // namespace rope
