// Rounding of doubles to elements.
#pragma once

#include <vkrope/rope.h>

#include <cstdint>
#include <vector>

namespace tool {

// Rounds each value once to the nearest of the element's. A NaN is replaced by the bits at its place in `fallback`,
// which has as many elements: a value that passes through keeps its NaN's payload.
std::vector<uint8_t> roundedOnce(const std::vector<double>& values, RopeElement element,
                                 const std::vector<uint8_t>& fallback);

// Returns the distance from one of the element's values to the next at this magnitude.
double ulpOf(double magnitude, RopeElement element);

} // namespace tool
