// vkrope bias: makes T5's, clipped or ALiBi's bias, or adds it to scores.
#include "program/element.hpp"
#include "program/files/array_file.hpp"
#include "program/files/arrays.hpp"
#include "program/format_names.hpp"
#include "program/option_values.hpp"
#include "program/output.hpp"
#include "program/progress.hpp"
#include "program/target.hpp"
#include "program/tool.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace tool {
namespace {

constexpr uint32_t kMaxSlopes = 65536;

struct BiasOptions {
    std::string kind, weights, scores, out, element, device;
    uint32_t heads = 0, queries = 0, keys = 0, max_distance = 0; // 0: not given
    int32_t first_query = 0, least = 0;
    bool bidirectional = false, causal = false;
};

struct BiasRequest {
    RopeBiasDescription description = {};
    GivenTable weights;        // for T5 and clipped
    std::vector<float> slopes; // for ALiBi
    Tensor scores;             // no heads: the bias alone is written
};

bool checkBiasOptions(const BiasOptions& options, Failure* failure) {
    const bool alibi = options.kind == "alibi";
    if (alibi && !options.weights.empty())
        return refuse(failure, "--weights goes with t5 and clipped; alibi has slopes");
    if (!alibi && options.weights.empty())
        return refuse(failure, "--weights is missing; it holds the values of each head");
    if (options.kind != "clipped" && options.least != 0) return refuse(failure, "--least goes with clipped");
    if (options.kind != "t5" && options.max_distance != 0) return refuse(failure, "--max-distance goes with t5");
    if (options.kind == "clipped" && options.bidirectional)
        return refuse(failure, "--bidirectional goes with t5 and alibi; clipped has rows for both sides");
    const bool sizes = options.queries != 0 || options.keys != 0;
    if (!options.scores.empty() && (sizes || options.heads != 0))
        return refuse(failure, "--heads, --queries and --keys say what is written without --scores, which have them");
    if (options.scores.empty() && (options.queries == 0 || options.keys == 0))
        return refuse(failure, "--scores, or --queries and --keys are missing; they say how large the bias is");
    if (options.scores.empty() && alibi && options.heads == 0)
        return refuse(failure, "--heads is missing; it says how many slopes there are");
    if (!alibi && options.heads != 0)
        return refuse(failure, "--heads goes with alibi; --weights have a column for each");
    return checkPaths({{"--weights", options.weights, ""}, {"--scores", options.scores, ""}},
                      {{"--out", options.out, options.scores}}, failure);
}

bool readScores(const BiasOptions& options, BiasRequest* bias, Failure* failure) {
    RopeBiasDescription& d = bias->description;
    d.queries = options.queries;
    d.keys = options.keys;
    d.heads = options.heads;
    d.write_only = 1;
    d.element = options.element.empty() ? ROPE_ELEMENT_F32 : elementOf(options.element);
    if (options.scores.empty()) return true;
    // As a tensor's: [batch, heads, queries, keys].
    if (!readTensorFile("--scores", options.scores, "bhsd", elementOf(options.element), &bias->scores, failure))
        return false;
    const Tensor& s = bias->scores;
    if (s.array.shape.size() != 4) {
        return refuse(failure, "--scores: " + options.scores + " has the shape " + shapeText(s.array) +
                                   "; it must be [batch, heads, queries, keys]");
    }
    d.write_only = 0;
    d.batch = s.batch;
    d.heads = s.heads;
    d.queries = s.tokens;
    d.keys = s.head_dim;
    d.element = s.element;
    return true;
}

bool readWeights(const BiasOptions& options, BiasRequest* bias, Failure* failure) {
    RopeBiasDescription& d = bias->description;
    RopeReason reason;
    if (options.kind == "alibi") {
        if (d.heads > kMaxSlopes) {
            return refuse(failure, "--scores has " + std::to_string(d.heads) + " heads; alibi has slopes of at most " +
                                       std::to_string(kMaxSlopes));
        }
        bias->slopes.resize(d.heads);
        return ropeMakeAlibiSlopes(d.heads, bias->slopes.data(), &reason) == ROPE_SUCCESS ||
               refuse(failure, reason.text);
    }
    const char* shape = options.kind == "t5" ? "[buckets, heads]" : "[distances, heads]";
    if (!readTable("--weights", options.weights, shape, elementOf(options.element), &bias->weights, failure))
        return false;
    if (options.scores.empty()) d.heads = bias->weights.columns;
    if (bias->weights.columns != d.heads) {
        return refuse(failure, "--weights has " + std::to_string(bias->weights.columns) + " heads, but --scores has " +
                                   std::to_string(d.heads));
    }
    d.rows.element = bias->weights.element;
    d.buckets = bias->weights.rows;
    d.max_distance = options.max_distance != 0 ? options.max_distance : 128;
    d.least = options.least;
    d.most = static_cast<int32_t>(int64_t{options.least} + bias->weights.rows - 1);
    return true;
}

bool readBias(const BiasOptions& options, BiasRequest* bias, Failure* failure) {
    RopeBiasDescription& d = bias->description;
    d.kind = options.kind == "t5" ? ROPE_BIAS_T5 : options.kind == "clipped" ? ROPE_BIAS_CLIPPED : ROPE_BIAS_ALIBI;
    d.bidirectional = options.bidirectional;
    d.causal = options.causal;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = options.first_query;
    if (!readScores(options, bias, failure) || !readWeights(options, bias, failure)) return false;
    return fitsMemory("a bias of " + std::to_string(d.heads) + " heads", // with the device's copy and a reference
                      16.0 * d.heads * d.queries * d.keys * std::max(d.batch, 1u), failure);
}

size_t scoreCount(const RopeBiasDescription& d) { return size_t{std::max(d.batch, 1u)} * d.heads * d.queries * d.keys; }

const void* biasRows(const BiasRequest& bias) {
    return bias.slopes.empty() ? static_cast<const void*>(bias.weights.array.data.data()) : bias.slopes.data();
}

bool biasOnDevice(rope::Device* device, const BiasRequest& bias, std::vector<uint8_t>* out, Failure* failure) {
    const RopeBiasDescription& d = bias.description;
    RopePlan plan;
    if (ropePlanBias(&d, &device->limits(), &plan) != ROPE_SUCCESS) return refusePlan(plan, *device, failure);
    SlotBytes slots;
    slots.bytes[ROPE_SLOT_ROWS] = bias.weights.array.data;
    if (!bias.slopes.empty()) slots.set(ROPE_SLOT_ROWS, bias.slopes);
    slots.bytes[ROPE_SLOT_X] = bias.scores.array.data;
    if (plan.bytes[ROPE_SLOT_PARAMETERS] != 0) {
        slots.bytes[ROPE_SLOT_PARAMETERS].resize(static_cast<size_t>(plan.bytes[ROPE_SLOT_PARAMETERS]));
        ropeWriteBuckets(&d, slots.bytes[ROPE_SLOT_PARAMETERS].data(), nullptr);
    }
    if (!runPlans(device, {plan}, {ROPE_SLOT_X}, &slots, failure)) return false;
    *out = std::move(slots.bytes[ROPE_SLOT_X]);
    out->resize(scoreCount(d) * ropeElementBytes(d.element)); // buffers end with a whole word
    return true;
}

bool biasOnCpu(const BiasRequest& bias, bool reference, std::vector<uint8_t>* out, Failure* failure) {
    const RopeBiasDescription& d = bias.description;
    std::vector<double> values(reference ? scoreCount(d) : 0);
    std::vector<uint8_t> bits(scoreCount(d) * ropeElementBytes(d.element));
    RopeHostBias data = {nullptr, biasRows(bias), bias.scores.array.data.data(), reference ? values.data() : nullptr,
                         bits.data()};
    RopeReason reason;
    if (ropeHostRunBias(&d, &data, &reason) != ROPE_SUCCESS) return refuse(failure, reason.text);
    *out = reference ? roundedOnce(values, d.element, bits) : std::move(bits);
    return true;
}

bool runBias(const BiasOptions& options, Failure* failure) {
    Progress progress;
    BiasRequest bias;
    Target target;
    progress.show("reading");
    if (!checkBiasOptions(options, failure) || !readBias(options, &bias, failure) ||
        !openTarget(options.device, &target, failure))
        return false;
    const RopeBiasDescription& d = bias.description;
    OutputArray result = {{"--out", options.out, options.scores}, {}};
    progress.show(d.write_only != 0 ? "writing the bias" : "adding");
    if (!(target.device ? biasOnDevice(&target.device, bias, &result.array.data, failure)
                        : biasOnCpu(bias, target.reference, &result.array.data, failure)))
        return false;
    result.array.type = typeOf(d.element);
    result.array.shape = {d.heads, d.queries, d.keys};
    if (d.write_only == 0) result.array.shape = bias.scores.array.shape;
    progress.show("writing");
    return writeArrays({result}, failure);
}

const char kBiasExample[] = "examples, one of a decoder's step whose query stands behind 99 keys:\n"
                            "  vkrope bias alibi --heads 8 --queries 100 --keys 100 --causal --out alibi.npy\n"
                            "  vkrope bias alibi --heads 8 --queries 1 --keys 100 --first-query 99 --out step.npy";

void addSizeOptions(CLI::App* app, BiasOptions* options) {
    const uint64_t most = 1u << 30;
    takesCount(app->add_option("--heads", options->heads, "alibi without --scores: how many heads"), "a whole number",
               1, kMaxSlopes);
    takesCount(app->add_option("--queries", options->queries, "without --scores: how many queries"), "a whole number",
               1, most);
    takesCount(app->add_option("--keys", options->keys, "without --scores: how many keys"), "a whole number", 1, most);
    takesWhole(app->add_option("--first-query", options->first_query,
                               "the position of the first query; the first key is at position 0; without it 0"),
               INT32_MIN, INT32_MAX);
}

} // namespace

RunCommand addBiasCommand(CLI::App* app) {
    const auto options = std::make_shared<BiasOptions>();
    app->add_option("kind", options->kind,
                    "t5: buckets of distances; clipped: a row for each distance; alibi: a slope for each head")
        ->required()
        ->check(CLI::IsMember({"t5", "clipped", "alibi"}));
    app->add_option("--weights", options->weights,
                    "t5: [buckets, heads]; clipped: [distances, heads], the first row for the least");
    app->add_option("--scores", options->scores,
                    "the scores that the bias is added to, [batch, heads, queries, keys]; without them the bias "
                    "alone is written, as [heads, queries, keys]");
    app->add_option("--out", options->out, "the file to write")->required();
    addSizeOptions(app, options.get());
    takesWhole(app->add_option("--least", options->least,
                               "clipped: the query's position less the key's, for the first row; without it 0"),
               -(1 << 30), 1 << 30);
    takesCount(
        app->add_option("--max-distance", options->max_distance, "t5: where the last bucket begins; without it 128"),
        "a whole number", 2, (1u << 30) - 1);
    app->add_flag("--bidirectional", options->bidirectional,
                  "t5: half the buckets are for keys after their query; alibi: by the distance to either side");
    app->add_flag("--causal", options->causal, "keys after their query get -infinity");
    app->add_option("--element", options->element,
                    "what scores, weights and the bias hold: f32, f16 or bf16, which is uint16 in an .npy; without "
                    "scores f32")
        ->check(CLI::IsMember(elementNames()));
    app->add_option("--device", options->device, kDeviceHelp);
    app->footer(kArrayFilesHelp + std::string(kBiasExample));
    return [options](Failure* failure) { return runBias(*options, failure); };
}

} // namespace tool
