// vkrope frequencies: prints a model's frequencies, from its configuration.
#include "program/commands/encoding.hpp"
#include "program/commands/frequencies_json.hpp"
#include "program/format_names.hpp"
#include "program/output.hpp"
#include "program/tool.hpp"

#include <CLI/CLI.hpp>

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

// Says where a head turns that comes split off, or whole.
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

rope::NpyArray frequencyArray(const std::vector<double>& frequencies) {
    rope::NpyArray array;
    array.type = rope::NpyArray::Type::f64;
    array.shape = {frequencies.size()};
    array.data.resize(frequencies.size() * sizeof(double));
    std::memcpy(array.data.data(), frequencies.data(), array.data.size());
    return array;
}

// Returns the options by which pairs get their axes.
std::string axesOptions(const rope::ModelEncoding& model) {
    std::vector<uint32_t> sections(model.axis_names.size(), 0);
    std::string list, counts;
    for (const uint8_t axis : model.axes) {
        if (axis < sections.size()) ++sections[axis];
        list += (list.empty() ? "" : ",") + std::to_string(axis);
    }
    for (const uint32_t count : sections) counts += (counts.empty() ? "" : ",") + std::to_string(count);
    for (const RopeAxesOrder order : {ROPE_AXES_CONTIGUOUS, ROPE_AXES_INTERLEAVED}) {
        std::vector<uint8_t> axes(model.axes.size());
        const uint32_t pairs = static_cast<uint32_t>(axes.size()), count = static_cast<uint32_t>(sections.size());
        if (ropeSetAxes(order, sections.data(), count, pairs, axes.data(), nullptr) == ROPE_SUCCESS &&
            axes == model.axes)
            return " --sections " + counts + (order == ROPE_AXES_INTERLEAVED ? " --axes interleaved" : "");
    }
    return " --axes " + list;
}

// Returns the options that `rotate` wants beside --frequencies, where they differ from what it takes without them.
std::string otherOptions(const rope::ModelEncoding& model) {
    std::string text;
    char scale[32];
    std::snprintf(scale, sizeof scale, "%.17g", model.scale);
    const auto add = [&text](const char* option, uint32_t value) {
        if (value != 0) text += std::string(" ") + option + " " + std::to_string(value);
    };
    if (model.scale != 1) text += std::string(" --scale ") + scale;
    if (model.pairing == ROPE_PAIRING_INTERLEAVED) text += " --pairing interleaved";
    if (model.pairing_out != ROPE_PAIRING_DEFAULT && model.pairing_out != model.pairing)
        text += std::string(" --pairing-out ") + pairingName(model.pairing_out);
    add("--rotary-offset", model.rotary_begin);
    add("--chunk-dim", model.chunk_dim);
    add("--skip-first", model.skip_first);
    add("--skip-last", model.skip_last);
    return model.axes.empty() ? text : text + axesOptions(model);
}

void remarkOptions(const std::string& path, const rope::ModelEncoding& model) {
    std::string options = otherOptions(model);
    if (model.nope_dim != 0)
        options += ", and for whole heads of " + std::to_string(model.nope_dim + model.head_dim) +
                   " with --rotary-offset " + std::to_string(model.nope_dim + model.rotary_begin) + " too";
    if (!options.empty()) remark("frequencies", "rotate takes these with --frequencies " + path + options);
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
    if (!options.npy.empty()) remarkOptions(options.npy, model);
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
    app->add_option("--config", options->model.config, "a model's config.json, as Hugging Face has it, or its .gguf");
    addLayerOptions(app, &options->model);
    addRotaryDim(app, &options->rotary_dim);
    app->add_flag("--json", options->json, "print JSON");
    app->add_option(
        "--npy", options->npy,
        "write the frequencies to an .npy of float64; `rotate --frequencies` with it gives the same bits, with "
        "the other options that a line names: --scale, --pairing, --pairing-out, --rotary-offset, --sections ...");
    const std::vector<CLI::Option*> others = app->get_options([](CLI::Option* o) { return !o->check_lname("help"); });
    CLI::Option* schema =
        app->add_flag("--json-schema", options->schema, "print the JSON schema of what --json prints, by itself");
    for (CLI::Option* other : others) schema->excludes(other);
    app->footer(kFrequenciesExample);
    return [options](Failure* failure) { return runFrequencies(*options, failure); };
}

} // namespace tool
