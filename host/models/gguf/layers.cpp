#include "models/gguf/architecture.hpp"

#include "models/words.hpp"

#include <algorithm>
#include <cmath>

namespace rope {
namespace gguf {
namespace {

constexpr const char* kPattern = "attention.sliding_window_pattern";
constexpr double kMaxLayers = 65536;

using ModelLayers = std::vector<ModelLayer>;

bool rotateAlike(const LayerRotation& a, const LayerRotation& b) {
    return a.head_dim == b.head_dim && a.rotary_dim == b.rotary_dim && a.rule.kind == b.rule.kind &&
           a.rule.base == b.rule.base && a.rule.factor == b.rule.factor && a.scale == b.scale &&
           a.takes_factors == b.takes_factors;
}

LayerRotation readSliding(const ArchitectureKeys& keys, const Architecture& architecture, bool has_factors,
                          const LayerRotation& full) {
    LayerRotation layer = full;
    if (!architecture.sliding_scaled) {
        layer.rule = {};
        layer.rule.base = full.rule.base;
        layer.scale = 1;
        layer.takes_factors = !has_factors;
    }
    if (!architecture.sliding_base_of_full) layer.rule.base = 10000;
    layer.rule.base = keys.number("rope.freq_base_swa", 1, 1e19, layer.rule.base);
    layer.head_dim = keys.count("attention.key_length_swa", kMaxHeadDim, layer.head_dim);
    if (layer.head_dim != full.head_dim && full.rotary_dim == full.head_dim) layer.rotary_dim = layer.head_dim;
    layer.rotary_dim = keys.count("rope.dimension_count_swa", kMaxHeadDim, layer.rotary_dim);
    return layer;
}

// The key has a period, or for each layer whether it slides. Returns false where nothing says it.
bool readSlides(const ArchitectureKeys& keys, const Architecture& architecture, std::vector<bool>* slides) {
    const bool patterned = architecture.rotating != Turning::usual;
    if (const Value* pattern = patterned ? keys.list(kPattern, slides->size()) : nullptr) {
        for (size_t i = 0; i < slides->size(); ++i) (*slides)[i] = pattern->numbers[i] != 0;
        return true;
    }
    const uint32_t period = patterned ? keys.count(kPattern, kMaxLayers, architecture.period) : architecture.period;
    if (period == 0) return false;
    for (size_t i = 0; i < slides->size(); ++i) (*slides)[i] = (i + (architecture.first ? 0 : 1)) % period != 0;
    return true;
}

// The blocks that predict further tokens follow the model's own layers. Lists of layers may leave them out.
size_t countLayers(const ArchitectureKeys& keys) {
    const char *key = "nextn_predict_layers", *of_all = "block_count";
    const double blocks = keys.number(of_all, 0, kMaxLayers, 0), further = keys.number(key, 0, kMaxLayers, 0);
    if (blocks != std::floor(blocks) || further != std::floor(further))
        refuse("the keys " + keys.name(of_all) + " and " + keys.name(key) + " are " + shown(blocks) + " and " +
               shown(further) + "; they must be whole numbers");
    if (blocks != 0 && further >= blocks)
        keys.refuse(key, "is " + shown(further) + ", and " + keys.name(of_all) + " " + shown(blocks) +
                             "; some blocks are the model's own layers");
    return static_cast<size_t>(blocks != 0 ? blocks - further : 0);
}

// A layer without heads of K has no attention. Linear attention does not rotate: where no list says which layers have
// it, all but each period's last have it.
void stopLayers(const ArchitectureKeys& keys, const Architecture& architecture, ModelLayers* layers) {
    const size_t count = layers->size();
    const Value* heads = keys.list("attention.head_count_kv", count);
    const bool has_linear = architecture.linear_period != 0;
    const Value* linear = has_linear ? keys.list("attention.recurrent_layers", count) : nullptr;
    const bool reads_pattern = isOneOf("attention.rope_pattern", architecture.reads);
    const Value* pattern = reads_pattern ? keys.list("attention.rope_pattern", count) : nullptr;
    const bool planned = has_linear && linear == nullptr;
    const uint32_t period = planned ? keys.count("full_attention_interval", kMaxLayers, architecture.linear_period) : 1;
    for (size_t i = 0; i < count; ++i) {
        const bool attends = heads == nullptr || heads->numbers[i] != 0;
        const bool turns = pattern == nullptr || pattern->numbers[i] != 0;
        const bool is_linear = linear != nullptr ? linear->numbers[i] != 0 : (i + 1) % period != 0;
        (*layers)[i].rotates = (*layers)[i].rotates && attends && turns && !is_linear;
    }
}

// Empty where the file does not say how many layers there are, or of which types.
ModelLayers listGgufLayers(const ArchitectureKeys& keys, const Architecture& architecture, double window) {
    ModelLayers layers(countLayers(keys));
    const bool other_depth = architecture.windowed_at != 0 && layers.size() != architecture.windowed_at;
    const bool without =
        architecture.rotating == Turning::unsaid || (architecture.needs_window && window == 0) || other_depth;
    std::vector<bool> slides(without ? 0 : layers.size());
    if (!without && !readSlides(keys, architecture, &slides)) {
        slides.clear();
        layers.clear();
    }
    const bool dense_rotate = !without && architecture.rotating == Turning::sliding_or_dense;
    const double dense = dense_rotate ? keys.number("leading_dense_block_count", 0, kMaxLayers, 0) : 0;
    for (size_t i = 0; i < slides.size(); ++i) {
        if (architecture.rotating != Turning::usual) layers[i].type = slides[i] ? kSlidingType : kFullType;
        layers[i].rotates = architecture.rotating == Turning::all || slides[i] || static_cast<double>(i) < dense;
    }
    stopLayers(keys, architecture, &layers);
    return layers;
}

bool turns(const ModelLayers& layers, const std::string& type) {
    return layers.empty() || std::any_of(layers.begin(), layers.end(), [&](const ModelLayer& layer) {
               return layer.rotates && (layer.type.empty() || layer.type == type);
           });
}

bool hasType(const ModelLayers& layers, const char* type) {
    return std::any_of(layers.begin(), layers.end(), [&](const ModelLayer& layer) { return layer.type == type; });
}

// Refuses what the request asks for and the file does not have.
void checkRequest(const ArchitectureKeys& keys, const Architecture& architecture, const GgufRequest& request,
                  const ModelLayers& layers) {
    const std::string& type = request.layer_type;
    if (request.layer && layers.empty()) refuse("the file does not say which layers there are, or of which types");
    if (request.layer) checkLayerNumber(*request.layer, type, layers);
    const bool unknown = architecture.sliding_layers && layers.empty();
    if (type == kSlidingType && !unknown && !hasType(layers, kSlidingType))
        refuse("the file has no layers of type sliding_attention");
    if (architecture.sliding_layers) return;
    for (const char* key : {"rope.freq_base_swa", "rope.dimension_count_swa", "attention.key_length_swa"}) {
        if (keys.find(key) != nullptr) keys.refuse(key, "is not read for the architecture " + shown(architecture.name));
    }
}

} // namespace

LayerRotation chooseGgufLayer(const ArchitectureKeys& keys, const Architecture& architecture,
                              const GgufRequest& request, bool has_factors, const LayerRotation& full,
                              ModelEncoding* encoding) {
    const std::string& type = request.layer_type;
    if (!type.empty() && type != kFullType && type != kSlidingType)
        refuse("there are no layers of type " + shown(type) +
               " in a .gguf file; full_attention and sliding_attention are");
    const bool windowed = architecture.sliding_layers || architecture.rotating != Turning::unsaid;
    const double has_base = keys.find("rope.freq_base_swa") != nullptr ? 1 : 0;
    const double unsaid = architecture.window != 0 ? architecture.window : has_base;
    const double window = windowed ? keys.number("attention.sliding_window", 0, 1e12, unsaid) : unsaid;
    ModelLayers& layers = encoding->layers;
    layers = listGgufLayers(keys, architecture, window);
    checkRequest(keys, architecture, request, layers);
    const LayerRotation sliding =
        architecture.sliding_layers ? readSliding(keys, architecture, has_factors, full) : full;
    const std::string wanted = request.layer ? layers[*request.layer].type : type;
    const std::string turning = nameLayers(layers, std::mem_fn(&ModelLayer::rotates), " rotates", " rotate");
    if (!layers.empty() && turning.empty()) refuse("no layer of the model rotates");
    if (!wanted.empty() && !turns(layers, wanted)) {
        refuse("the model's layers of the type " + wanted + " do not rotate; " + turning);
    }
    const bool full_turns = turns(layers, kFullType), slide = layers.empty() || hasType(layers, kSlidingType);
    const bool differ = window != 0 && slide && !rotateAlike(full, sliding);
    encoding->types_differ = differ && full_turns && turns(layers, kSlidingType);
    const bool slides = wanted == kSlidingType || (wanted.empty() && !full_turns);
    for (const char* name : {kFullType, kSlidingType}) {
        if (hasType(layers, name) || encoding->types_differ) encoding->layer_types.emplace_back(name);
    }
    if (!encoding->layer_types.empty()) encoding->layer_type = slides ? kSlidingType : kFullType;
    for (ModelLayer& layer : layers)
        layer.answered = layer.rotates && (!encoding->types_differ || layer.type == encoding->layer_type);
    return slides ? sliding : full;
}

} // namespace gguf
} // namespace rope
