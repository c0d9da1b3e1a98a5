// What a compute shader in SPIR-V asks of whoever runs it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rope {

struct ShaderInterface {
    uint32_t version = 0; // 0x00010300: SPIR-V 1.3
    std::set<uint32_t> capabilities;
    std::set<std::string> entries;         // of compute shaders
    std::set<uint32_t> bindings;           // of storage buffers, in set 0
    std::string strange;                   // a thing that is bound and is no storage buffer in set 0; empty: none
    uint32_t push_bytes = 0;               // of push constants
    std::map<uint32_t, uint32_t> ids;      // of specialization constants of 32 bits, and their words without any
    uint32_t group[3] = {1, 1, 1};         // its threads, but where
    std::map<uint32_t, uint32_t> group_id; // a specialization constant gives the threads of an axis
};

// Both return false, with one sentence in *error, if the file or the words are no SPIR-V module.
bool readWords(const std::string& path, std::vector<uint32_t>* words, std::string* error);
bool readInterface(std::vector<uint32_t> words, ShaderInterface* interface, std::string* error);

} // namespace rope
