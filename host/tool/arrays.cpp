// This file reads the arrays that options name: Q and K, embeddings, learned tables, given cos and sin.
#include "tool/input.hpp"

#include <algorithm>
#include <cstring>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace tool {
namespace {

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
    const std::string holds = where + " holds " + rope::npyTypeName(type);
    switch (type) {
    case Type::f32:
        *element = ROPE_ELEMENT_F32;
        break;
    case Type::f16:
        *element = ROPE_ELEMENT_F16;
        break;
    case Type::u16:
        if (asked == ROPE_ELEMENT_DEFAULT)
            return refuse(failure, holds + "; if these are the bits of bfloat16, say --element bf16");
        *element = ROPE_ELEMENT_BF16;
        break;
    default:
        return refuse(failure, holds + "; it must be float32, float16, or bfloat16 as uint16");
    }
    if (asked != ROPE_ELEMENT_DEFAULT && asked != *element) {
        const char* wanted = asked == ROPE_ELEMENT_F32   ? "f32 takes float32"
                             : asked == ROPE_ELEMENT_F16 ? "f16 takes float16"
                                                         : "bf16 takes uint16, in which bfloat16 travels";
        return refuse(failure, holds + ", but --element " + wanted);
    }
    return true;
}

bool takeTensorShape(const std::string& where, bool heads_first, Tensor* tensor, Failure* failure) {
    const std::vector<uint64_t>& shape = tensor->array.shape;
    if (shape.size() != 3 && shape.size() != 4) {
        return refuse(failure, where + " has the shape " + shapeText(tensor->array) +
                                   "; it must have rank 4, or rank 3 [batch, seq, dim] for one head");
    }
    for (const uint64_t count : shape) {
        if (count == 0 || count > kMaxCount)
            return refuse(failure,
                          where + " has the shape " + shapeText(tensor->array) + "; each must be from 1 to 2^30");
    }
    const bool one_head = shape.size() == 3;
    tensor->batch = static_cast<uint32_t>(shape[0]);
    tensor->head_dim = static_cast<uint32_t>(shape.back());
    tensor->tokens = static_cast<uint32_t>(one_head || !heads_first ? shape[1] : shape[2]);
    tensor->heads = one_head ? 1 : static_cast<uint32_t>(heads_first ? shape[1] : shape[2]);
    const uint64_t dim = tensor->head_dim, tokens = tensor->tokens, heads = tensor->heads;
    tensor->layout = {0, tokens * heads * dim, heads_first ? dim : heads * dim, heads_first ? tokens * dim : dim};
    return true;
}

// Returns all elements as float32, which holds each of them exactly.
std::vector<float> asFloat32(const rope::NpyArray& array, RopeElement element) {
    std::vector<float> values(static_cast<size_t>(array.count()));
    ropeConvertElements(array.data.data(), element, values.data(), ROPE_ELEMENT_F32, values.size());
    return values;
}

bool checkCosAndSin(const std::string& path, const rope::NpyArray& cosines, const rope::NpyArray& sines,
                    Failure* failure) {
    const size_t rank = cosines.shape.size();
    if (rank != 2 && rank != 3) {
        return refuse(failure,
                      "--cos: " + path + " has the shape " + shapeText(cosines) +
                          "; it must be [max positions, pairs], or [batch, tokens, pairs] for a row per token");
    }
    if (cosines.shape != sines.shape || cosines.type != sines.type) {
        return refuse(failure, std::string("--cos is ") + rope::npyTypeName(cosines.type) + " " + shapeText(cosines) +
                                   " and --sin is " + rope::npyTypeName(sines.type) + " " + shapeText(sines) +
                                   "; they must be alike");
    }
    for (const uint64_t count : cosines.shape) {
        if (count == 0 || count > kMaxCount)
            return refuse(failure, "--cos has the shape " + shapeText(cosines) + "; each must be from 1 to 2^30");
    }
    if (cosines.shape.back() > ROPE_MAX_PAIRS) {
        return refuse(failure, "--cos has " + std::to_string(cosines.shape.back()) + " pairs; at most " +
                                   std::to_string(ROPE_MAX_PAIRS) + " are possible");
    }
    return true;
}

} // namespace

bool readArrayFile(const std::string& option, const std::string& path, rope::NpyArray* array, Failure* failure) {
    std::string error;
    return rope::readNpy(path, array, &error) || refuse(failure, option + ": " + error);
}

std::string shapeText(const rope::NpyArray& array) {
    std::string text;
    for (const uint64_t count : array.shape) text += (text.empty() ? "" : ", ") + std::to_string(count);
    return "[" + text + "]";
}

bool fitsMemory(const std::string& what, double bytes, Failure* failure) {
    if (bytes <= memoryBytes()) return true;
    return refuse(failure, what + " takes " + std::to_string(static_cast<uint64_t>(bytes / (1 << 30))) +
                               " GiB, more than this machine has");
}

Type typeOf(RopeElement element) {
    return element == ROPE_ELEMENT_F16 ? Type::f16 : element == ROPE_ELEMENT_BF16 ? Type::u16 : Type::f32;
}

bool readTensorFile(const std::string& option, const std::string& path, bool heads_first, RopeElement element,
                    Tensor* tensor, Failure* failure) {
    const std::string where = option + ": " + path;
    return readArrayFile(option, path, &tensor->array, failure) &&
           findElement(where, tensor->array.type, element, &tensor->element, failure) &&
           takeTensorShape(where, heads_first, tensor, failure);
}

bool readEmbeddings(const std::string& option, const std::string& path, RopeElement element, Tensor* tensor,
                    Failure* failure) {
    const std::string where = option + ": " + path;
    if (!readArrayFile(option, path, &tensor->array, failure) ||
        !findElement(where, tensor->array.type, element, &tensor->element, failure))
        return false;
    std::vector<uint64_t> shape = tensor->array.shape;
    if (shape.size() == 2) shape.insert(shape.begin(), 1);
    const bool counts = shape.size() == 3 && *std::min_element(shape.begin(), shape.end()) > 0 &&
                        *std::max_element(shape.begin(), shape.end()) <= kMaxCount;
    if (!counts) {
        return refuse(failure, where + " has the shape " + shapeText(tensor->array) +
                                   "; it must be [batch, tokens, dim] or [tokens, dim], each from 1 to 2^30");
    }
    tensor->batch = static_cast<uint32_t>(shape[0]);
    tensor->tokens = static_cast<uint32_t>(shape[1]);
    tensor->heads = 1;
    tensor->head_dim = static_cast<uint32_t>(shape[2]);
    return true;
}

bool readTable(const std::string& option, const std::string& path, const std::string& shape, RopeElement element,
               GivenTable* table, Failure* failure) {
    rope::NpyArray& array = table->array;
    if (!readArrayFile(option, path, &array, failure)) return false;
    const std::string where = option + ": " + path;
    const RopeElement asked = array.type == Type::u16 ? element : ROPE_ELEMENT_DEFAULT;
    if (!findElement(where, array.type, asked, &table->element, failure)) return false;
    if (array.shape.size() != 2 || array.count() == 0 || array.shape[0] > kMaxCount || array.shape[1] > kMaxCount) {
        return refuse(failure,
                      where + " has the shape " + shapeText(array) + "; it must be " + shape + ", each from 1 to 2^30");
    }
    table->rows = static_cast<uint32_t>(array.shape[0]);
    table->columns = static_cast<uint32_t>(array.shape[1]);
    return true;
}

bool readRows(const std::string& cos_path, const std::string& sin_path, RopeElement element, GivenRows* rows,
              Failure* failure) {
    rope::NpyArray arrays[2];
    if (!readArrayFile("--cos", cos_path, &arrays[0], failure) ||
        !readArrayFile("--sin", sin_path, &arrays[1], failure) ||
        !checkCosAndSin(cos_path, arrays[0], arrays[1], failure))
        return false;
    RopeElement found = ROPE_ELEMENT_DEFAULT;
    const RopeElement asked = arrays[0].type == Type::u16 ? element : ROPE_ELEMENT_DEFAULT;
    if (!findElement("--cos: " + cos_path, arrays[0].type, asked, &found, failure)) return false;
    const std::vector<uint64_t>& shape = arrays[0].shape;
    rows->batch = shape.size() == 3 ? static_cast<uint32_t>(shape[0]) : 0;
    rows->count = static_cast<uint32_t>(shape[shape.size() - 2]);
    rows->pairs = static_cast<uint32_t>(shape.back());
    const std::vector<float> cosines = asFloat32(arrays[0], found), sines = asFloat32(arrays[1], found);
    rows->values.resize(2 * cosines.size());
    for (size_t at = 0; at < cosines.size(); at += rows->pairs) {
        std::memcpy(&rows->values[2 * at], &cosines[at], rows->pairs * sizeof(float));
        std::memcpy(&rows->values[2 * at + rows->pairs], &sines[at], rows->pairs * sizeof(float));
    }
    return true;
}

} // namespace tool
