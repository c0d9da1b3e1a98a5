#include "models/layer_plans.hpp"

namespace rope {
namespace config {
namespace {

constexpr const char *kFull = "full_attention", *kSliding = "sliding_attention", *kChunked = "chunked_attention",
                     *kLinear = "linear_attention", *kPattern = "sliding_window_pattern",
                     *kGlobal = "global_attn_every_n_layers", *kInterval = "full_attention_interval";

// The rows are taken from the configuration and modeling files of Hugging Face Transformers.
constexpr LayerPlan kPlans[] = {
    {"afmoe", 32, Rotating::sliding, Rare::last, 4, kGlobal, kFull, kSliding},
    {"cohere2", 40, Rotating::sliding, Rare::last, 4, kPattern, kFull, kSliding},
    {"cohere2_moe", 40, Rotating::sliding_or_dense, Rare::last, 4, kPattern, kFull, kSliding},
    {"exaone4", 32, Rotating::sliding_or_all, Rare::last, 4, kPattern, kFull, kSliding},
    {"exaone_moe", 32, Rotating::sliding_or_all, Rare::last, 4, kPattern, kFull, kSliding},
    {"gemma3_text", 26, Rotating::all, Rare::last, 6, kPattern, kFull, kSliding},
    {"gemma3n_text", 35, Rotating::all, Rare::last, 5, nullptr, kFull, kSliding},
    {"gemma4_text", 30, Rotating::all, Rare::last, 6, nullptr, kFull, kSliding},
    {"granite_swa", 24, Rotating::based, Rare::first, 4, nullptr, kFull, kSliding},
    {"granitemoe_swa", 32, Rotating::based, Rare::first, 4, nullptr, kFull, kSliding},
    {"llama4_text", 48, Rotating::listed, Rare::last, 4, "no_rope_layer_interval", kFull, kChunked},
    {"minimax", 32, Rotating::all, Rare::last, 2, nullptr, kLinear, kFull},
    {"mllama_text_model", 40, Rotating::self, Rare::last, 0, nullptr, nullptr, nullptr},
    {"modernbert", 22, Rotating::all, Rare::first, 3, kGlobal, kFull, kSliding},
    {"muse_glimmer_text", 52, Rotating::based_or_usual, Rare::last_from_end, 4, nullptr, kFull, kSliding},
    {"olmo3", 32, Rotating::all, Rare::last, 4, nullptr, kFull, kSliding},
    {"qwen3_5_moe_text", 40, Rotating::all, Rare::last, 4, kInterval, kFull, kLinear},
    {"qwen3_5_text", 32, Rotating::all, Rare::last, 4, kInterval, kFull, kLinear},
    {"qwen3_next", 48, Rotating::all, Rare::last, 4, kInterval, kFull, kLinear},
    {"smollm3", 36, Rotating::listed, Rare::last, 4, "no_rope_layer_interval", nullptr, nullptr},
};

} // namespace

const LayerPlan* findLayerPlan(const std::string& model) {
    for (const LayerPlan& plan : kPlans) {
        if (model == plan.model) return &plan;
    }
    return nullptr;
}

bool isRare(Rare rare, uint32_t period, uint32_t layer, uint32_t layers) {
    if (period == 0) return false;
    const uint32_t at = rare == Rare::first ? layer : rare == Rare::last ? layer + 1 : layers - 1 - layer;
    return at % period == 0;
}

} // namespace config
} // namespace rope
