#include "models/gguf/layers.hpp"

#include "models/layer_names.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace gguf {
namespace {

constexpr const char *kFullType = "full_attention", *kSlidingType = "sliding_attention";
constexpr double kMaxLayers = 65536;

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

// The layers of an architecture, as its graph in src/models/*.cpp of llama.cpp has them: one layer of each period has
// full attention, and some architectures rotate only certain layers.
enum class Turning { all, sliding, sliding_or_dense, usual };

struct GgufPlan {
    const char* architecture;
    uint32_t period;   // where the key attention.sliding_window_pattern is absent; 0: that key alone says it
    bool first;        // the full layer is the period's first; else its last
    Turning turning;   // usual: all but the full ones, whatever that key says
    bool needs_window; // without a sliding window all layers are alike and rotate
};

constexpr GgufPlan kPlans[] = {
    {"afmoe", 4, false, Turning::usual, false},
    {"cohere2", 4, false, Turning::sliding, false},
    {"cohere2moe", 4, true, Turning::sliding_or_dense, false},
    {"exaone-moe", 4, false, Turning::sliding, false},
    {"exaone4", 4, false, Turning::sliding, false},
    {"gemma-embedding", 6, false, Turning::all, false},
    {"gemma3", 6, false, Turning::all, false},
    {"gemma3n", 5, false, Turning::all, false},
    {"gemma4", 0, false, Turning::all, false},
    {"gemma4-assistant", 0, false, Turning::all, false},
    {"llama4", 4, false, Turning::usual, false},
    {"mellum", 0, false, Turning::all, false},
    {"mimo2", 0, false, Turning::all, false},
    {"modern-bert", 3, true, Turning::all, true},
    {"muse-glimmer", 4, false, Turning::sliding, false},
    {"olmo2", 4, false, Turning::all, true},
    {"plamo3", 0, false, Turning::all, false},
    {"smallthinker", 4, true, Turning::usual, true},
    {"smollm3", 4, false, Turning::usual, false},
};

const GgufPlan* findPlan(const std::string& architecture) {
    for (const GgufPlan& plan : kPlans) {
        if (architecture == plan.architecture) return &plan;
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

bool refuseShortList(const ArchitectureKeys& keys, const char* key, const Value& list, size_t layers,
                     std::string* error) {
    return refuse(error, "the key " + keys.name(key) + " has " + std::to_string(list.numbers.size()) + " entries for " +
                             std::to_string(layers) + " layers");
}

// The key has a period, or for each layer whether it slides. Leaves *slides empty where nothing says it.
bool readSlides(const ArchitectureKeys& keys, const GgufPlan& plan, std::vector<bool>* slides, std::string* error) {
    const char* key = "attention.sliding_window_pattern";
    const Value* pattern = plan.turning == Turning::usual ? nullptr : keys.find(key);
    uint32_t period = plan.period;
    if (pattern != nullptr && pattern->kind == Value::Kind::list) {
        if (pattern->numbers.size() < slides->size())
            return refuseShortList(keys, key, *pattern, slides->size(), error);
        for (size_t i = 0; i < slides->size(); ++i) (*slides)[i] = pattern->numbers[i] != 0;
        return true;
    }
    if (pattern != nullptr && !keys.count(key, kMaxLayers, &period, error)) return false;
    if (period == 0) {
        slides->clear();
        return true;
    }
    for (size_t i = 0; i < slides->size(); ++i) (*slides)[i] = (i + (plan.first ? 0 : 1)) % period != 0;
    return true;
}

// The blocks that predict further tokens follow the model's own layers. Lists of layers may leave them out.
bool countLayers(const ArchitectureKeys& keys, double* layers, std::string* error) {
    double further = 0;
    const char* key = "nextn_predict_layers";
    if (!keys.number("block_count", 0, kMaxLayers, layers, error) || !keys.number(key, 0, kMaxLayers, &further, error))
        return false;
    if (*layers != std::floor(*layers) || further != std::floor(further))
        return refuse(error, "the keys " + keys.name("block_count") + " and " + keys.name(key) + " are " +
                                 shown(*layers) + " and " + shown(further) + "; they must be whole numbers");
    if (*layers != 0 && further >= *layers)
        return refuse(error, "the key " + keys.name(key) + " is " + shown(further) + ", and " +
                                 keys.name("block_count") + " " + shown(*layers) +
                                 "; some blocks are the model's own layers");
    *layers -= *layers != 0 ? further : 0;
    return true;
}

// Leaves the layers empty where the file does not say how many there are, or of which types.
bool listGgufLayers(const ArchitectureKeys& keys, const std::string& architecture, double window,
                    std::vector<ModelLayer>* layers, std::string* error) {
    const GgufPlan* plan = findPlan(architecture);
    double blocks = 0, dense = 0;
    if (!countLayers(keys, &blocks, error)) return false;
    layers->assign(static_cast<size_t>(blocks), {});
    // llama.cpp tells EXAONE 4's model with windows by its depth. A window of 0 switches Llama 4's off.
    const bool switched_off = window == 0 && keys.find("attention.sliding_window") != nullptr;
    const bool without = plan == nullptr || (plan->needs_window && window == 0) ||
                         (architecture == "exaone4" && blocks != 64) || (architecture == "llama4" && switched_off);
    if (without) return true;
    std::vector<bool> slides(layers->size());
    if (!readSlides(keys, *plan, &slides, error) ||
        (plan->turning == Turning::sliding_or_dense &&
         !keys.number("leading_dense_block_count", 0, kMaxLayers, &dense, error)))
        return false;
    if (slides.empty()) layers->clear();
    for (size_t i = 0; i < slides.size(); ++i) {
        ModelLayer& layer = (*layers)[i];
        if (plan->turning != Turning::usual) layer.type = slides[i] ? kSlidingType : kFullType;
        layer.rotates = plan->turning == Turning::all || slides[i] || static_cast<double>(i) < dense;
    }
    return true;
}

// A layer without heads of K has no attention.
bool stopLayersWithoutAttention(const ArchitectureKeys& keys, std::vector<ModelLayer>* layers, std::string* error) {
    const char* key = "attention.head_count_kv";
    const Value* heads = keys.find(key);
    if (heads == nullptr || heads->kind != Value::Kind::list) return true;
    if (heads->numbers.size() < layers->size()) return refuseShortList(keys, key, *heads, layers->size(), error);
    for (size_t i = 0; i < layers->size(); ++i) (*layers)[i].rotates = (*layers)[i].rotates && heads->numbers[i] != 0;
    return true;
}

// Linear attention does not rotate. Where no list says which layers have it, all but each period's last have it.
bool stopLinearAttention(const ArchitectureKeys& keys, const std::string& architecture, std::vector<ModelLayer>* layers,
                         std::string* error) {
    if (!isIn(" qwen3next qwen35 qwen35moe ", architecture)) return true;
    const char* key = "attention.recurrent_layers";
    const Value* linear = keys.find(key);
    uint32_t period = 4;
    if (linear == nullptr && !keys.count("full_attention_interval", kMaxLayers, &period, error)) return false;
    if (linear != nullptr && linear->numbers.size() < layers->size())
        return refuseShortList(keys, key, *linear, layers->size(), error);
    for (size_t i = 0; i < layers->size(); ++i)
        (*layers)[i].rotates =
            (*layers)[i].rotates && (linear != nullptr ? linear->numbers[i] == 0 : (i + 1) % period == 0);
    return true;
}

bool turns(const std::vector<ModelLayer>& layers, const std::string& type) {
    for (const ModelLayer& layer : layers) {
        if (layer.rotates && (layer.type.empty() || layer.type == type)) return true;
    }
    return layers.empty();
}

// Chooses between the two rotations by the layer or type that is wanted, or that rotates.
bool takeGgufLayer(const GgufRequest& request, const LayerRotation& full, bool differ, LayerRotation* layer,
                   ModelEncoding* model, std::string* error) {
    std::vector<ModelLayer>& layers = model->layers;
    const std::string wanted = request.layer ? layers[*request.layer].type : request.layer_type;
    const auto one_turns = [](const ModelLayer& one) { return one.rotates; };
    if (!layers.empty() && std::none_of(layers.begin(), layers.end(), one_turns))
        return refuse(error, "no layer of the model rotates");
    if (!wanted.empty() && !turns(layers, wanted)) {
        return refuse(error, "the model's layers of the type " + wanted + " do not rotate; " +
                                 nameLayers(layers, one_turns) + " rotate");
    }
    const bool full_turns = turns(layers, kFullType);
    model->types_differ = differ && full_turns && turns(layers, kSlidingType);
    const bool sliding = wanted == kSlidingType || (wanted.empty() && !full_turns);
    if (!sliding) *layer = full;
    for (const char* type : {kFullType, kSlidingType}) {
        const bool has =
            std::any_of(layers.begin(), layers.end(), [&](const ModelLayer& one) { return one.type == type; });
        if (has || model->types_differ) model->layer_types.emplace_back(type);
    }
    if (!model->layer_types.empty()) model->layer_type = sliding ? kSlidingType : kFullType;
    for (ModelLayer& one : layers)
        one.answered = one.rotates && (!model->types_differ || one.type == model->layer_type);
    return true;
}

} // namespace

bool chooseGgufLayer(const ArchitectureKeys& keys, const std::string& architecture, const GgufRequest& request,
                     bool has_factors, LayerRotation* layer, ModelEncoding* model, std::string* error) {
    const std::string& type = request.layer_type;
    if (!type.empty() && type != kFullType && type != kSlidingType)
        return refuse(error, "there are no layers of type " + shown(type) +
                                 " in a .gguf file; full_attention and sliding_attention are");
    const SlidingLayers* sliding = findSliding(architecture);
    const LayerRotation full = *layer;
    double window = keys.find("rope.freq_base_swa") != nullptr ? 1 : 0;
    const bool windowed = sliding != nullptr || findPlan(architecture) != nullptr;
    if ((windowed && !keys.number("attention.sliding_window", 0, 1e12, &window, error)) ||
        !listGgufLayers(keys, architecture, window, &model->layers, error) ||
        !stopLayersWithoutAttention(keys, &model->layers, error) ||
        !stopLinearAttention(keys, architecture, &model->layers, error))
        return false;
    if (request.layer && model->layers.empty())
        return refuse(error, "the file does not say which layers there are, or of which types");
    if (request.layer && !checkLayerNumber(*request.layer, type, model->layers, error)) return false;
    if (sliding == nullptr) {
        for (const char* key : {"rope.freq_base_swa", "rope.dimension_count_swa", "attention.key_length_swa"}) {
            if (keys.find(key) != nullptr)
                return refuse(error,
                              "the key " + keys.name(key) + " is not read for the architecture " + shown(architecture));
        }
        const auto slides = [](const ModelLayer& one) { return one.type == kSlidingType; };
        if (type == kSlidingType && std::none_of(model->layers.begin(), model->layers.end(), slides))
            return refuse(error,
                          "the architecture " + shown(architecture) + " has no layers of type sliding_attention");
    } else if (!readSliding(keys, *sliding, has_factors, full, layer, error)) {
        return false;
    }
    const bool differ = sliding != nullptr && window != 0 && !rotateAlike(full, *layer);
    return takeGgufLayer(request, full, differ, layer, model, error);
}

} // namespace gguf
} // namespace rope
