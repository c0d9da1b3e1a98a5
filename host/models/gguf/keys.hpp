// The keys of one architecture in a .gguf file's header.
#pragma once

#include "models/gguf/header.hpp"

#include <string>

namespace rope {
namespace gguf {

// Readers return false after a refusal, with one sentence in *error, and leave *value as it is where the key is absent.
class ArchitectureKeys {
  public:
    ArchitectureKeys(const Header& header, const std::string& architecture)
        : header_(header), prefix_(architecture + ".") {}

    // A key is named by what follows the architecture and a dot. Null where the key is absent.
    const Value* find(const char* suffix) const;

    // The whole key in quotes, for a sentence.
    std::string name(const char* suffix) const { return "'" + prefix_ + suffix + "'"; }

    // A list must have the same number for each layer.
    bool number(const char* suffix, double low, double high, double* value, std::string* error) const;

    // A whole number from 1 on.
    bool count(const char* suffix, double high, uint32_t* value, std::string* error) const;

    // Refuses the first key about rotation that is not read.
    bool checkUnknown(std::string* error) const;

  private:
    const Header& header_;
    std::string prefix_;
};

} // namespace gguf
} // namespace rope
