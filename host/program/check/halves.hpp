// The part of `vkrope check` that takes every float16 and every float32 through the device's own conversions.
#pragma once

#include <vkrope/device.hpp>

namespace tool {

// Each of the two adds to *wrong the conversions whose results are not the library's, and returns false with *error
// where they could not be carried out. A number is converted twice, in the low and in the high half of a word.
bool widenEveryHalf(rope::Device* device, uint64_t* wrong, std::string* error);

constexpr uint32_t kFloatParts = 64;
bool narrowFloats(rope::Device* device, uint32_t part, uint64_t* wrong, std::string* error); // 2^26 of them

} // namespace tool
