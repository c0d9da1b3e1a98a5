// The positions that an option gives: a range, or a file.
#pragma once

#include "program/tool.hpp"
#include <functional>
#include <string>
#include <vector>
#include <vkrope/rope.h>

namespace tool {

struct Positions {
    bool counted = false; // a range: first, first + 1, ...
    int32_t first = 0;
    uint32_t axes = 1;  // 1: the same on every axis
    uint32_t batch = 0; // 0: the same for every sequence
    uint32_t tokens = 0;
    bool whole = true;           // false: values are in units of 2^-32
    std::vector<int64_t> values; // [axes, batch, tokens], unless counted
};

extern const char kPositionsHelp[];

// Reads "first:last" or the file at a path. A range fits int32; int64 beyond it is no position. `axes` and `batch` tell
// what two dimensions mean: [axes, tokens] if the first dimension equals `axes`, else [batch, tokens]; if it equals
// both they are refused. `check` judges the counts of *positions before there is memory for the values.
bool readPositionsOption(const std::string& text, uint32_t axes, uint32_t batch, Positions* positions, Failure* failure,
                         const std::function<bool(Failure*)>& check = nullptr);

// Makes each sequence's positions as long as the sequence: the skipped tokens get places around those that rotate, and
// their values are not read. The given positions may be of all tokens, or of the tokens that rotate.
void padSkippedTokens(uint32_t tokens, uint32_t skip_first, uint32_t skip_last, Positions* positions);

void describePositions(const Positions& from, RopePositions* to);
double lengthOfPositions(const Positions& positions); // the length that they ask a rule for

// Refuses the first position that int32 does not hold, of the tokens from `first` on and below `last`.
bool checkInInt32(const Positions& positions, uint32_t first, uint32_t last, Failure* failure);

} // namespace tool
