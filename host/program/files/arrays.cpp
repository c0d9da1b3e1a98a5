#include "program/files/arrays.hpp"
#include "program/files/new_file.hpp"
#include "program/files/npy.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace tool {
namespace {

namespace fs = std::filesystem;
using Type = rope::NpyArray::Type;

constexpr uint64_t kMaxCount = 1u << 30;

double memoryBytes() {
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
    return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
#else
    return 16.0 * (1 << 30);
#endif
}

// Finds the element that an array's type and --element agree on.
bool findElement(const std::string& where, Type type, RopeElement asked, RopeElement* element, Failure* failure) {
    const struct {
        Type type;
        RopeElement element;
        const char* taken;
    } kElements[] = {{Type::f32, ROPE_ELEMENT_F32, "f32 takes float32"},
                     {Type::f16, ROPE_ELEMENT_F16, "f16 takes float16"},
                     {Type::u16, ROPE_ELEMENT_BF16, "bf16 takes bfloat16, which is uint16 in an .npy"}};
    const std::string holds = where + " holds " + rope::npyTypeName(type);
    *element = ROPE_ELEMENT_DEFAULT;
    for (const auto& row : kElements) {
        if (row.type == type) *element = row.element;
    }
    if (*element == ROPE_ELEMENT_DEFAULT)
        return refuse(failure, holds + "; it must be float32, float16 or bfloat16, which is uint16 in an .npy");
    if (type == Type::u16 && asked == ROPE_ELEMENT_DEFAULT)
        return refuse(failure, holds + "; if these are the bits of bfloat16, say --element bf16");
    for (const auto& row : kElements) {
        if (row.element == asked && asked != *element) return refuse(failure, holds + ", but --element " + row.taken);
    }
    return true;
}

// An axis of a tensor, and what lies from one of its entries to the next.
struct TensorAxis {
    uint32_t count = 1;
    uint64_t stride = 0;
};

TensorAxis axisOf(const std::vector<uint64_t>& shape, const std::string& order, char letter) {
    TensorAxis axis;
    const size_t at = std::min(order.find(letter), shape.size());
    if (at < shape.size()) axis.count = static_cast<uint32_t>(shape[at]);
    axis.stride = 1;
    for (size_t i = at < shape.size() ? at + 1 : 0; i < shape.size(); ++i) axis.stride *= shape[i];
    return axis;
}

bool takeTensorShape(const std::string& where, const std::string& asked, const rope::NpyArray& array, Tensor* tensor,
                     Failure* failure) {
    const std::vector<uint64_t>& shape = array.shape;
    const bool one_head = shape.size() == 3 && asked.size() != 3;
    const std::string order = one_head ? "bsd" : asked.empty() ? "bshd" : asked;
    if (shape.size() != order.size()) {
        return refuse(failure, where + " has the shape " + shapeText(array) +
                                   (asked.size() == 3 ? "; --order " + asked + " is of rank 3"
                                                      : std::string("; it must have rank 4, or rank 3: [batch, seq, "
                                                                    "dim], or what --order shd or hsd says")));
    }
    for (const uint64_t count : shape) {
        if (count == 0 || count > kMaxCount)
            return refuse(failure, where + " has the shape " + shapeText(array) + "; each must be from 1 to 2^30");
    }
    const TensorAxis batch = axisOf(shape, order, 'b'), tokens = axisOf(shape, order, 's');
    const TensorAxis heads = axisOf(shape, order, 'h'), dim = axisOf(shape, order, 'd');
    tensor->batch = batch.count;
    tensor->tokens = tokens.count;
    tensor->heads = heads.count;
    tensor->head_dim = dim.count;
    tensor->layout = {0, batch.stride, tokens.stride, heads.stride};
    return true;
}

} // namespace

std::string whyNoNpy(const std::string& path) {
    const std::string file = std::filesystem::path(path).filename().string() + ":";
    for (const char* ending : {".npz:", ".safetensors:", ".safetensors.index.json:"}) {
        if (file.find(ending) != file.npos)
            return "arrays are .npy files here, and python -m vkrope takes .npz and .safetensors";
    }
    return "";
}

bool readArrayFile(const std::string& option, const std::string& path, const ArrayCheck& check, rope::NpyArray* array,
                   Failure* failure) {
    const std::string other = whyNoNpy(path);
    if (!other.empty()) return refuse(failure, option + " is " + path + "; " + other);
    std::string error;
    const auto judge = [&](const rope::NpyArray& header) { return check(header, failure); };
    return rope::readNpy(path, array, &error, judge) || (!error.empty() && refuse(failure, option + ": " + error));
}

std::string shapeText(const rope::NpyArray& array) {
    std::string text;
    for (const uint64_t count : array.shape) text += (text.empty() ? "" : ", ") + std::to_string(count);
    return "[" + text + "]";
}

const char kElementHelp[] =
    "what the arrays hold: f32, f16 or bf16, which is uint16 in an .npy and must be said; without it what they say";

bool fitsMemory(const std::string& what, double bytes, Failure* failure) {
    if (bytes <= memoryBytes()) return true;
    return refuse(failure, what + " takes " + std::to_string(static_cast<uint64_t>(bytes / (1 << 30))) +
                               " GiB, more than this machine has");
}

Type typeOf(RopeElement element) {
    return element == ROPE_ELEMENT_F16 ? Type::f16 : element == ROPE_ELEMENT_BF16 ? Type::u16 : Type::f32;
}

bool readTensorFile(const std::string& option, const std::string& path, const std::string& order, RopeElement element,
                    Tensor* tensor, Failure* failure) {
    const std::string where = option + ": " + path;
    const auto check = [&](const rope::NpyArray& header, Failure* why) {
        return findElement(where, header.type, element, &tensor->element, why) &&
               takeTensorShape(where, order, header, tensor, why);
    };
    return readArrayFile(option, path, check, &tensor->array, failure);
}

// ---- Outputs

namespace {

bool isSameFile(const std::string& a, const std::string& b) {
    std::error_code ignored;
    if (fs::equivalent(a, b, ignored)) return true;
    const fs::path left = fs::weakly_canonical(fs::absolute(rope::resolveLinks(a), ignored), ignored);
    const fs::path right = fs::weakly_canonical(fs::absolute(rope::resolveLinks(b), ignored), ignored);
    return !left.empty() && left == right;
}

// A file's ending must not promise another format than it gets.
bool checkEnding(const PathOption& output, Failure* failure) {
    const std::string& path = output.path;
    const std::string other = whyNoNpy(path);
    if (!other.empty()) return refuse(failure, output.option + " is " + path + "; " + other);
    for (const std::string ending : {".json", ".txt", ".csv", ".bin", ".pt", ".pth", ".gguf", ".onnx", ".h5", ".png",
                                     ".jpg", ".pdf", ".html", ".svg"}) {
        if (path.size() >= ending.size() && path.compare(path.size() - ending.size(), ending.npos, ending) == 0)
            return refuse(failure, output.option + " is " + path + "; arrays are written to .npy");
    }
    return path != "-" ||
           refuse(failure, output.option + " is -, and nothing is written to standard output; arrays are "
                                           "written to .npy");
}

// A rename onto a device or a pipe would replace it, so only regular files are outputs.
bool checkOutput(const PathOption& output, Failure* failure) {
    std::error_code ignored;
    const std::string is = output.option + " is " + output.path;
    const fs::file_status status = fs::status(output.path, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status))
        return refuse(failure, is + ", which is no file; outputs are files");
    if (!checkEnding(output, failure)) return false;
    const std::string target = rope::resolveLinks(output.path);
    if (target.empty()) return refuse(failure, is + ", a link that leads to no file; outputs are files");
    const fs::path folder = fs::path(target).parent_path();
    return folder.empty() || fs::is_directory(folder, ignored) ||
           refuse(failure, is + ", but there is no folder " + folder.string());
}

} // namespace

bool checkPaths(const std::vector<PathOption>& inputs, const std::vector<PathOption>& outputs, Failure* failure) {
    for (size_t i = 0; i < outputs.size(); ++i) {
        const PathOption& output = outputs[i];
        if (!checkOutput(output, failure)) return false;
        for (const PathOption& input : inputs) {
            if (input.path.empty() || input.path == output.may_replace || !isSameFile(output.path, input.path))
                continue;
            return refuse(failure, output.option + " would overwrite " + output.path + ", which " + input.option +
                                       " reads; give it a path of its own");
        }
        for (size_t other = 0; other < i; ++other) {
            if (isSameFile(output.path, outputs[other].path))
                return refuse(failure, output.option + " and " + outputs[other].option + " are the same file, " +
                                           output.path + "; give each a path of its own");
        }
    }
    return true;
}

bool writeArrays(const std::vector<OutputArray>& outputs, Failure* failure) {
    for (const OutputArray& output : outputs) {
        std::string error;
        if (!rope::writeNpy(output.file.path, output.array, &error))
            return refuse(failure, output.file.option + ": " + error);
    }
    return true;
}

} // namespace tool
