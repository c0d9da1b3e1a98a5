// vkrope plot: draws models' frequencies and other encodings as an SVG.
#include "program/commands/chart.hpp"
#include "program/commands/encoding.hpp"
#include "program/option_values.hpp"
#include "program/output.hpp"
#include "program/tool.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

namespace tool {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct PlotOptions {
    std::string kind, out;
    ModelOptions model;
    std::vector<std::string> configs;
    uint32_t pair = UINT32_MAX;
    uint32_t dim = 128, positions = 100;
    double base = 10000;
    bool halves = false;
    uint32_t buckets = 32, max_distance = 128;
    bool bidirectional = false;
};

struct PlottedModel {
    std::string name;
    rope::ModelEncoding encoding;
};

std::vector<double> indices(size_t count) {
    std::vector<double> x(count);
    for (size_t i = 0; i < count; ++i) x[i] = static_cast<double>(i);
    return x;
}

rope::Chart ladderChart(const std::vector<PlottedModel>& models) {
    rope::Chart chart = {"Frequency ladder", "pair", "wavelength, positions per turn", false, true, {}};
    for (const PlottedModel& model : models) {
        const std::vector<double>& f = model.encoding.frequencies;
        std::vector<double> wavelength(f.size());
        for (size_t i = 0; i < f.size(); ++i) wavelength[i] = 2 * kPi / std::fabs(f[i]);
        const auto still = std::count(f.begin(), f.end(), 0.0);
        const std::string note =
            still == 0 ? "" : ", " + std::to_string(still) + " of " + std::to_string(f.size()) + " never turn";
        chart.lines.push_back({model.name + note, indices(f.size()), wavelength});
    }
    return chart;
}

// The chart shows each pair's frequency over that of the unextended model: 1 leaves a pair, 1/factor interpolates it.
rope::Chart rampChart(const std::vector<PlottedModel>& models) {
    rope::Chart chart = {"Each pair's frequency beside the unextended model's",
                         "pair",
                         "frequency / unextended frequency",
                         false,
                         true,
                         {}};
    size_t longest = 1;
    for (const PlottedModel& model : models) {
        const std::vector<double>& f = model.encoding.frequencies;
        RopeRule plain = {};
        plain.rotary_dim = static_cast<uint32_t>(2 * f.size());
        plain.base = model.encoding.rule.base;
        std::vector<double> before(f.size());
        double scale;
        if (ropeMakeFrequencies(&plain, before.data(), &scale, nullptr) != ROPE_SUCCESS) continue;
        for (size_t i = 0; i < f.size(); ++i) before[i] = std::fabs(f[i]) / before[i];
        chart.lines.push_back({model.name, indices(f.size()), before});
        for (size_t i = longest; i < f.size(); ++i) {
            if (f[i] != 0) longest = i + 1;
        }
    }
    chart.lines.push_back({"unextended", {0, static_cast<double>(longest - 1)}, {1, 1}, true});
    return chart;
}

// Returns the mean over j of |sum over i < j of e^(i m theta_i)|, RoFormer's bound on attention at a distance.
double decayAt(const std::vector<double>& frequencies, double distance) {
    double real = 0, imaginary = 0, sum = 0;
    for (const double f : frequencies) {
        real += std::cos(distance * f);
        imaginary += std::sin(distance * f);
        sum += std::hypot(real, imaginary);
    }
    return sum / static_cast<double>(frequencies.size());
}

rope::Chart decayChart(const std::vector<PlottedModel>& models) {
    rope::Chart chart = {"Long-range decay", "relative distance", "mean of |S_j|, at distance 0 = 1", false, false, {}};
    for (const PlottedModel& model : models) {
        std::vector<double> x, y;
        const double most = decayAt(model.encoding.frequencies, 0);
        for (int m = 0; m <= 256; ++m) {
            x.push_back(m);
            y.push_back(decayAt(model.encoding.frequencies, m) / most);
        }
        chart.lines.push_back({model.name, x, y});
    }
    return chart;
}

bool drawArrows(const std::vector<PlottedModel>& models, uint32_t wanted, std::string* svg, Failure* failure) {
    std::vector<rope::Dial> dials;
    for (const PlottedModel& model : models) {
        const std::vector<double>& f = model.encoding.frequencies;
        const uint32_t pair = wanted != UINT32_MAX ? wanted : static_cast<uint32_t>(f.size() / 16);
        if (pair >= f.size())
            return refuse(failure, "--pair is " + std::to_string(pair) + ", but " + model.name + " has " +
                                       std::to_string(f.size()) + " pairs, 0 to " + std::to_string(f.size() - 1));
        rope::Dial dial = {model.name + ", pair " + std::to_string(pair), {}, {}};
        for (int position = 0; position < 12; ++position) {
            dial.angles.push_back(position * f[pair]);
            dial.labels.push_back("m = " + std::to_string(position));
        }
        dials.push_back(dial);
    }
    *svg = rope::drawDials("One pair turning through the positions", dials);
    return true;
}

// Draws the table of sines and cosines that is added to embeddings.
bool drawSinusoid(const PlotOptions& options, std::string* svg, Failure* failure) {
    if (options.dim % 2 != 0)
        return refuse(failure,
                      "--dim is " + std::to_string(options.dim) + "; it must be even, a sine and a cosine each");
    RopeRule rule = {};
    rule.rotary_dim = options.dim;
    rule.base = options.base;
    std::vector<double> frequencies(options.dim / 2);
    double scale;
    RopeReason reason;
    if (ropeMakeFrequencies(&rule, frequencies.data(), &scale, &reason) != ROPE_SUCCESS)
        return refuse(failure, reason.text);
    RopeAddDescription d = {};
    d.tokens = options.positions;
    d.dim = options.dim;
    d.order = options.halves ? ROPE_SINUSOIDS_HALVES : ROPE_SINUSOIDS_INTERLEAVED;
    d.frequencies = {frequencies.data(), options.dim / 2, 0, nullptr, 1};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    const std::vector<float> zeros(size_t{options.positions} * options.dim);
    rope::HeatMap map = {"Sinusoidal positions", "element", "position", options.dim, std::vector<double>(zeros.size())};
    RopeHostAdd data = {nullptr, nullptr, zeros.data(), map.values.data(), nullptr, 0};
    if (ropeHostRunAdd(&d, &data, &reason) != ROPE_SUCCESS) return refuse(failure, reason.text);
    *svg = rope::drawHeatMap(map);
    return true;
}

// Returns the bucket of each distance from keys behind the query to keys before it; each step is as wide as its
// distances.
rope::ChartLine bucketSteps(const PlotOptions& options, uint32_t max_distance) {
    const int32_t far = static_cast<int32_t>(options.max_distance + options.max_distance / 4);
    rope::ChartLine line = {
        std::to_string(options.buckets) + " buckets, max distance " + std::to_string(max_distance), {}, {}};
    for (int32_t behind = options.bidirectional ? -far : 0; behind <= far; ++behind) {
        const double bucket = ropeT5Bucket(-behind, options.buckets, max_distance, options.bidirectional);
        line.x.insert(line.x.end(), {behind - 0.5, behind + 0.5});
        line.y.insert(line.y.end(), {bucket, bucket});
    }
    return line;
}

bool drawBuckets(const PlotOptions& options, std::string* svg, Failure* failure) {
    rope::Chart chart = {"T5's buckets", "query's position less the key's", "bucket", false, false, {}};
    for (const uint32_t max_distance : {options.max_distance, options.buckets}) {
        if (!chart.lines.empty() && max_distance == options.max_distance) continue;
        RopeBiasDescription d = {};
        d.heads = d.queries = d.keys = 1;
        d.buckets = options.buckets;
        d.max_distance = max_distance;
        d.bidirectional = options.bidirectional;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        RopePlan plan;
        if (ropePlanBias(&d, nullptr, &plan) != ROPE_SUCCESS) return refuse(failure, plan.reason.text);
        chart.lines.push_back(bucketSteps(options, max_distance));
    }
    if (chart.lines.size() > 1) chart.lines[1].dashed = true; // one published text has these buckets
    *svg = rope::drawChart(chart);
    return true;
}

// The worst errors of a cosine or sine at a position, over all pairs.
struct WorstErrors {
    double exact = 0;   // the shaders' own bits
    double product = 0; // true cos and sin of float32(position) * float32(frequency), the angle in most frameworks
};

WorstErrors worstErrorsAt(int64_t position, const std::vector<double>& frequencies,
                          const std::vector<uint32_t>& words) {
    WorstErrors worst;
    for (size_t pair = 0; pair < frequencies.size(); ++pair) {
        double truth[2], product[2];
        float bits[2];
        ropeReferenceAngle(position, frequencies[pair], ROPE_ANGLE_EXACT, truth);
        ropeReferenceAngle(position, frequencies[pair], ROPE_ANGLE_COMPATIBLE, product);
        ropeShaderAngle(position, words.data() + 4 * pair, 1, ROPE_ANGLE_EXACT, bits);
        for (int i = 0; i < 2; ++i) {
            worst.exact = std::max(worst.exact, std::fabs(bits[i] - truth[i]));
            worst.product = std::max(worst.product, std::fabs(product[i] - truth[i]));
        }
    }
    return worst;
}

// The chart has a point at each power of two: the worst of up to 32 positions before it.
rope::Chart accuracyChart(const std::vector<PlottedModel>& models) {
    rope::Chart chart = {"Worst error of cos and sin", "position", "absolute error", true, true, {}};
    for (const PlottedModel& model : models) {
        const std::vector<double>& f = model.encoding.frequencies;
        const RopeFrequencies all = {f.data(), static_cast<uint32_t>(f.size()), 1, nullptr, 1};
        std::vector<uint32_t> words(ropeFrequencyBytes(all.count) / sizeof(uint32_t));
        if (ropeWriteFrequencies(&all, ROPE_ANGLE_EXACT, words.data(), nullptr) != ROPE_SUCCESS) continue;
        rope::ChartLine exact = {model.name + ", computed here", {}, {}};
        rope::ChartLine product = {model.name + ", of float32 angles", {}, {}, true};
        for (int64_t next = 2; next <= 1 << 30; next *= 2) {
            WorstErrors worst;
            for (int64_t position = std::max<int64_t>(next - 32, 0); position < next; ++position) {
                const WorstErrors here = worstErrorsAt(ROPE_WHOLE_POSITION(position), f, words);
                worst = {std::max(worst.exact, here.exact), std::max(worst.product, here.product)};
            }
            exact.x.push_back(static_cast<double>(next)), exact.y.push_back(worst.exact);
            product.x.push_back(static_cast<double>(next)), product.y.push_back(worst.product);
        }
        chart.lines.insert(chart.lines.end(), {exact, product});
    }
    return chart;
}

// Names a model by its file. A "config.json" is named by its folder, as "meta-llama" or "qwen".
std::string plottedName(const std::string& path, const rope::ModelEncoding& encoding) {
    const size_t slash = path.find_last_of('/');
    std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (name == "config.json" && slash != std::string::npos) {
        const size_t before = path.find_last_of('/', slash - 1);
        name = path.substr(before == std::string::npos ? 0 : before + 1, slash - (before + 1));
    }
    const char* rule = ropeRuleName(encoding.rule.kind);
    return name + (rule != nullptr ? std::string(" (") + rule + ")" : "");
}

// An option that says nothing of a kind is refused with it.
bool checkPlotOptions(const CLI::App& app, const std::string& kind, Failure* failure) {
    constexpr char kOfModels[] = "ladder, ramp, decay, arrows and accuracy";
    const struct {
        const char *option, *kinds;
    } kTaken[] = {{"--config", kOfModels},     {"--layer", kOfModels},        {"--layer-type", kOfModels},
                  {"--length", kOfModels},     {"--pair", "arrows"},          {"--dim", "sinusoid"},
                  {"--positions", "sinusoid"}, {"--base", "sinusoid"},        {"--halves", "sinusoid"},
                  {"--buckets", "buckets"},    {"--max-distance", "buckets"}, {"--bidirectional", "buckets"}};
    for (const auto& taken : kTaken) {
        if (app.count(taken.option) == 0 || std::strstr(taken.kinds, kind.c_str()) != nullptr) continue;
        return refuse(failure, std::string(taken.option) + " goes with " + taken.kinds + ", and not with " + kind);
    }
    return true;
}

bool runPlot(const PlotOptions& options, Failure* failure) {
    std::vector<PathOption> inputs;
    for (const std::string& config : options.configs) inputs.push_back({"--config", config, ""});
    const PathOption out = {"--out", options.out, "", PathOption::Holds::drawing};
    if (!checkPaths(inputs, {out}, failure)) return false;
    std::string svg;
    if (options.kind == "sinusoid") return drawSinusoid(options, &svg, failure) && writeText(out, svg, failure);
    if (options.kind == "buckets") return drawBuckets(options, &svg, failure) && writeText(out, svg, failure);
    if (options.configs.empty()) return refuse(failure, "--config is missing; it says what is drawn");
    std::vector<PlottedModel> models;
    for (const std::string& config : options.configs) {
        PlottedModel model;
        ModelOptions chosen = options.model;
        chosen.config = config;
        if (!readModel(chosen, 0, &model.encoding, failure)) return false;
        model.name = plottedName(config, model.encoding);
        models.push_back(model);
    }
    if (options.kind == "arrows") {
        if (!drawArrows(models, options.pair, &svg, failure)) return false;
    } else {
        svg = rope::drawChart(options.kind == "ladder"     ? ladderChart(models)
                              : options.kind == "ramp"     ? rampChart(models)
                              : options.kind == "accuracy" ? accuracyChart(models)
                                                           : decayChart(models));
    }
    if (!writeText(out, svg, failure)) return false;
    for (const PlottedModel& model : models) {
        const std::string layers = describeLayers(model.encoding);
        if (!layers.empty()) remark("plot", model.name + ": " + layers);
        for (const std::string& note : model.encoding.notes) warn("plot", model.name + ": " + note);
    }
    return true;
}

const char kPlotExample[] =
    "example:\n"
    "  echo '{\"model_type\": \"llama\", \"head_dim\": 128, \"rope_theta\": 500000}' > config.json\n"
    "  vkrope plot ladder --config config.json --out ladder.svg\n"
    "  vkrope plot sinusoid --dim 128 --out sinusoid.svg\n"
    "  vkrope plot buckets --bidirectional --out buckets.svg";

} // namespace

RunCommand addPlotCommand(CLI::App* app) {
    const auto options = std::make_shared<PlotOptions>();
    app->add_option(
           "kind", options->kind,
           "ladder: each pair's wavelength; ramp: what an extension does to each pair; decay: attention's bound "
           "over the distance; arrows: one pair turning; accuracy: the worst error over the position; sinusoid: the "
           "table that is added to embeddings; buckets: "
           "T5's, over the distance")
        ->required()
        ->check(CLI::IsMember({"ladder", "ramp", "decay", "arrows", "accuracy", "sinusoid", "buckets"}));
    app->add_option(
           "--config", options->configs,
           "all but sinusoid and buckets: a model's config.json or .gguf; again for more models in one picture")
        ->allow_extra_args(false);
    addLayerOptions(app, &options->model);
    takesCount(app->add_option("--pair", options->pair, "arrows: which pair; without it one of the faster"),
               "a whole number", 0, ROPE_MAX_PAIRS - 1);
    takesCount(app->add_option("--dim", options->dim, "sinusoid: elements of an embedding; without it 128"),
               "an even number", 2, 1024);
    takesCount(app->add_option("--positions", options->positions, "sinusoid: how many, from 0; without it 100"),
               "a whole number", 1, 1024);
    takesNumber(app->add_option("--base", options->base, "sinusoid: without it 10000"), "a number", 1,
                0x1.fffffffffffffp63);
    app->add_flag("--halves", options->halves, "sinusoid: all sines, then all cosines");
    takesCount(app->add_option("--buckets", options->buckets, "buckets: how many; without it 32"), "a whole number", 2,
               ROPE_MAX_BUCKETS);
    takesCount(
        app->add_option("--max-distance", options->max_distance, "buckets: where the last begins; without it 128"),
        "a whole number", 2, 4096);
    app->add_flag("--bidirectional", options->bidirectional, "buckets: half of them are for keys after their query");
    app->add_option("-o,--out", options->out, "the .svg to write")->required();
    app->footer(kPlotExample);
    return [app, options](Failure* failure) {
        return checkPlotOptions(*app, options->kind, failure) && runPlot(*options, failure);
    };
}

} // namespace tool
