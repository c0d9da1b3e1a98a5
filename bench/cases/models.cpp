#include "bench/cases/models.hpp"

#include <vkrope/rope.h>

namespace measure {

const std::vector<ModelShape>& modelShapes() {
    static const std::vector<ModelShape> all = {
        {"llama3-8b", "Llama-3-8B", 32, 8, 128, 500000, 1, 1, 0, 0},
        // YaRN's scale for 4 times the length
        {"llama3-8b-yarn", "Llama-3-8B with YaRN's scale", 32, 8, 128, 500000, 1, 1.1386294361119891, 0, 0},
        {"qwen3-0.6b", "Qwen3-0.6B", 16, 8, 128, 1000000, 1, 1, 0, 0},
        {"gemma3", "Gemma 3 4B", 8, 4, 256, 1000000, 1, 1, 0, 0},
        {"deepseek-v3", "DeepSeek-V3", 128, 1, 64, 10000, 1, 1, 128, 512}, // the latent lies before the shared key
        {"vision-72", "vision tower of Qwen3-VL", 16, 16, 72, 10000, 2, 1, 0, 0},
        {"vision-80", "vision tower of Qwen2.5-VL", 16, 16, 80, 10000, 2, 1, 0, 0},
    };
    return all;
}

const ModelShape* findModelShape(const std::string& name) {
    for (const ModelShape& model : modelShapes()) {
        if (name == model.name) return &model;
    }
    return nullptr;
}

std::string describeModel(const ModelShape& model) {
    return std::string(model.title) + ", " + std::to_string(model.q_heads) + " + " + std::to_string(model.k_heads) +
           " heads of " + std::to_string(model.head_dim) +
           (model.before_q != 0 ? " in " + std::to_string(model.before_q + model.head_dim) + " and " +
                                      std::to_string(model.before_k + model.head_dim)
                                : "") +
           (model.axes > 1 ? ", two axes" : "");
}

std::vector<double> modelFrequencies(const ModelShape& model) {
    RopeRule rule = {};
    rule.rotary_dim = model.head_dim / model.axes;
    rule.base = model.base;
    std::vector<double> one(rule.rotary_dim / 2), all;
    double scale = 1;
    ropeMakeFrequencies(&rule, one.data(), &scale, nullptr);
    for (uint32_t axis = 0; axis < model.axes; ++axis) all.insert(all.end(), one.begin(), one.end());
    return all;
}

std::vector<uint8_t> modelAxes(const ModelShape& model) {
    if (model.axes == 1) return {};
    std::vector<uint8_t> axes(model.head_dim / 2);
    const std::vector<uint32_t> sections(model.axes, model.head_dim / 2 / model.axes);
    ropeSetAxes(ROPE_AXES_CONTIGUOUS, sections.data(), model.axes, model.head_dim / 2, axes.data(), nullptr);
    return axes;
}

} // namespace measure
