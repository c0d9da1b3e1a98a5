#include "models/config.hpp"

#include "models/text.hpp"

#include <algorithm>

namespace rope {
namespace {

using namespace config;

void makeFrequencies(const Layer& layer, ModelEncoding* encoding) {
    RopeRule& rule = encoding->rule;
    const uint32_t turning = rule.rotary_dim = encoding->rotary_dim;
    if (turning > 2 * ROPE_MAX_PAIRS || turning % 2 != 0 || turning == 0) {
        refuse("the rotary part has " + std::to_string(turning) + " elements; it must be even and from 2 to " +
               std::to_string(2 * ROPE_MAX_PAIRS));
    }
    const size_t pairs = turning / 2;
    std::vector<double>&shorter = encoding->short_factors, &longer = encoding->long_factors;
    if (rule.kind == ROPE_RULE_LONGROPE) {
        shorter = readFactorList(layer, "short_factor");
        longer = readFactorList(layer, "long_factor");
        if (shorter.size() != pairs || longer.size() != pairs) {
            refuse("the configuration's short_factor has " + std::to_string(shorter.size()) +
                   " numbers and its long_factor " + std::to_string(longer.size()) + ", but there are " +
                   std::to_string(pairs) + " pairs; it must be one per pair");
        }
        rule.short_factors = shorter.data();
        rule.long_factors = longer.data();
    }
    encoding->frequencies.resize(pairs);
    RopeReason reason;
    const RopeResult made = ropeMakeFrequencies(&rule, encoding->frequencies.data(), &encoding->scale, &reason);
    rule.short_factors = rule.long_factors = nullptr;
    if (made != ROPE_SUCCESS) refuse(std::string("the configuration's rule is refused: ") + reason.text);
    for (double& frequency : encoding->frequencies) frequency = layer.model().backwards ? -frequency : frequency;
}

// Reads the encoding of one layer, out of a source that is open.
ModelEncoding readLayer(const Source& source, const Layers& layers, const ConfigRequest& request) {
    ModelEncoding encoding;
    encoding.model_type = source.type;
    const Layer layer = chooseLayer(request, source, layers, &encoding);
    encoding.head_dim = readHeadDim(layer);
    encoding.nope_dim = readNopeDim(layer);
    encoding.rule = readRule(layer, request.length);
    findRotaryDim(layer, &encoding);
    findPairing(layer, &encoding);
    if (request.rotary_dim != 0) encoding.rotary_dim = request.rotary_dim;
    if (encoding.rotary_dim > encoding.head_dim) {
        refuse("a rotary part of " + std::to_string(encoding.rotary_dim) +
               " elements does not fit into the configuration's head of " + std::to_string(encoding.head_dim));
    }
    if (layer.model().rotates_end) encoding.rotary_begin = encoding.head_dim - encoding.rotary_dim;
    noteKeys(layer, &encoding);
    noteSoftmaxScale(layer, request.length, &encoding);
    readQueryScaling(layer, &encoding);
    makeFrequencies(layer, &encoding);
    findAxes(layer, &encoding);
    return encoding;
}

bool haveSameRotation(const ModelEncoding& a, const ModelEncoding& b) {
    return a.frequencies == b.frequencies && a.scale == b.scale && a.head_dim == b.head_dim &&
           a.rotary_begin == b.rotary_begin && a.pairing == b.pairing && a.axes == b.axes;
}

// Types with rules of their own may rotate alike even so: OLMo 3's do where nothing is scaled.
void findEqualTypes(const Source& source, const Layers& layers, ConfigRequest request, ModelEncoding* encoding) {
    constexpr size_t kMostTypes = 8;
    if (!encoding->types_differ || encoding->layer_types.size() > kMostTypes) return;
    bool differ = false;
    const bool whole_type = !request.layer; // a layer may have other numbers than its type
    request.layer.reset();
    for (const std::string& type : encoding->layer_types) {
        if (whole_type && type == encoding->layer_type) continue;
        request.layer_type = type;
        try {
            const ModelEncoding other = readLayer(source, layers, request);
            const bool same = haveSameRotation(other, *encoding);
            differ = differ || !same;
            for (size_t i = 0; same && i < encoding->layers.size(); ++i)
                encoding->layers[i].answered = encoding->layers[i].answered || other.layers[i].answered;
        } catch (const Refusal&) { // its layers do not rotate, or by what is refused
            const auto turns = [&](const ModelLayer& layer) { return layer.type == type && layer.rotates; };
            differ = differ || std::any_of(encoding->layers.begin(), encoding->layers.end(), turns);
        }
    }
    encoding->types_differ = differ;
}

ModelEncoding readTextConfig(const Json& config, const ConfigRequest& request) {
    const bool sound = request.layer_type == "audio";
    ConfigRequest within = request;
    if (sound) within.layer_type.clear();
    const Source source = openSource(config, sound);
    const Layers layers = readLayers(source);
    ModelEncoding encoding = readLayer(source, layers, within);
    if (!sound) findEqualTypes(source, layers, request, &encoding);
    return encoding;
}

} // namespace

bool readConfig(const std::string& text, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    *model = {};
    try {
        const Json config = parseConfig(text);
        const std::optional<ModelEncoding> on_a_grid = readGrid(config, request);
        *model = on_a_grid ? *on_a_grid : readTextConfig(config, request);
        return true;
    } catch (const Refusal& refusal) {
        model->needs_layer = refusal.needs_layer;
        *error = refusal.sentence;
        return false;
    }
}

} // namespace rope
