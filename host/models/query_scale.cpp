#include "models/query_scale.hpp"

#include "models/layer_names.hpp"

#include <cmath>
#include <cstdio>

namespace rope {
namespace config {
namespace {

constexpr double kMostPositions = 1 << 30;

// Ministral 3 counts positions by the original length, and scales every layer's queries.
bool readBeta(const Source& source, QueryScaling* scaling, std::string* error) {
    const Json* beta = findKey(source.layer.rule, "llama_4_scaling_beta");
    const Json* length = findKey(source.layer.rule, "original_max_position_embeddings");
    if (beta == nullptr || *beta == 0.0 || length == nullptr) return true;
    scaling->beta = beta->get<double>();
    return readCount(source.layer.rule, "original_max_position_embeddings", kMostPositions, &scaling->interval, error);
}

// Llama 4 counts from 1, and scales the queries of the layers that do not rotate.
bool readTuning(const Source& source, const ModelEncoding& model, QueryScaling* scaling, std::string* error) {
    const Json* tuning = findKey(source.config, "attn_temperature_tuning");
    if (tuning != nullptr && !tuning->is_boolean() && !tuning->is_number())
        return refuse(error, "the configuration's attn_temperature_tuning is " + shown(*tuning) +
                                 "; it must be true or false");
    const bool on = tuning == nullptr || (tuning->is_boolean() ? tuning->get<bool>() : *tuning != 0);
    if (!on || nameStillLayers(model.layers).empty()) return true;
    *scaling = {0.1, 8192, 1, true};
    return readNumber(source.config, "attn_scale", -1e6, 1e6, &scaling->beta, error) &&
           readCount(source.config, "floor_scale", kMostPositions, &scaling->interval, error);
}

} // namespace

std::string describeQueryScaling(const QueryScaling& scaling) {
    const std::string position = scaling.offset == 0 ? "position" : "(position + " + shown(scaling.offset) + ")";
    const std::string still = "of the layers that do not rotate ";
    return (scaling.of_still_layers ? still : "too, ") + "by 1 + " + shown(scaling.beta) + " * ln(1 + floor(" +
           position + " / " + shown(scaling.interval) +
           ")); `vkrope rotate` does not apply it, and the library's ropeMakeQueryScale or a fused pass does";
}

bool readQueryScaling(const Source& source, ModelEncoding* model, std::string* error) {
    QueryScaling& scaling = model->query_scaling;
    const bool llama = source.known != nullptr && source.known->type == std::string("llama4_text");
    if (!(llama ? readTuning(source, *model, &scaling, error) : readBeta(source, &scaling, error))) return false;
    if (scaling.beta == 0) return true;
    const bool given = llama ? findKey(source.config, "attn_temperature_tuning") != nullptr : !source.rules.implied;
    model->notes.push_back(std::string(given ? "the configuration's " : "the model type's default ") +
                           (llama ? "attn_temperature_tuning" : "llama_4_scaling_beta") + " scales queries " +
                           describeQueryScaling(scaling));
    return true;
}

void noteSoftmaxScale(const Source& source, ModelEncoding* model) {
    const RopeRule& rule = model->rule;
    const bool first = source.type == "deepseek_v2";
    if (rule.kind != ROPE_RULE_YARN || rule.mscale_all_dim == 0 || rule.factor <= 1) return;
    if (!first && !isOneOf(source.type, {"axk1", "axk2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa",
                                         "kimi_k2", "longcat_flash", "youtu"}))
        return;
    const double root = 0.1 * rule.mscale_all_dim * std::log(rule.factor) + 1;
    char number[32];
    std::snprintf(number, sizeof number, "%.10g", root * root);
    model->notes.push_back(
        std::string(first ? "the model's first code" : "the model's own code") + " multiplies its softmax scale by " +
        number + ", the square of 1 + 0.1 * mscale_all_dim * ln(factor)" +
        (first ? ", which that of Transformers does not" : "") + "; this is no rotation and is left to the caller");
}

} // namespace config
} // namespace rope
