// Which float operations of a SPIR-V module a driver may fuse into others: those without the decoration NoContraction,
// which GLSL's `precise` becomes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rope {

struct FloatOperation {
    uint32_t id = 0;
    const char* name = ""; // "OpFMul"
    std::string function;  // empty: the module does not name it
    std::string file;      // empty: the module tells no lines
    uint32_t line = 0;
    bool fusible = false; // a product that a sum takes, or both in one
};

struct Arithmetic {
    uint32_t operations = 0;           // products and sums of floats
    std::vector<FloatOperation> loose; // those without NoContraction, in their order
};

// False, with one sentence in *error, for what is no SPIR-V module.
bool readArithmetic(std::vector<uint32_t> words, Arithmetic* arithmetic, std::string* error);

} // namespace rope
