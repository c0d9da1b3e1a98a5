// The arrays that options name: which files they may be, how they are read as tensors or as rows of cos and sin, and
// how they are written.
#pragma once

#include "program/files/npy.hpp"
#include "program/tool.hpp"

#include <vkrope/rope.h>

#include <functional>
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

// Returns how a refusal ends if the path names a file of several arrays, which the Python package takes; else nothing.
std::string whyNoNpy(const std::string& path);

// Judges an array by its type and shape, before there is memory for its data.
using ArrayCheck = std::function<bool(const rope::NpyArray& header, Failure* failure)>;

// Reads the .npy that an option names, if the check finds nothing.
bool readArrayFile(const std::string& option, const std::string& path, const ArrayCheck& check, rope::NpyArray* array,
                   Failure* failure);

// Returns a text like "[2, 5, 64]".
std::string shapeText(const rope::NpyArray& array);

// Refuses arrays that would not fit into this machine's memory.
bool fitsMemory(const std::string& what, double bytes, Failure* failure);

extern const char kElementHelp[];

struct Tensor {
    rope::NpyArray array;
    RopeElement element = ROPE_ELEMENT_DEFAULT;
    uint32_t batch = 0, tokens = 0, heads = 0, head_dim = 0;
    RopeLayout layout = {};
};

// `order` names the axes by their letters, as --order does: "bshd", "bhsd", "shd", "hsd". Without it, and with one of
// four letters where the rank is 3, that is [batch, seq, dim] of one head. `element` is what --element says, default
// where the option is not given.
bool readTensorFile(const std::string& option, const std::string& path, const std::string& order, RopeElement element,
                    Tensor* tensor, Failure* failure);

rope::NpyArray::Type typeOf(RopeElement element);

} // namespace tool
