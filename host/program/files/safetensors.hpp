// Reads and writes .safetensors files: 8 bytes with the length of a header in JSON, the header, the data. No exception
// leaves these functions; they return false and one sentence instead.
#pragma once

#include "program/files/array.hpp"
#include "program/files/input_file.hpp"
#include "program/files/replace_files.hpp"

#include <map>
#include <string>
#include <vector>

namespace rope {

// The format's own limit.
constexpr uint64_t kSafetensorsMaxHeaderBytes = 100000000;
// No checkpoint comes near it.
constexpr size_t kSafetensorsMaxTensors = 1 << 20;

struct SafetensorsEntry {
    std::string name;
    NpyArray::Type type = NpyArray::Type::f32;
    std::vector<uint64_t> shape;
    uint64_t begin = 0, end = 0; // bytes from the data's beginning
};

using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
    std::vector<SafetensorsEntry> tensors; // in the order of their data
    SafetensorsMetadata metadata;
};

// Reads the header's text. The tensors must fill `data_bytes` without gaps and overlaps.
bool parseSafetensorsHeader(const uint8_t* text, size_t size, uint64_t data_bytes, SafetensorsHeader* header,
                            std::string* error);

// A file whose header is read; the tensors are read one by one. The sentences begin with the path.
class SafetensorsFile {
  public:
    bool open(const std::string& path, std::string* error);
    bool read(const SafetensorsEntry& entry, NpyArray* array, std::string* error);
    const SafetensorsHeader& header() const { return header_; }

  private:
    std::string path_;
    InputFile file_;
    SafetensorsHeader header_;
    uint64_t data_offset_ = 0;
};

// Returns why no tensor can have the name, else nothing.
std::string whyNoTensorName(const std::string& name);

struct NamedArray {
    std::string name;
    const NpyArray* array = nullptr;
};

// Writes the tensors as the format's own library does, those of the largest elements first. The names must differ, and
// the arrays must outlive what is returned.
FileToWrite safetensorsToWrite(const std::string& path, std::vector<NamedArray> tensors,
                               const SafetensorsMetadata& metadata);

} // namespace rope
