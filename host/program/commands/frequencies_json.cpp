#include "program/commands/frequencies_json.hpp"

#include "program/format_names.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tool {
namespace {

using Json = nlohmann::ordered_json;

bool isOneOf(RopeRuleKind kind, std::initializer_list<RopeRuleKind> kinds) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

double givenOr(double value, double otherwise) { return value != 0 ? value : otherwise; }

// The members that the rule reads, with the values that a 0 stands for.
Json ruleParameters(const rope::ModelEncoding& model) {
    const RopeRule& rule = model.rule;
    const RopeRuleKind kind = rule.kind;
    Json json = Json::object();
    const bool yarn = kind == ROPE_RULE_YARN, ramped = kind == ROPE_RULE_YARN_RAMPED;
    if (kind != ROPE_RULE_DEFAULT && rule.factor != 0) json["factor"] = rule.factor;
    if (isOneOf(kind,
                {ROPE_RULE_DYNAMIC_NTK, ROPE_RULE_YARN, ROPE_RULE_LONGROPE, ROPE_RULE_LLAMA3, ROPE_RULE_YARN_RAMPED}))
        json["original_length"] = rule.original_length;
    if (isOneOf(kind, {ROPE_RULE_DYNAMIC_NTK, ROPE_RULE_LONGROPE, ROPE_RULE_YARN_RAMPED}))
        json["length"] = givenOr(rule.length, rule.original_length);
    if ((yarn || kind == ROPE_RULE_LONGROPE) && rule.attention_factor != 0)
        json["attention_factor"] = rule.attention_factor;
    if (yarn || ramped) {
        json["beta_fast"] = givenOr(rule.beta_fast, yarn ? 32 : 4);
        json["beta_slow"] = givenOr(rule.beta_slow, 1);
    }
    if (yarn && rule.mscale != 0) json["mscale"] = rule.mscale;
    if (yarn && rule.mscale_all_dim != 0) json["mscale_all_dim"] = rule.mscale_all_dim;
    if (yarn) json["keep_bounds"] = rule.keep_bounds != 0;
    if (kind == ROPE_RULE_PROPORTIONAL) json["rotating_pairs"] = rule.rotating_pairs;
    if (kind == ROPE_RULE_LLAMA3) {
        json["low_freq_factor"] = givenOr(rule.low_freq_factor, 1);
        json["high_freq_factor"] = givenOr(rule.high_freq_factor, 4);
    }
    if (kind == ROPE_RULE_YARN_TEMPERATURE) {
        json["temperature"] = givenOr(rule.temperature, 0.25);
        json["gamma"] = givenOr(rule.gamma, 0.8);
    }
    if (kind == ROPE_RULE_NTK_MIXED) json["mixed_exponent"] = givenOr(rule.mixed_exponent, 0.625);
    if (!model.factors.empty()) json["factors"] = model.factors;
    if (!model.short_factors.empty()) json["short_factors"] = model.short_factors;
    if (!model.long_factors.empty()) json["long_factors"] = model.long_factors;
    return json;
}

template <typename Predicate> Json layersWhere(const rope::ModelEncoding& model, const Predicate& is) {
    Json json = Json::array();
    for (size_t i = 0; i < model.layers.size(); ++i) {
        if (is(model.layers[i])) json.push_back(i);
    }
    return json;
}

void addLayers(const rope::ModelEncoding& model, Json* json) {
    if (!model.layer_type.empty()) (*json)["layer_type"] = model.layer_type;
    (*json)["layer_types"] = model.layer_types;
    if (model.layers.empty()) return;
    bool typed = true;
    Json types = Json::array();
    for (const rope::ModelLayer& layer : model.layers) {
        types.push_back(layer.type);
        typed = typed && !layer.type.empty();
    }
    if (typed) (*json)["type_of_layer"] = types;
    (*json)["layers"] = layersWhere(model, [](const rope::ModelLayer& layer) { return layer.answered; });
    (*json)["rotating_layers"] = layersWhere(model, [](const rope::ModelLayer& layer) { return layer.rotates; });
    (*json)["still_layers"] = layersWhere(model, [](const rope::ModelLayer& layer) { return !layer.rotates; });
}

void addQueryScale(const rope::ModelEncoding& model, Json* json) {
    const rope::QueryScaling& scaling = model.query_scaling;
    if (scaling.beta == 0) return;
    (*json)["query_scale"] = {{"beta", scaling.beta},
                              {"interval", scaling.interval},
                              {"offset", scaling.offset},
                              {"of_layers", scaling.of_still_layers ? "still" : "rotating"}};
}

} // namespace

std::string encodingJson(const rope::ModelEncoding& model) {
    Json json;
    const RopePairing out = model.pairing_out != ROPE_PAIRING_DEFAULT ? model.pairing_out : model.pairing;
    if (!model.model_type.empty()) json["model_type"] = model.model_type;
    addLayers(model, &json);
    json["rule"] = ropeRuleName(model.rule.kind);
    json["rule_parameters"] = ruleParameters(model);
    json["base"] = model.rule.base;
    json["head_dim"] = model.head_dim;
    if (model.nope_dim != 0) json["nope_dim"] = model.nope_dim;
    json["rotary_dim"] = model.rotary_dim;
    json["rotary_offset"] = model.rotary_begin;
    json["pairing"] = pairingName(model.pairing);
    json["pairing_out"] = pairingName(out);
    json["scale"] = model.scale;
    addQueryScale(model, &json);
    json["warnings"] = model.notes;
    json["frequencies"] = model.frequencies;
    if (!model.axes.empty()) {
        json["axes"] = model.axes;
        json["axis_names"] = model.axis_names;
    }
    if (model.chunk_dim != 0) json["chunk_dim"] = model.chunk_dim;
    if (model.skip_first != 0) json["skip_first"] = model.skip_first;
    if (model.skip_last != 0) json["skip_last"] = model.skip_last;
    return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

} // namespace tool
