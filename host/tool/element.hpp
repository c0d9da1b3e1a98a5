// Elements by their names, and from doubles.
#pragma once

#include "rope.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

// "f32", "f16" or "bf16"; default for anything else.
RopeElement elementOf(const std::string& name);

// Each value rounded once to the nearest of the element's. Where a value is NaN,
// the bits in `fallback` stand, which has as many elements: what passes through keeps a NaN's payload.
std::vector<uint8_t> roundedOnce(const std::vector<double>& values, RopeElement element,
                                 const std::vector<uint8_t>& fallback);

// The distance from one of the element's values to the next at this magnitude.
double ulpOf(double magnitude, RopeElement element);

} // namespace tool
