// On the CPU, the sums that norms go by.
#pragma once

#include "reference/rotation.h"

namespace rope {

// A factor, a mean, or a sum, as the reference has it and as the shaders have it.
struct Factor {
    double reference;
    float float32;
};

// These return the sum of a head's elements, and of their squares, in the order that rope.h promises.
Factor sumOfElements(const ElementValue* values, uint32_t count);
Factor sumOfSquares(const ElementValue* values, uint32_t count);
Factor meanOf(const Factor& sum, uint32_t count);
// The result is correctly rounded. All mantissas of a float32 were tried: the double's own error reaches the float32
// for none.
float reciprocalRoot(float value);

} // namespace rope
