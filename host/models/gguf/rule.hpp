// The frequency rule that a .gguf file's keys name, and its numbers.
#pragma once

#include "models/gguf/keys.hpp"

namespace rope {
namespace gguf {

struct Scaling {
    std::string type;  // empty: none is named
    double factor = 0; // 0: none is given
    bool yarn = false;
    double attention = 1; // llama.cpp multiplies cos and sin by it whatever the type
};

bool readScaling(const ArchitectureKeys& keys, const std::string& architecture, Scaling* scaling, std::string* error);

// `why` begins the refusal of a file without a length: it names what needs one.
bool readGgufOriginalLength(const ArchitectureKeys& keys, const std::string& why, double* length, std::string* error);

bool readGgufRule(const ArchitectureKeys& keys, const std::string& architecture, const Scaling& scaling, RopeRule* rule,
                  std::string* error);

// Adds a sentence if the file has numbers of yarn that llama.cpp does not read.
bool noteGgufBetas(const ArchitectureKeys& keys, const std::string& architecture, ModelEncoding* model,
                   std::string* error);

} // namespace gguf
} // namespace rope
