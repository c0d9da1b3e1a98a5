#include "models/config.hpp"

#include "models/axes.hpp"
#include "models/grid.hpp"
#include "models/head.hpp"
#include "models/layers.hpp"
#include "models/numbers.hpp"
#include "models/own_keys.hpp"
#include "models/parse.hpp"
#include "models/query_scale.hpp"
#include "models/rule.hpp"

#include <algorithm>

namespace rope {
namespace {

using namespace config;

bool makeTextFrequencies(const Source& source, ModelEncoding* model, std::string* error) {
    RopeRule& rule = model->rule;
    rule.rotary_dim = model->rotary_dim;
    if (model->rotary_dim > 2 * ROPE_MAX_PAIRS || model->rotary_dim % 2 != 0 || model->rotary_dim == 0) {
        return refuse(error, "the rotary part has " + std::to_string(model->rotary_dim) +
                                 " elements; it must be even and from 2 to " + std::to_string(2 * ROPE_MAX_PAIRS));
    }
    const size_t pairs = model->rotary_dim / 2;
    std::vector<double>&shorter = model->short_factors, &longer = model->long_factors;
    if (rule.kind == ROPE_RULE_LONGROPE) {
        if (!readFactorList(source, "short_factor", &shorter, error) ||
            !readFactorList(source, "long_factor", &longer, error))
            return false;
        if (shorter.size() != pairs || longer.size() != pairs) {
            return refuse(error, "the configuration's short_factor has " + std::to_string(shorter.size()) +
                                     " numbers and its long_factor " + std::to_string(longer.size()) +
                                     ", but there are " + std::to_string(pairs) + " pairs; it must be one per pair");
        }
        rule.short_factors = shorter.data();
        rule.long_factors = longer.data();
    }
    model->frequencies.resize(pairs);
    RopeReason reason;
    const RopeResult made = ropeMakeFrequencies(&rule, model->frequencies.data(), &model->scale, &reason);
    rule.short_factors = rule.long_factors = nullptr;
    if (made != ROPE_SUCCESS) return refuse(error, std::string("the configuration's rule is refused: ") + reason.text);
    if (source.has(kBackwards)) {
        for (double& frequency : model->frequencies) frequency = -frequency;
    }
    return true;
}

bool findPairing(const Source& source, ModelEncoding* model, std::string* error) {
    bool rope_interleaved = true, emb_interleaved = false;
    if (!readBool(source.config, "rope_interleave", &rope_interleaved, error) ||
        !readBool(source.config, "rotary_emb_interleaved", &emb_interleaved, error))
        return false;
    if (source.known == nullptr) return true;
    const PairingStyle style = source.known->pairing;
    const bool half = (style == PairingStyle::half && !emb_interleaved) ||
                      (style == PairingStyle::interleaved_to_half && !rope_interleaved);
    model->pairing = half ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
    if (style == PairingStyle::interleaved_to_half && !half) model->pairing_out = ROPE_PAIRING_HALF;
    return true;
}

// The factor of logn is no part of the rotation, but the model applies it too.
void noteLogn(const Source& source, double length, ModelEncoding* model) {
    const Json* logn = findKey(source.config, "use_logn_attn");
    const Json* from = findKey(source.config, "seq_length");
    const bool given = logn != nullptr ? *logn == true : source.has(kSteppedNtk);
    if (!given || length <= (from != nullptr ? from->get<double>() : 0)) return;
    model->notes.emplace_back("the configuration's use_logn_attn scales queries beyond its seq_length too, which is no "
                              "rotation and is left to the caller");
}

bool readTextConfig(const Json& config, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    Source source;
    const bool sound = request.layer_type == "audio";
    if (!openSource(config, sound, &source, error) || !findRules(&source, error) || !dropIgnoredKeys(&source, error))
        return false;
    model->model_type = source.type;
    ConfigRequest within = request;
    if (sound) within.layer_type.clear();
    if (!chooseTextLayer(within, &source, model, error)) return false;
    if (!readHeadDim(source, &model->head_dim, error) || !readNopeDim(source, &model->nope_dim, error) ||
        !readTextBase(source, &model->rule.base, error) || !readRule(source, request.length, &model->rule, error) ||
        !findRotaryDim(source, model, error) || !findPairing(source, model, error))
        return false;
    if (request.rotary_dim != 0) model->rotary_dim = request.rotary_dim;
    if (model->rotary_dim > model->head_dim) {
        return refuse(error, "a rotary part of " + std::to_string(model->rotary_dim) +
                                 " elements does not fit into the configuration's head of " +
                                 std::to_string(model->head_dim));
    }
    if (source.has(kRotaryLast)) model->rotary_begin = model->head_dim - model->rotary_dim;
    noteOwnKeys(source, model);
    noteLogn(source, request.length, model);
    noteSoftmaxScale(source, model);
    return readQueryScaling(source, model, error) && makeTextFrequencies(source, model, error) &&
           findAxes(source, model, error);
}

bool haveSameRotation(const ModelEncoding& a, const ModelEncoding& b) {
    return a.frequencies == b.frequencies && a.scale == b.scale && a.head_dim == b.head_dim &&
           a.rotary_begin == b.rotary_begin && a.pairing == b.pairing && a.axes == b.axes;
}

bool turns(const ModelEncoding& model, const std::string& type) {
    return std::any_of(model.layers.begin(), model.layers.end(),
                       [&](const ModelLayer& layer) { return layer.type == type && layer.rotates; });
}

// Types with rules of their own may rotate alike even so: OLMo 3's do where nothing is scaled.
void findEqualTypes(const Json& config, const ConfigRequest& request, ModelEncoding* model) {
    constexpr size_t kMostTypes = 8;
    if (!model->types_differ || model->layer_types.size() > kMostTypes || request.layer_type == "audio") return;
    bool differ = false;
    for (const std::string& type : model->layer_types) {
        ConfigRequest asked = request;
        asked.layer_type = type;
        asked.layer.reset();
        ModelEncoding other;
        std::string ignored;
        if (!readTextConfig(config, asked, &other, &ignored)) { // its layers do not rotate, or by what is refused
            differ = differ || turns(*model, type);
            continue;
        }
        const bool same = haveSameRotation(other, *model);
        differ = differ || !same;
        for (size_t i = 0; same && i < model->layers.size(); ++i)
            model->layers[i].answered = model->layers[i].answered || other.layers[i].answered;
    }
    model->types_differ = differ;
}

} // namespace

bool readConfig(const std::string& text, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    Json config;
    Grid grid;
    *model = {};
    if (!parseConfig(text, &config, error) || !findGrid(config, request.layer_type, &grid, error)) return false;
    if (grid.tower != nullptr || grid.diffusers != nullptr) return readGrid(grid, request, model, error);
    if (!readTextConfig(config, request, model, error)) return false;
    findEqualTypes(config, request, model);
    return true;
}

} // namespace rope
