// Files in .gguf as tests write and read them, and the frequencies that ggml makes of them.
#pragma once

#include "models/gguf/gguf.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gguf {

using rope::GgufRequest;
using rope::ModelEncoding;
using Bytes = std::vector<uint8_t>;

template <typename T> void append(Bytes* bytes, T value) {
    const size_t at = bytes->size();
    bytes->resize(at + sizeof value);
    std::memcpy(&(*bytes)[at], &value, sizeof value);
}

void appendText(Bytes* bytes, const std::string& text);

// Writes a .gguf file. A key gets the architecture's name before it, but for those of general, tokenizer and split.
class File {
  public:
    explicit File(const std::string& architecture) : architecture_(architecture) {
        text("general.architecture", architecture);
    }

    File& key(const std::string& name, uint32_t type) {
        ++keys_count_;
        const bool whole = name.rfind("general.", 0) == 0 || name.rfind("tokenizer.", 0) == 0 || name == "split.no";
        appendText(&keys_, whole ? name : architecture_ + "." + name);
        append(&keys_, type);
        return *this;
    }
    File& text(const std::string& name, const std::string& value) {
        key(name, 8);
        appendText(&keys_, value);
        return *this;
    }
    File& u32(const std::string& name, uint32_t value) { return put(name, 4, value); }
    File& f32(const std::string& name, float value) { return put(name, 6, value); }
    template <typename T> File& put(const std::string& name, uint32_t type, T value) {
        key(name, type);
        append(&keys_, value);
        return *this;
    }
    template <typename T> File& list(const std::string& name, uint32_t type, const std::vector<T>& values) {
        key(name, 9);
        append(&keys_, type);
        append<uint64_t>(&keys_, values.size());
        for (const T& value : values) append(&keys_, value);
        return *this;
    }
    File& texts(const std::string& name, size_t count, const std::string& value) {
        key(name, 9);
        append<uint32_t>(&keys_, 8);
        append<uint64_t>(&keys_, count);
        for (size_t i = 0; i < count; ++i) appendText(&keys_, value);
        return *this;
    }
    File& bytes(const Bytes& more) { // the bytes of the last key's value
        keys_.insert(keys_.end(), more.begin(), more.end());
        return *this;
    }

    File& align(uint32_t alignment) {
        alignment_ = alignment;
        return u32("general.alignment", alignment);
    }
    File& tensor(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type, const Bytes& data) {
        data_.resize((data_.size() + alignment_ - 1) / alignment_ * alignment_);
        ++tensors_count_;
        appendText(&tensors_, name);
        append<uint32_t>(&tensors_, static_cast<uint32_t>(dims.size()));
        for (const uint64_t dim : dims) append(&tensors_, dim);
        append(&tensors_, type);
        append<uint64_t>(&tensors_, data_.size() + misplaced);
        data_.insert(data_.end(), data.begin(), data.end());
        return *this;
    }
    File& factors(const std::string& name, const std::vector<float>& values) {
        Bytes data;
        for (const float value : values) append(&data, value);
        return tensor(name, {values.size()}, 0, data);
    }

    Bytes header() const {
        Bytes all = {'G', 'G', 'U', 'F'};
        append(&all, version);
        append<uint64_t>(&all, tensors_count_ + more_tensors);
        append<uint64_t>(&all, keys_count_ + more_keys);
        all.insert(all.end(), keys_.begin(), keys_.end());
        all.insert(all.end(), tensors_.begin(), tensors_.end());
        return all;
    }
    Bytes whole() const {
        Bytes all = header();
        all.resize((all.size() + alignment_ - 1) / alignment_ * alignment_);
        all.insert(all.end(), data_.begin(), data_.end());
        return all;
    }

    uint32_t version = 3;
    uint64_t more_keys = 0, more_tensors = 0, misplaced = 0;

  private:
    std::string architecture_;
    Bytes keys_, tensors_, data_;
    uint64_t keys_count_ = 0, tensors_count_ = 0;
    uint32_t alignment_ = 32;
};

// A file with the keys that every file has: 4 heads of `head_dim` elements.
File modelOf(const std::string& architecture, uint32_t head_dim);

ModelEncoding read(const Bytes& bytes, const GgufRequest& request = {});
ModelEncoding read(const File& file, const GgufRequest& request = {});
std::string refusal(const Bytes& bytes, const GgufRequest& request = {});
std::string refusal(const File& file, const GgufRequest& request = {});

void expectFrequencies(const ModelEncoding& model, const std::vector<double>& expected);
std::vector<double> defaultFrequencies(double base, uint32_t dim, double factor = 1);
std::vector<double> dividedBy(std::vector<double> frequencies, const std::vector<float>& factors);

// As rope_yarn and ggml_rope_yarn_corr_dims of ggml make them.
std::vector<double> yarnFrequencies(double base, uint32_t dim, double factor, double original, double fast,
                                    double slow);

std::vector<float> someFactors(size_t count, float first);

} // namespace gguf
