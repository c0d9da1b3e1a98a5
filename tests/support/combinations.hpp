// Combinations of choices for tests. A whole run (VKROPE_TEST_WHOLE=1) takes every combination. A short run takes a
// covering array: a few combinations, in which every three or every two choices still occur together.
#pragma once

#include "tool/covering.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace combinations {

using tool::Choices;

bool whole();

// Returns a choice of a draw as a small number, or none where the choice means nothing in that draw.
inline uint8_t choiceIf(bool meant, uint64_t choice) { return meant ? static_cast<uint8_t>(choice) : tool::kNoChoice; }

// Returns combinations of one choice for each option; counts[i] is the number of choices of option i. Combinations that
// `exist` denies are left out. In a short run every `strength` choices (1 to 3) of different options occur together in
// one that is taken.
std::vector<Choices> of(const std::vector<size_t>& counts, uint32_t strength,
                        const std::function<bool(const Choices&)>& exist = nullptr);

// Returns numbers of draws: all from 0 to count - 1, in a short run those in which every `strength` choices occur
// together that do so in any draw.
std::vector<uint64_t> draws(uint64_t count, uint32_t strength, const std::function<Choices(uint64_t)>& choices_of);

} // namespace combinations
