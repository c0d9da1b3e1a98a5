#include "config/gguf_layers.hpp"

namespace rope {
namespace gguf {
namespace {

// An architecture whose sliding layers may rotate differently from the full ones. The rows follow src/models/*.cpp of
// llama.cpp; its src/llama-hparams.h has the defaults, a base of 10000 and a factor of 1. Gemma 4 gives the factors to
// its full layers alone.
struct SlidingLayers {
    const char* architecture;
    bool base_of_full; // the base where <arch>.rope.freq_base_swa is absent; else 10000
    bool scaled;       // the scaling holds for the sliding layers too
};

constexpr SlidingLayers kSliding[] = {
    {"gemma2", true, true},        {"cohere2", true, true},
    {"gpt-oss", true, true},       {"exaone4", true, true},
    {"olmo2", true, false},        {"mellum", true, false},
    {"muse-glimmer", true, false}, {"gemma3", false, false},
    {"gemma3n", false, false},     {"gemma-embedding", false, false},
    {"gemma4", false, false},      {"gemma4-assistant", false, false},
    {"modern-bert", false, false}, {"plamo3", false, false},
    {"mimo2", false, false},
};

const SlidingLayers* findSliding(const std::string& architecture) {
    for (const SlidingLayers& sliding : kSliding) {
        if (architecture == sliding.architecture) return &sliding;
    }
    return nullptr;
}

bool rotateAlike(const LayerRotation& a, const LayerRotation& b) {
    return a.head_dim == b.head_dim && a.rotary_dim == b.rotary_dim && a.rule.kind == b.rule.kind &&
           a.rule.base == b.rule.base && a.rule.factor == b.rule.factor && a.scale == b.scale &&
           a.takes_factors == b.takes_factors;
}

bool readSliding(const ArchitectureKeys& keys, const SlidingLayers& sliding, bool has_factors,
                 const LayerRotation& full, LayerRotation* layer, std::string* error) {
    *layer = full;
    if (!sliding.scaled) {
        layer->rule = {};
        layer->rule.base = full.rule.base;
        layer->scale = 1;
        layer->takes_factors = !has_factors;
    }
    if (!sliding.base_of_full) layer->rule.base = 10000;
    if (!keys.number("rope.freq_base_swa", 1, 1e19, &layer->rule.base, error) ||
        !keys.count("attention.key_length_swa", kMaxHeadDim, &layer->head_dim, error))
        return false;
    if (layer->head_dim != full.head_dim && full.rotary_dim == full.head_dim) layer->rotary_dim = layer->head_dim;
    return keys.count("rope.dimension_count_swa", kMaxHeadDim, &layer->rotary_dim, error);
}

} // namespace

bool chooseGgufLayer(const ArchitectureKeys& keys, const std::string& architecture, const std::string& type,
                     bool has_factors, LayerRotation* layer, std::string* error) {
    if (!type.empty() && type != "full_attention" && type != "sliding_attention")
        return refuse(error, "there are no layers of type " + shown(type) +
                                 " in a .gguf file; full_attention and sliding_attention are");
    const SlidingLayers* sliding = findSliding(architecture);
    const LayerRotation full = *layer;
    if (sliding == nullptr) {
        for (const char* key : {"rope.freq_base_swa", "rope.dimension_count_swa", "attention.key_length_swa"}) {
            if (keys.find(key) != nullptr)
                return refuse(error,
                              "the key " + keys.name(key) + " is not read for the architecture " + shown(architecture));
        }
        if (type == "sliding_attention")
            return refuse(error,
                          "the architecture " + shown(architecture) + " has no layers of type sliding_attention");
        return true;
    }
    if (!readSliding(keys, *sliding, has_factors, full, layer, error)) return false;
    double window = keys.find("rope.freq_base_swa") != nullptr ? 1 : 0;
    if (!keys.number("attention.sliding_window", 0, 1e12, &window, error)) return false;
    const bool differ = window != 0 && !rotateAlike(full, *layer);
    if (type.empty() && differ)
        return refuse(error, "the layers of two types rotate differently; ask for full_attention or sliding_attention");
    if (type != "sliding_attention") *layer = full;
    return true;
}

} // namespace gguf
} // namespace rope
