// Elements and pairings: their names, as options and reports have them, and rounding of doubles to elements.
#pragma once

#include <vkrope/rope.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

// The names of the elements that tensors and rows may have: "f32", "f16" and so on. `suffix` follows each.
std::vector<std::string> elementNames(const std::string& suffix = "");
std::vector<std::string> pairingNames(const std::string& suffix = "");

// The default where the name is of none.
RopeElement elementOf(const std::string& name);
RopePairing pairingOf(const std::string& name);

const char* elementName(RopeElement element); // of the default, float32's
const char* pairingName(RopePairing pairing); // of the default, "unknown"

// Rounds each value once to the nearest of the element's. A NaN is replaced by the bits at its place in `fallback`,
// which has equally many elements: a value that passes through keeps its NaN's payload.
std::vector<uint8_t> roundedOnce(const std::vector<double>& values, RopeElement element,
                                 const std::vector<uint8_t>& fallback);

// Returns the distance from one of the element's values to the next at this magnitude.
double ulpOf(double magnitude, RopeElement element);

} // namespace tool
