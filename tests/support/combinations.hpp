// Choices that tests bring together. A whole run (VKROPE_TEST_WHOLE=1) takes every combination of them. A short run
// takes a few, in which all choices still meet by threes or by twos.
#pragma once

#include "tool/covering.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace combinations {

using tool::Choices;

bool whole();

// A choice of a draw as a small number; none where it means nothing in that draw.
inline uint8_t choiceIf(bool meant, uint64_t choice) { return meant ? static_cast<uint8_t>(choice) : tool::kNone; }

// Combinations of one choice from each axis; counts[i] is how many choices axis i has. Those that `exist` denies are
// left out. In a short run every `together` choices (1 to 3) of different axes meet in one that is taken.
std::vector<Choices> of(const std::vector<size_t>& counts, uint32_t together,
                        const std::function<bool(const Choices&)>& exist = nullptr);

// Draws by their numbers: all from 0 to count - 1, in a short run those in which every `together` choices meet that
// meet in any.
std::vector<uint64_t> draws(uint64_t count, uint32_t together, const std::function<Choices(uint64_t)>& choices_of);

} // namespace combinations
