// vkrope frequencies: prints a model's frequencies, from its configuration.
#include "tool/format_names.hpp"
#include "tool/input.hpp"
#include "tool/output.hpp"
#include "tool/tool.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

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
    bool json = false;
    std::string npy;
};

void printModelJson(const rope::ModelEncoding& model) {
    nlohmann::ordered_json json;
    json["rule"] = ropeRuleName(model.rule.kind);
    json["rotary_dim"] = model.rotary_dim;
    json["rotary_offset"] = model.rotary_begin;
    json["pairing"] = pairingName(model.pairing);
    json["pairing_out"] = pairingName(model.pairing_out != ROPE_PAIRING_DEFAULT ? model.pairing_out : model.pairing);
    json["scale"] = model.scale;
    json["frequencies"] = model.frequencies;
    if (!model.axes.empty()) {
        json["axes"] = model.axes;
        json["axis_names"] = model.axis_names;
    }
    if (model.chunk_dim != 0) json["chunk_dim"] = model.chunk_dim;
    if (model.skip_first != 0) json["skip_first"] = model.skip_first;
    if (model.skip_last != 0) json["skip_last"] = model.skip_last;
    std::printf("%s\n", json.dump(1).c_str());
}

void printModelText(const rope::ModelEncoding& model) {
    std::printf("rule %s, rotary_dim %u from element %u of %u, pairing %s", ropeRuleName(model.rule.kind),
                model.rotary_dim, model.rotary_begin, model.head_dim, pairingName(model.pairing));
    if (model.pairing_out != ROPE_PAIRING_DEFAULT && model.pairing_out != model.pairing)
        std::printf(" (out: %s)", pairingName(model.pairing_out));
    if (model.chunk_dim != 0) std::printf(", in chunks of %u elements", model.chunk_dim);
    if (model.skip_first != 0) std::printf(", not the first %u tokens", model.skip_first);
    if (model.skip_last != 0) std::printf(", not the last %u tokens", model.skip_last);
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

rope::NpyArray frequencyArray(const std::vector<double>& frequencies) {
    rope::NpyArray array;
    array.type = rope::NpyArray::Type::f64;
    array.shape = {frequencies.size()};
    array.data.resize(frequencies.size() * sizeof(double));
    std::memcpy(array.data.data(), frequencies.data(), array.data.size());
    return array;
}

bool runFrequencies(const FrequenciesOptions& options, Failure* failure) {
    const PathOption npy = {"--npy", options.npy, ""};
    const std::vector<PathOption> inputs = {{"--config", options.model.config, ""}};
    std::vector<PathOption> outputs;
    if (!options.npy.empty()) outputs.push_back(npy);
    rope::ModelEncoding model;
    if (!checkPaths(inputs, outputs, failure) || !readModel(options.model, options.rotary_dim, &model, failure))
        return false;
    for (const std::string& note : model.notes) warn("frequencies", note);
    const std::vector<OutputArray> arrays = {{npy, frequencyArray(model.frequencies)}};
    if (!options.npy.empty() && !writeArrays(arrays, failure)) return false;
    if (options.json) {
        printModelJson(model);
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
    app->add_option("--config", options->model.config, "a model's config.json, as Hugging Face has it, or its .gguf")
        ->required();
    addLayerOptions(app, &options->model);
    addRotaryDim(app, &options->rotary_dim);
    app->add_flag("--json", options->json, "print JSON");
    app->add_option(
        "--npy", options->npy,
        "write the frequencies to an .npy of float64; --frequencies with it, and --scale, give the same bits");
    app->footer(kFrequenciesExample);
    return [options](Failure* failure) { return runFrequencies(*options, failure); };
}

} // namespace tool
