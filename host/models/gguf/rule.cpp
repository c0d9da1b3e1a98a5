#include "models/gguf/rule.hpp"

#include <cmath>

namespace rope {
namespace gguf {

bool readScaling(const ArchitectureKeys& keys, const std::string& architecture, Scaling* scaling, std::string* error) {
    const Value* type = keys.find("rope.scaling.type");
    const bool named = type != nullptr && type->kind == Value::Kind::text;
    if (named) scaling->type = type->text;
    if ((type != nullptr && !named) || (named && !isIn(" none linear yarn longrope ", type->text))) {
        return refuse(error, "the key " + keys.name("rope.scaling.type") + " is " +
                                 (named ? shown(type->text) : "no text") +
                                 "; 'none', 'linear', 'yarn' and 'longrope' are read");
    }
    double older = 0, extrapolation = -1, unread = 1;
    if (!keys.number("rope.scaling.factor", 0, 1e6, &scaling->factor, error) ||
        !keys.number("rope.scale_linear", 0, 1e6, &older, error) ||
        !keys.number("rope.scaling.attn_factor", 1e-3, 1e3, &scaling->attention, error) ||
        !keys.number("rope.scaling.yarn_ext_factor", -1e3, 1e3, &extrapolation, error) ||
        !keys.number("rope.scaling.yarn_attn_factor", -1e3, 1e3, &unread, error))
        return false;
    if (scaling->factor != 0 && older != 0 && scaling->factor != older) {
        return refuse(error, "the keys " + keys.name("rope.scaling.factor") + " and " + keys.name("rope.scale_linear") +
                                 " differ, " + shown(scaling->factor) + " and " + shown(older));
    }
    if (scaling->factor == 0) scaling->factor = older;
    if (scaling->factor != 0 && scaling->factor < 1e-6)
        return refuse(error, "the key " + keys.name("rope.scaling.factor") + " is " + shown(scaling->factor) +
                                 "; it must be from 1e-06 to 1000000, or 0 for none");
    if (extrapolation > 0 && extrapolation != 1)
        return refuse(error, "the key " + keys.name("rope.scaling.yarn_ext_factor") + " is " + shown(extrapolation) +
                                 "; 0 and 1 are read");
    scaling->yarn = extrapolation < 0 ? scaling->type == "yarn" : extrapolation == 1;
    // llama.cpp reads this key for Grok alone, and computes the factor anew for yarn, whatever the key says.
    if (unread != 1 && architecture == "grok" && !scaling->yarn)
        return refuse(error, "the key " + keys.name("rope.scaling.yarn_attn_factor") + " is " + shown(unread) +
                                 " without yarn; only 1 is read");
    if (scaling->type == "none" && (scaling->yarn || (scaling->factor != 0 && scaling->factor != 1)))
        return refuse(error, "the key " + keys.name("rope.scaling.type") + " is 'none', and other keys scale");
    if (scaling->factor == 0 && (scaling->yarn || isIn(" linear yarn ", scaling->type)) && type != nullptr) {
        return refuse(error, "the scaling " + shown(scaling->type) + " has no " + keys.name("rope.scaling.factor"));
    }
    return true;
}

bool readGgufOriginalLength(const ArchitectureKeys& keys, const std::string& why, double* length, std::string* error) {
    if (!keys.number("context_length", 1, 1e12, length, error) ||
        !keys.number("rope.scaling.original_context_length", 1, 1e12, length, error))
        return false;
    if (*length != 0) return true;
    return refuse(error, why + " has neither " + keys.name("rope.scaling.original_context_length") + " nor " +
                             keys.name("context_length"));
}

namespace {

// Finds the scale on cos and sin (src/llama-context.cpp and rope_yarn in ggml/src/ggml-cpu/ops.cpp of llama.cpp).
// llama.cpp passes g(1) / (1 + 0.1 ln s) to its kernel, which multiplies by 1 + 0.1 ln(1 / freq_scale), the same
// factor: g(1) is left, with g(m) = 1 + 0.1 m ln s beyond s = 1. With a yarn_log_multiplier L the scale is g(1) / g(L).
// For DeepSeek 2 it is g(L) / g(L) = 1, and the attention is scaled instead. All files but Mistral 3's have 0.1 L, and
// llama.cpp divides that by 0.1f.
bool readYarnScale(const ArchitectureKeys& keys, const std::string& architecture, double factor, double* scale,
                   std::string* error) {
    const auto magnitude = [factor](double m) { return factor <= 1 ? 1 : 1 + 0.1 * m * std::log(factor); };
    double multiplier = 0;
    if (!keys.number("rope.scaling.yarn_log_multiplier", 0, 1e3, &multiplier, error)) return false;
    *scale = magnitude(1);
    if (multiplier == 0) return true;
    if (!isIn(" deepseek2 deepseek32 mistral3 mistral4 ", architecture)) {
        return refuse(error, "the key " + keys.name("rope.scaling.yarn_log_multiplier") +
                                 " is not read for the architecture " + shown(architecture));
    }
    if (architecture != "mistral3") multiplier = static_cast<double>(static_cast<float>(multiplier) / 0.1f);
    *scale = architecture == "deepseek2" ? 1 : magnitude(1) / magnitude(multiplier);
    return true;
}

bool readGgufYarn(const ArchitectureKeys& keys, const std::string& architecture, const Scaling& scaling, RopeRule* rule,
                  std::string* error) {
    rule->kind = ROPE_RULE_YARN;
    if (architecture == "grok") rule->beta_fast = 8; // what llama.cpp takes for files without the key
    double scale = 1;
    if (!readGgufOriginalLength(keys, "the scaling 'yarn'", &rule->original_length, error) ||
        !keys.number("rope.scaling.yarn_beta_fast", 1e-6, 1e6, &rule->beta_fast, error) ||
        !keys.number("rope.scaling.yarn_beta_slow", 1e-6, 1e6, &rule->beta_slow, error) ||
        !readYarnScale(keys, architecture, scaling.factor, &scale, error))
        return false;
    rule->attention_factor = scale * scaling.attention;
    return true;
}

} // namespace

bool readGgufRule(const ArchitectureKeys& keys, const std::string& architecture, const Scaling& scaling, RopeRule* rule,
                  std::string* error) {
    rule->base = 10000;
    rule->factor = scaling.factor;
    double alpha = 0;
    if (!keys.number("rope.freq_base", 1, 1e19, &rule->base, error) ||
        !keys.number("rope.scaling.alpha", 0, 1e6, &alpha, error))
        return false;
    if (alpha != 0 && (scaling.yarn || (scaling.factor != 0 && scaling.factor != 1))) {
        return refuse(error, "the keys " + keys.name("rope.scaling.alpha") + " and " +
                                 keys.name("rope.scaling.factor") + " ask for two rules at once");
    }
    if (scaling.yarn) return readGgufYarn(keys, architecture, scaling, rule, error);
    rule->kind = scaling.factor == 0 || scaling.factor == 1 ? ROPE_RULE_DEFAULT : ROPE_RULE_LINEAR;
    if (alpha != 0) {
        rule->kind = ROPE_RULE_NTK;
        rule->factor = alpha;
    }
    return true;
}

bool noteGgufBetas(const ArchitectureKeys& keys, const std::string& architecture, ModelEncoding* model,
                   std::string* error) {
    double fast = 32, slow = 1;
    if (model->rule.kind != ROPE_RULE_YARN || isIn(" grok mistral3 ", architecture)) return true;
    if (!keys.number("rope.scaling.yarn_beta_fast", 1e-6, 1e6, &fast, error) ||
        !keys.number("rope.scaling.yarn_beta_slow", 1e-6, 1e6, &slow, error))
        return false;
    if (fast != 32 || slow != 1) {
        model->notes.push_back("the frequencies have the file's beta_fast " + shown(fast) + " and beta_slow " +
                               shown(slow) + ", as the model's own code has; llama.cpp does not read these keys for " +
                               shown(architecture) + ", and takes 32 and 1");
    }
    return true;
}

} // namespace gguf
} // namespace rope
