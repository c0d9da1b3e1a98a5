#include "models.hpp"

#include "rope.h"

namespace measure {

const std::vector<Model>& models() {
    static const std::vector<Model> all = {
        {"llama3-8b", "Llama-3-8B", 32, 8, 128, 500000, 1, 1},
        {"llama3-8b-yarn", "Llama-3-8B with YaRN's scale", 32, 8, 128, 500000, 1,
         1.1386294361119891}, // 4 times as long
        {"qwen3-0.6b", "Qwen3-0.6B", 16, 8, 128, 1000000, 1, 1},
        {"gemma3", "Gemma 3 4B", 8, 4, 256, 1000000, 1, 1},
        {"deepseek-v3", "DeepSeek-V3", 128, 1, 64, 10000, 1, 1}, // the part of its heads that turns, and the shared key
        {"vision-72", "vision tower of Qwen3-VL", 16, 16, 72, 10000, 2, 1},
        {"vision-80", "vision tower of Qwen2.5-VL", 16, 16, 80, 10000, 2, 1},
    };
    return all;
}

const Model* findModel(const std::string& name) {
    for (const Model& model : models()) {
        if (name == model.name) return &model;
    }
    return nullptr;
}

std::string describe(const Model& model) {
    return std::string(model.title) + ", " + std::to_string(model.q_heads) + " + " + std::to_string(model.k_heads) +
           " heads of " + std::to_string(model.head_dim) + (model.axes > 1 ? ", two axes" : "");
}

std::vector<double> frequenciesOf(const Model& model) {
    RopeRule rule = {};
    rule.rotary_dim = model.head_dim / model.axes;
    rule.base = model.base;
    std::vector<double> one(rule.rotary_dim / 2), all;
    double scale = 1;
    ropeMakeFrequencies(&rule, one.data(), &scale, nullptr);
    for (uint32_t axis = 0; axis < model.axes; ++axis) all.insert(all.end(), one.begin(), one.end());
    return all;
}

std::vector<uint8_t> axesOf(const Model& model) {
    if (model.axes == 1) return {};
    std::vector<uint8_t> axes(model.head_dim / 2);
    const std::vector<uint32_t> sections(model.axes, model.head_dim / 2 / model.axes);
    ropeSetAxes(ROPE_AXES_CONTIGUOUS, sections.data(), model.axes, model.head_dim / 2, axes.data(), nullptr);
    return axes;
}

} // namespace measure
