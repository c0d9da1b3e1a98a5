#include "models/gguf/architecture.hpp"

#include "models/words.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace rope {
namespace gguf {
namespace {

constexpr double kMostPositions = 1 << 30;
constexpr const char *kFactor = "rope.scaling.factor", *kOlderFactor = "rope.scale_linear",
                     *kType = "rope.scaling.type", *kAlpha = "rope.scaling.alpha",
                     *kOriginalLength = "rope.scaling.original_context_length", *kContext = "context_length",
                     *kLogMultiplier = "rope.scaling.yarn_log_multiplier", *kFast = "rope.scaling.yarn_beta_fast",
                     *kSlow = "rope.scaling.yarn_beta_slow", *kTemperature = "attention.temperature_scale";

std::string readScalingType(const ArchitectureKeys& keys) {
    const Value* type = keys.find(kType);
    if (type == nullptr) return "";
    const bool named = type->kind == Value::Kind::text;
    const std::string& text = type->text;
    if (named && isOneOf(text, {"none", "linear", "yarn", "longrope"})) return text;
    keys.refuse(kType,
                "is " + (named ? shown(text) : "no text") + "; 'none', 'linear', 'yarn' and 'longrope' are read");
}

// Finds the scale on cos and sin (src/llama-context.cpp and rope_yarn in ggml/src/ggml-cpu/ops.cpp of llama.cpp).
// llama.cpp passes g(1) / (1 + 0.1 ln s) to its kernel, which multiplies by 1 + 0.1 ln(1 / freq_scale), the same
// factor: g(1) is left, with g(m) = 1 + 0.1 m ln s beyond s = 1. With a yarn_log_multiplier L the scale is g(1) / g(L).
// For DeepSeek 2 it is g(L) / g(L) = 1, and the attention is scaled instead. All files but Mistral 3's have 0.1 L, and
// llama.cpp divides that by 0.1f.
double readYarnScale(const ArchitectureKeys& keys, const Architecture& architecture, double factor) {
    const auto magnitude = [factor](double m) { return factor <= 1 ? 1 : 1 + 0.1 * m * std::log(factor); };
    double multiplier = keys.number(kLogMultiplier, 0, 1e3, 0);
    if (multiplier == 0) return magnitude(1);
    if (architecture.yarn_unscaled) return 1;
    if (architecture.log_multiplier == 0)
        keys.refuse(kLogMultiplier, "is not read for the architecture " + shown(architecture.name));
    if (architecture.log_multiplier != 1)
        multiplier =
            static_cast<double>(static_cast<float>(multiplier) / static_cast<float>(architecture.log_multiplier));
    return magnitude(1) / magnitude(multiplier);
}

// Queries are scaled as src/models/*.cpp of llama.cpp do so. Llama 4 has no key for it: a window of 0 switches it off
// together with the layers that do not rotate.
QueryScaling readQueryScaling(const ArchitectureKeys& keys, const Architecture& architecture,
                              const std::vector<ModelLayer>& layers) {
    const bool all_rotate = std::all_of(layers.begin(), layers.end(), std::mem_fn(&ModelLayer::rotates));
    if (architecture.scales_still_queries && !all_rotate) return {0.1, 8192, 1, true};
    QueryScaling scaling;
    if (architecture.query_lengths.size() == 0) return scaling;
    scaling.beta = keys.number(kTemperature, -1e6, 1e6, 0);
    if (scaling.beta == 0) return scaling;
    std::string names;
    for (const char* length : architecture.query_lengths) {
        if (scaling.interval == 0) scaling.interval = keys.count(length, kMostPositions, 0);
        names += (names.empty() ? "" : " or ") + keys.name(length);
    }
    if (scaling.interval == 0) keys.refuse(kTemperature, "needs " + names);
    return scaling;
}

} // namespace

Scaling readScaling(const ArchitectureKeys& keys, const Architecture& architecture) {
    Scaling scaling;
    scaling.type = readScalingType(keys);
    scaling.factor = keys.number(kFactor, 0, 1e6, 0);
    const double older = keys.number(kOlderFactor, 0, 1e6, 0);
    scaling.attention = keys.number("rope.scaling.attn_factor", 1e-3, 1e3, 1);
    const double extrapolation = keys.number("rope.scaling.yarn_ext_factor", -1e3, 1e3, -1);
    const double unread = keys.number("rope.scaling.yarn_attn_factor", -1e3, 1e3, 1);
    if (scaling.factor != 0 && older != 0 && scaling.factor != older) {
        refuse("the keys " + keys.name(kFactor) + " and " + keys.name(kOlderFactor) + " differ, " +
               shown(scaling.factor) + " and " + shown(older));
    }
    if (scaling.factor == 0) scaling.factor = older;
    if (scaling.factor != 0 && scaling.factor < 1e-6)
        keys.refuse(kFactor, "is " + shown(scaling.factor) + "; it must be from 1e-06 to 1000000, or 0 for none");
    if (extrapolation > 0 && extrapolation != 1)
        keys.refuse("rope.scaling.yarn_ext_factor", "is " + shown(extrapolation) + "; 0 and 1 are read");
    scaling.yarn = extrapolation < 0 ? scaling.type == "yarn" : extrapolation == 1;
    // llama.cpp reads this key for Grok alone, and computes the factor anew for yarn, whatever the key says.
    if (unread != 1 && isOneOf("rope.scaling.yarn_attn_factor", architecture.reads) && !scaling.yarn)
        keys.refuse("rope.scaling.yarn_attn_factor", "is " + shown(unread) + " without yarn; only 1 is read");
    if (scaling.type == "none" && (scaling.yarn || (scaling.factor != 0 && scaling.factor != 1)))
        keys.refuse(kType, "is 'none', and other keys scale");
    const bool takes_factor = scaling.yarn || scaling.type == "linear" || scaling.type == "yarn";
    if (scaling.factor == 0 && takes_factor && !scaling.type.empty())
        refuse("the scaling " + shown(scaling.type) + " has no " + keys.name(kFactor));
    return scaling;
}

double readGgufOriginalLength(const ArchitectureKeys& keys, const std::string& why) {
    const double length = keys.number(kOriginalLength, 1, 1e12, keys.number(kContext, 1, 1e12, 0));
    if (length != 0) return length;
    refuse(why + " has neither " + keys.name(kOriginalLength) + " nor " + keys.name(kContext));
}

RopeRule readGgufRule(const ArchitectureKeys& keys, const Architecture& architecture, const Scaling& scaling) {
    RopeRule rule = {};
    rule.base = keys.number("rope.freq_base", 1, 1e19, 10000);
    rule.factor = scaling.factor;
    const bool scales = scaling.factor != 0 && scaling.factor != 1;
    const double alpha = keys.number(kAlpha, 0, 1e6, 0);
    if (alpha != 0 && (scaling.yarn || scales))
        refuse("the keys " + keys.name(kAlpha) + " and " + keys.name(kFactor) + " ask for two rules at once");
    rule.kind = scaling.yarn ? ROPE_RULE_YARN : scales ? ROPE_RULE_LINEAR : ROPE_RULE_DEFAULT;
    if (alpha != 0) {
        rule.kind = ROPE_RULE_NTK;
        rule.factor = alpha;
    }
    if (!scaling.yarn) return rule;
    rule.original_length = readGgufOriginalLength(keys, "the scaling 'yarn'");
    rule.beta_fast = keys.number(kFast, 1e-6, 1e6, architecture.beta_fast);
    rule.beta_slow = keys.number(kSlow, 1e-6, 1e6, 0);
    rule.attention_factor = readYarnScale(keys, architecture, scaling.factor) * scaling.attention;
    return rule;
}

void readGgufScales(const ArchitectureKeys& keys, const Architecture& architecture, ModelEncoding* encoding) {
    const RopeRule& rule = encoding->rule;
    const std::string name = shown(architecture.name);
    std::vector<std::string>* notes = &encoding->notes;
    const bool yarn = rule.kind == ROPE_RULE_YARN;
    const double fast = keys.number(kFast, 1e-6, 1e6, 32), slow = keys.number(kSlow, 1e-6, 1e6, 1);
    if (yarn && !isOneOf(kFast, architecture.reads) && (fast != 32 || slow != 1)) {
        notes->push_back("the frequencies have the file's beta_fast " + shown(fast) + " and beta_slow " + shown(slow) +
                         ", as the model's own code has; llama.cpp does not read these keys for " + name +
                         ", and takes 32 and 1");
    }
    encoding->query_scaling = readQueryScaling(keys, architecture, encoding->layers);
    if (encoding->query_scaling.beta != 0)
        notes->push_back("the architecture " + name + " scales queries " +
                         describeQueryScaling(encoding->query_scaling));
    // With latent attention, llama.cpp scales scores by what it cancels on cos and sin, and by the log multiplier.
    if (!yarn || !architecture.softmax_scale) return;
    const double log = rule.factor > 1 ? std::log(rule.factor) : 0;
    const double root = encoding->scale * (1 + keys.number(kLogMultiplier, 0, 1e3, 0) * log);
    if (root == 1) return;
    notes->push_back("llama.cpp multiplies the softmax scale of the architecture " + name + " by " +
                     shown(root * root) + "; this is no rotation and is left to the caller");
}

} // namespace gguf
} // namespace rope
