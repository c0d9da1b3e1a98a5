// The cases that are measured, as data: a case is one choice for each option.
#pragma once

#include "bench/cases/models.hpp"

#include <vkrope/rope.h>

namespace measure {

template <typename T> struct Named {
    const char* name; // the name that options take
    T value;
};
const std::vector<Named<RopeElement>>& elements();
const std::vector<Named<RopePairing>>& pairings();
const std::vector<Named<bool>>& placements(); // true: out of place
const std::vector<Named<RopeSource>>& sources();
const std::vector<uint32_t>& tokenCounts();

template <typename T> const char* nameIn(const std::vector<Named<T>>& all, T value) {
    for (const Named<T>& one : all) {
        if (one.value == value) return one.name;
    }
    return "";
}

struct RotationCase {
    const ModelShape* model;
    RopePairing pairing;
    bool out_of_place;
    RopeElement element;
    RopeSource source;
    uint32_t tokens;
    RopeTuning tuning = {}; // zeros: the library's own
    uint32_t sequences = 1;
    bool packed = false; // sequences of several lengths have `tokens` together; otherwise each has as many
};

// Names the case without its tokens: "llama3-8b/in-place/f32/half/inline".
std::string caseName(const RotationCase& c);
uint32_t allTokens(const RotationCase& c);   // of all sequences
uint64_t tensorBytes(const RotationCase& c); // Q and K together

// The choices from which cases are made, in the order of the members of RotationCase; the last varies fastest.
struct CaseChoices {
    std::vector<const ModelShape*> models;
    std::vector<RopePairing> pairings;
    std::vector<bool> out_of_place;
    std::vector<RopeElement> elements;
    std::vector<RopeSource> sources;
    std::vector<uint32_t> tokens;
};
CaseChoices allChoices();
std::vector<RotationCase> casesOf(const CaseChoices& choices);

} // namespace measure
