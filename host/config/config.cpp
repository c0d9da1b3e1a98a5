#include "config/config.hpp"

#include "config/axes.hpp"
#include "config/grid.hpp"
#include "config/head.hpp"
#include "config/layers.hpp"
#include "config/numbers.hpp"
#include "config/rule.hpp"

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
    std::vector<double> shorter, longer;
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
    model->notes.push_back("the configuration's use_logn_attn scales queries beyond its seq_length too, which is no "
                           "rotation and is left to the caller");
}

void noteQueryScale(const Source& source, ModelEncoding* model) {
    const Json* beta = findKey(source.layer.rule, "llama_4_scaling_beta");
    const Json* length = findKey(source.layer.rule, "original_max_position_embeddings");
    if (beta == nullptr || *beta == 0.0 || length == nullptr) return;
    model->notes.push_back("the configuration's llama_4_scaling_beta scales queries too, by 1 + " + shown(*beta) +
                           " * ln(1 + floor(position / " + shown(*length) +
                           ")): ropeMakeQueryScale and a fused pass do that");
}

bool readTextConfig(const Json& config, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    Source source;
    if (!openSource(config, &source, error) || !findRules(&source, error)) return false;
    model->model_type = source.type;
    if (!chooseTextLayer(request.layer_type, &source, model, error)) return false;
    if (!reduceLayerLists(&source, error) || !readHeadDim(source, &model->head_dim, error) ||
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
    noteLogn(source, request.length, model);
    noteQueryScale(source, model);
    return makeTextFrequencies(source, model, error) && findAxes(source, model, error);
}

} // namespace

bool readConfig(const std::string& text, const ConfigRequest& request, ModelEncoding* model, std::string* error) {
    Json config;
    Grid grid;
    *model = {};
    if (!parseConfig(text, &config, error) || !findGrid(config, request.layer_type, &grid, error)) return false;
    if (grid.tower != nullptr || grid.diffusers != nullptr) return readGrid(grid, request, model, error);
    return readTextConfig(config, request, model, error);
}

} // namespace rope
