// Arrays to files: all of them or none.
#pragma once

#include "tool/npy.hpp"
#include "tool/tool.hpp"

#include <string>
#include <vector>

namespace tool {

struct File {
    std::string option;
    std::string path;        // empty: not given
    std::string may_replace; // of an output: the input that it is made from
};

// Before anything is computed: an output may replace its own input and nothing else that is read or written.
bool checkPaths(const std::vector<File>& inputs, const std::vector<File>& outputs, Failure* failure);

struct Output {
    File file;
    rope::NpyArray array;
};
bool writeAll(const std::vector<Output>& outputs, Failure* failure);

bool writeText(const File& file, const std::string& text, Failure* failure);

} // namespace tool
