// Covering arrays: a few of all combinations of choices, in which every t choices that occur together anywhere still
// occur together. t is the strength.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tool {

// A case as one choice for each option, or kNoChoice where the option does not apply.
using Choices = std::vector<uint8_t>;
constexpr uint8_t kNoChoice = 255;

// Scrambles an index, so that remainders run through all combinations in no simple order.
uint64_t scrambled(uint64_t index);

// Selects a few of the cases, in their order. Every `strength` choices (1 to 4) of different options that occur
// together in any case occur together in a selected one.
std::vector<Choices> coveringArray(const std::vector<Choices>& all, uint32_t strength);
// Returns such a selection as indices of the cases. It ends where each case that is left would bring fewer than
// `fewest` new groups of choices together; with 1 it is the same selection.
std::vector<size_t> coveringIndices(const std::vector<Choices>& all, uint32_t strength, size_t fewest = 1);

std::vector<Choices> casesAt(const std::vector<Choices>& all, const std::vector<size_t>& indices);

} // namespace tool
