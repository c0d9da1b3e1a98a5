// The cases of `vkrope check` that write caches: each of their elements, with and without Hadamard blocks.
#pragma once

#include "program/check/case.hpp"

namespace tool {

struct CacheCase {
    RopeElement from, cache;
    uint32_t hadamard; // of K; V's are 64, as llama.cpp has them
    std::string name;
};
// `quick`: one for each element of a cache, of all three sources and blocks.
std::vector<CacheCase> cacheCases(bool quick);
bool checkCacheCase(CheckDevice* device, const CacheCase& given, uint64_t seed, CaseErrors* errors, Failure* failure);

} // namespace tool
