// Finds the float operations of a SPIR-V module that a driver may fuse into others: those without the decoration
// NoContraction, which GLSL's `precise` becomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rope {

struct FloatOperation {
    uint32_t id = 0;
    const char* name = ""; // "OpFMul"
    std::string function;  // empty: the module does not name it
    std::string file;      // empty: the module tells no lines
    uint32_t line = 0;
    bool fusible = false; // a product that a sum takes, or a product and sum in one
};

struct Arithmetic {
    uint32_t operations = 0;                 // products and sums of floats
    std::vector<FloatOperation> undecorated; // those without NoContraction, in their order
};

// Calls visit for each instruction. Words in the other order of bytes are rotated before. Returns false, with one
// sentence in *error, if the words are no SPIR-V module.
bool visitInstructions(std::vector<uint32_t>* words, const std::function<void(size_t at, uint32_t length)>& visit,
                       std::string* error);
std::string textOf(const uint32_t* first, const uint32_t* end); // that words hold

bool readArithmetic(std::vector<uint32_t> words, Arithmetic* arithmetic, std::string* error);

} // namespace rope
