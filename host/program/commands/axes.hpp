// The axis of each pair, as options give it.
#pragma once

#include "program/tool.hpp"
#include <string>
#include <vector>

namespace tool {

// The axis of each pair. Without a list all pairs have one axis.
struct PairAxes {
    uint32_t count = 1; // rows of positions; the last may turn no pair
    std::vector<uint8_t> of_pair;
};

struct AxesOptions {
    std::string sections, axes;
};
void addAxesOptions(CLI::App* app, AxesOptions* options);
bool areAxesGiven(const AxesOptions& options);

// Leaves *axes unchanged where no option is given.
bool readAxes(const AxesOptions& options, uint32_t pairs, PairAxes* axes, Failure* failure);

} // namespace tool
