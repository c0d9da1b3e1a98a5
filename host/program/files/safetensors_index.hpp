// Reads the list of a checkpoint in several .safetensors files: model.safetensors.index.json.
#pragma once

#include "program/files/safetensors.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rope {

// The sentences begin with the path of the list, or of the file that it names.
class SafetensorsIndex {
  public:
    bool open(const std::string& path, std::string* error);
    bool readHeader(size_t index, NpyArray* array, std::string* error); // all but the data
    bool read(size_t index, NpyArray* array, std::string* error);
    // The tensors in the order of their names, each with the file that holds it.
    const std::vector<std::pair<std::string, std::string>>& tensors() const { return tensors_; }
    const SafetensorsMetadata& metadata() const; // of the file read last

  private:
    const SafetensorsEntry* find(size_t index, std::string* error);

    std::vector<std::pair<std::string, std::string>> tensors_;
    std::string opened_; // one file is kept open, as tensors of a file are often read one after the other
    std::unique_ptr<SafetensorsFile> file_;
};

} // namespace rope
