// The readers of configurations and of .gguf files share these refusals and parts of sentences.
#pragma once

#include "models/config.hpp"

#include <functional>
#include <initializer_list>
#include <string_view>

namespace rope {

constexpr const char *kFullType = "full_attention", *kSlidingType = "sliding_attention";

// How the readers of this folder refuse: they throw, and readConfig and parseGguf catch.
struct Refusal {
    std::string sentence;
    bool needs_layer = false; // one layer is to be chosen by its number
};

[[noreturn]] inline void refuse(const std::string& sentence) { throw Refusal{sentence}; }

// Takes std::vector<std::string> too.
template <typename Words = std::initializer_list<const char*>> bool isOneOf(std::string_view word, const Words& words);

// Names the layers that `is` holds for: "layers 0-2, 4-6", "layer 3", and behind the numbers the type in parentheses
// where all layers share one. Then it says of them what is said of one layer, or of several. It is empty where there
// are none.
using LayerPredicate = std::function<bool(const ModelLayer&)>;
std::string nameLayers(const std::vector<ModelLayer>& layers, const LayerPredicate& is, const char* of_one = "",
                       const char* of_several = "");

// The end of a note that names who scales.
std::string describeQueryScaling(const QueryScaling& scaling);

// Refuses a number that no layer has, or whose layer is of another type than a `type` that is not empty, or does not
// rotate.
void checkLayerNumber(uint32_t number, const std::string& type, const std::vector<ModelLayer>& layers);

} // namespace rope
