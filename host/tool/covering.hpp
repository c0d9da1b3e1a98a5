// Cases as choices, and how few of them bring the same choices together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tool {

// For each axis its choice, or kNone where the axis does not apply.
using Choices = std::vector<uint8_t>;
constexpr uint8_t kNone = 255;

// Numbers whose remainders run through all combinations in no simple order.
uint64_t scrambled(uint64_t index);

// A few of the cases, in their order. Every `together` choices (1 to 3) of different axes that meet in any case meet in
// one of these.
std::vector<Choices> fewOf(const std::vector<Choices>& all, uint32_t together);
// The same by the cases' numbers.
std::vector<size_t> fewNumbersOf(const std::vector<Choices>& all, uint32_t together);

} // namespace tool
