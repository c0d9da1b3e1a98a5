// vkrope frequencies: prints a model's frequencies, from its configuration.
//
// To say more with --json: here, frequencies.schema.json, and a case of tests/program/json_test.py.
#include "program/commands/encoding.hpp"
#include "program/elements.hpp"
#include "program/files/arrays.hpp"
#include "program/option_values.hpp"
#include "program/tool.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tool {
namespace {

constexpr double kTwoPi = 6.283185307179586477;

struct FrequenciesOptions {
    ModelOptions model;
    uint32_t rotary_dim = 0;
    bool json = false, schema = false;
    std::string npy;
};

void printSkip(const char* end, uint32_t tokens) {
    if (tokens == 1) std::printf(", not the %s token", end);
    if (tokens > 1) std::printf(", not the %s %u tokens", end, tokens);
}

// Says where a head rotates that comes split off, or whole.
void printSplit(const rope::ModelEncoding& model) {
    if (model.nope_dim == 0) return;
    const uint32_t begin = model.rotary_begin, end = begin + model.rotary_dim - 1;
    std::printf("\nturns %u elements: ", model.rotary_dim);
    if (model.rotary_dim == model.head_dim)
        std::printf("all of a split head of %u", model.head_dim);
    else
        std::printf("elements %u to %u of a split head of %u", begin, end, model.head_dim);
    std::printf(", or elements %u to %u of a whole head of %u", model.nope_dim + begin, model.nope_dim + end,
                model.nope_dim + model.head_dim);
}

void printModelText(const rope::ModelEncoding& model) {
    std::printf("rule %s", ropeRuleName(model.rule.kind));
    const std::string length = describeLength(model);
    if (!length.empty()) std::printf(", %s", length.c_str());
    std::printf(", rotary_dim %u from element %u of %u, pairing %s", model.rotary_dim, model.rotary_begin,
                model.head_dim, pairingName(model.pairing));
    if (model.pairing_out != ROPE_PAIRING_DEFAULT && model.pairing_out != model.pairing)
        std::printf(" (out: %s)", pairingName(model.pairing_out));
    if (model.chunk_dim != 0) std::printf(", in chunks of %u elements", model.chunk_dim);
    printSkip("first", model.skip_first);
    printSkip("last", model.skip_last);
    printSplit(model);
    const std::string layers = describeLayers(model);
    if (!layers.empty()) std::printf("\n%s", oneLine(layers).c_str());
    const bool several = !model.axes.empty();
    std::printf("\nscale %.17g\n%6s  %-24s %s%s\n", model.scale, "pair", "radians per position",
                several ? "axis  " : "", "positions per turn");
    for (size_t i = 0; i < model.frequencies.size(); ++i) {
        const double f = model.frequencies[i];
        std::printf("%6zu  %-24.17g ", i, f);
        if (several) std::printf("%-5s ", model.axis_names[model.axes[i]].c_str());
        if (f == 0) {
            std::printf("never turns\n");
        } else {
            std::printf("%.10g\n", kTwoPi / std::fabs(f));
        }
    }
}

// ---- JSON

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

// frequencies.schema.json has the names.
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

// ---- The file, and what goes with it

rope::NpyArray frequencyArray(const std::vector<double>& frequencies) {
    rope::NpyArray array;
    array.type = rope::NpyArray::Type::f64;
    array.shape = {frequencies.size()};
    array.data.resize(frequencies.size() * sizeof(double));
    std::memcpy(array.data.data(), frequencies.data(), array.data.size());
    return array;
}

bool runFrequencies(const FrequenciesOptions& options, Failure* failure) {
    if (options.schema) {
        std::fputs(frequenciesSchema(), stdout);
        return true;
    }
    if (options.model.config.empty()) return refuse(failure, "--config is missing; --help lists what is taken");
    const PathOption npy = {"--npy", options.npy, ""};
    const std::vector<PathOption> inputs = {{"--config", options.model.config, ""}};
    std::vector<PathOption> outputs;
    if (!options.npy.empty()) outputs.push_back(npy);
    rope::ModelEncoding model;
    if (!checkPaths(inputs, outputs, failure) || !readModel(options.model, options.rotary_dim, &model, failure))
        return false;
    const std::vector<OutputArray> arrays = {{npy, frequencyArray(model.frequencies)}};
    if (!options.npy.empty() && !writeArrays(arrays, failure)) return false;
    for (const std::string& note : model.notes) warn("frequencies", note);
    if (options.json) {
        std::printf("%s\n", encodingJson(model).c_str());
    } else {
        printModelText(model);
    }
    return true;
}

const char kFrequenciesExample[] =
    "example:\n"
    "  echo '{\"model_type\": \"llama\", \"head_dim\": 128, \"rope_theta\": 500000}' > config.json\n"
    "  vkrope frequencies --config config.json --npy frequencies.npy";

} // namespace

RunCommand addFrequenciesCommand(CLI::App* app) {
    const auto options = std::make_shared<FrequenciesOptions>();
    addModelOptions(app, &options->model);
    addRotaryDim(app, &options->rotary_dim);
    addFlag(app, "--json", &options->json, "print JSON");
    addOption(app, "--npy", &options->npy,
              "write the frequencies to an .npy of float64, as vkrope.Encoding of the Python package takes them");
    excludesOthers(
        addFlag(app, "--json-schema", &options->schema, "print the JSON schema of what --json prints, by itself"), app);
    addFooter(app, kFrequenciesExample);
    return [options](Failure* failure) { return runFrequencies(*options, failure); };
}

} // namespace tool
