#include "models/gguf/scales.hpp"

#include "models/layer_names.hpp"
#include "models/query_scale.hpp"

#include <cmath>

namespace rope {
namespace gguf {
namespace {

constexpr double kMostPositions = 1 << 30;

// Queries are scaled as src/models/*.cpp of llama.cpp do so. Llama 4 has no key for it: a window of 0 switches it off
// together with the layers that do not rotate.
bool readQueryScaling(const ArchitectureKeys& keys, const std::string& architecture, ModelEncoding* model,
                      std::string* error) {
    QueryScaling& scaling = model->query_scaling;
    if (architecture == "llama4") {
        if (!nameStillLayers(model->layers).empty()) scaling = {0.1, 8192, 1, true};
        return true;
    }
    const bool by_context = architecture == "mistral3";
    if (!by_context && !isIn(" deepseek2 mistral4 ", architecture)) return true;
    if (!keys.number("attention.temperature_scale", -1e6, 1e6, &scaling.beta, error)) return false;
    if (scaling.beta == 0) return true;
    if (by_context) {
        return keys.count("context_length", kMostPositions, &scaling.interval, error) &&
               keys.count("rope.scaling.original_context_length", kMostPositions, &scaling.interval, error) &&
               (scaling.interval != 0 ||
                refuse(error, "the key " + keys.name("attention.temperature_scale") + " needs " +
                                  keys.name("rope.scaling.original_context_length") + " or " +
                                  keys.name("context_length")));
    }
    const char* length = "attention.temperature_length";
    if (!keys.count(length, kMostPositions, &scaling.interval, error)) return false;
    return scaling.interval != 0 ||
           refuse(error, "the key " + keys.name("attention.temperature_scale") + " needs " + keys.name(length));
}

// With latent attention, llama.cpp scales scores by what it cancels on cos and sin, and by the log multiplier.
bool noteSoftmaxScale(const ArchitectureKeys& keys, const std::string& architecture, ModelEncoding* model,
                      std::string* error) {
    const RopeRule& rule = model->rule;
    if (rule.kind != ROPE_RULE_YARN || !isIn(" deepseek2 deepseek32 glm-dsa mistral4 ", architecture)) return true;
    double multiplier = 0;
    if (!keys.number("rope.scaling.yarn_log_multiplier", 0, 1e3, &multiplier, error)) return false;
    const double log = rule.factor > 1 ? std::log(rule.factor) : 0;
    const double root = model->scale * (1 + multiplier * log);
    if (root == 1) return true;
    model->notes.push_back("llama.cpp multiplies the softmax scale of the architecture " + shown(architecture) +
                           " by " + shown(root * root) + "; this is no rotation and is left to the caller");
    return true;
}

} // namespace

bool readGgufScales(const ArchitectureKeys& keys, const std::string& architecture, ModelEncoding* model,
                    std::string* error) {
    if (!readQueryScaling(keys, architecture, model, error)) return false;
    if (model->query_scaling.beta != 0)
        model->notes.push_back("the architecture " + shown(architecture) + " scales queries " +
                               config::describeQueryScaling(model->query_scaling));
    return noteSoftmaxScale(keys, architecture, model, error);
}

} // namespace gguf
} // namespace rope
