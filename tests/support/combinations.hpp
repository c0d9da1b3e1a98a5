// Combinations of choices for tests. A short run takes a covering array: a few combinations, in which every two choices
// still occur together, and most groups of three. A whole run (VKROPE_TEST_WHOLE=1) takes every combination or, of more
// than 5000, a covering array in which every four choices occur together.
#pragma once

#include "program/check/covering.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace combinations {

using tool::Choices;

bool whole();

// Returns a choice of a draw as a small number, or none where the choice means nothing in that draw.
inline uint8_t choiceIf(bool meant, uint64_t choice) { return meant ? static_cast<uint8_t>(choice) : tool::kNoChoice; }

// Returns those of all combinations that a whole run takes.
std::vector<Choices> ofWholeRun(const std::vector<Choices>& all);

// Returns combinations of one choice for each option; counts[i] is the number of choices of option i. Combinations that
// `exist` denies are left out. In a short run every two choices of different options occur together in one that is
// taken. With a `strength` of 3 so do about 90 % of all groups of three. With a `strength` of 2 the combinations are
// some of those.
std::vector<Choices> of(const std::vector<size_t>& counts, uint32_t strength,
                        const std::function<bool(const Choices&)>& exist = nullptr);

// Returns numbers of draws: all from 0 to count - 1. A short run takes draws until each that is left would bring fewer
// than `fewest` new pairs of choices together; with 1 it has every pair that meets in any draw. With a `strength` of 1
// it takes a few of the draws that it would take with 2, and every choice of those occurs.
std::vector<uint64_t> draws(uint64_t count, uint32_t strength, const std::function<Choices(uint64_t)>& choices_of,
                            size_t fewest = 1);

} // namespace combinations
