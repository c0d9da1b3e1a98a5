// Writes arrays to files: all of them or none.
#pragma once

#include "tool/npy.hpp"
#include "tool/tool.hpp"

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
bool writeArrays(const std::vector<OutputArray>& outputs, Failure* failure);

bool writeText(const PathOption& file, const std::string& text, Failure* failure);

} // namespace tool
