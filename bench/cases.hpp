// What is measured, as data: every case is one choice of each axis.
#pragma once

#include "models.hpp"

#include "rope.h"

namespace measure {

template <typename T> struct Named {
    const char* name; // as options have it
    T value;
};
const std::vector<Named<RopeElement>>& elements();
const std::vector<Named<RopePairing>>& pairings();
const std::vector<Named<bool>>& places(); // whether the result goes out of place
const std::vector<Named<RopeSource>>& sources();
const std::vector<uint32_t>& tokenCounts();

template <typename T> const char* nameIn(const std::vector<Named<T>>& all, T value) {
    for (const Named<T>& one : all) {
        if (one.value == value) return one.name;
    }
    return "";
}

struct Case {
    const Model* model;
    RopePairing pairing;
    bool out_of_place;
    RopeElement element;
    RopeSource source;
    uint32_t tokens;
    RopeTuning tuning = {}; // zeros: the library's own
};

// "llama3-8b/in-place/f32/half/inline", without the tokens
std::string nameOf(const Case& c);
uint64_t tensorBytes(const Case& c); // of Q and K together

// In the order of the members of Case, the last fastest.
struct Choices {
    std::vector<const Model*> models;
    std::vector<RopePairing> pairings;
    std::vector<bool> out_of_place;
    std::vector<RopeElement> elements;
    std::vector<RopeSource> sources;
    std::vector<uint32_t> tokens;
};
Choices allChoices();
std::vector<Case> product(const Choices& choices);

} // namespace measure
