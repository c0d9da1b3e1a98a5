// The files that options name: which they may be, and how they are written, all of them or none.
#pragma once

#include "program/files/safetensors.hpp"
#include "program/tool.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

// An option that names a file.
struct PathOption {
    std::string option;
    std::string path;                                           // empty: not given
    std::string may_replace;                                    // for an output: the input that it is made from
    enum class Holds { arrays, drawing } holds = Holds::arrays; // for an output
    // For an output: the array's name in the file, where `path` is the file's alone. Without it, `path` may be
    // FILE:NAME. Empty: the name is not known yet.
    std::optional<std::string> name = std::nullopt;
};

// Checks paths before anything is computed: an output may replace its own input and nothing else that is read or
// written. It also does what checkNothingLost does.
bool checkPaths(const std::vector<PathOption>& inputs, const std::vector<PathOption>& outputs, Failure* failure);

// Refuses a .safetensors that is there already and holds tensors besides those that are written: they would be lost.
bool checkNothingLost(const std::vector<PathOption>& outputs, Failure* failure);

struct OutputFile {
    PathOption file;
    decltype(rope::FileToWrite::write) write;
};
bool writeFiles(const std::vector<OutputFile>& outputs, Failure* failure);

struct OutputArray {
    PathOption file;
    rope::NpyArray array;
};
// Outputs that name one .safetensors share it, with the metadata.
bool writeArrays(const std::vector<OutputArray>& outputs, Failure* failure,
                 const rope::SafetensorsMetadata& metadata = {});

bool writeText(const PathOption& file, const std::string& text, Failure* failure);

} // namespace tool
