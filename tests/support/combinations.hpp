// Combinations of choices for tests. A whole run (VKROPE_TEST_WHOLE=1) takes every combination. A short run takes a
// covering array: a few combinations, in which every two choices still occur together, and nearly every three.
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
// `exist` denies are left out. In a short run every two choices of different options occur together in one that is
// taken, and with a `strength` of 3 about nine in ten of every three.
std::vector<Choices> of(const std::vector<size_t>& counts, uint32_t strength,
                        const std::function<bool(const Choices&)>& exist = nullptr);

// Returns numbers of draws: all from 0 to count - 1. A short run takes draws until each that is left would bring fewer
// than `fewest` new pairs of choices together; with 1 it has every pair that meets in any draw. With a `strength` of 1
// it takes a few of these draws, in which every choice occurs.
std::vector<uint64_t> draws(uint64_t count, uint32_t strength, const std::function<Choices(uint64_t)>& choices_of,
                            size_t fewest = 1);

} // namespace combinations
