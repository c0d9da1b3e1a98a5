// The files that options name: which they may be, and how they are written.
#pragma once

#include "program/files/array.hpp"
#include "program/tool.hpp"

#include <string>
#include <vector>

namespace tool {

// An option that names a file.
struct PathOption {
    std::string option;
    std::string path;        // empty: not given
    std::string may_replace; // for an output: the input that it is made from
};

// Checks paths before anything is computed: an output may replace its own input and nothing else that is read or
// written.
bool checkPaths(const std::vector<PathOption>& inputs, const std::vector<PathOption>& outputs, Failure* failure);

struct OutputArray {
    PathOption file;
    rope::NpyArray array;
};
// Writes one file after the other, each as a whole.
bool writeArrays(const std::vector<OutputArray>& outputs, Failure* failure);

} // namespace tool
