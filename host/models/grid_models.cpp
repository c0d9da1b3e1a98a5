#include "models/grid_models.hpp"

#include <cstddef>

namespace rope {
namespace {

constexpr RopePairing kHalf = ROPE_PAIRING_HALF, kInter = ROPE_PAIRING_INTERLEAVED;
constexpr unsigned kDino = kTimesTwoPi | kPrefixTokens | kReadsBase | kPatchCentres;
constexpr unsigned kMemory = kMemoryAttention | kReadsBase | kFlatBase;

// The rows are taken from the configuration and modeling files of Hugging Face Transformers c49429ed1f.
constexpr Tower kTowers[] = {
    {"cohere_compass_vision", kHalf, "h w", 10000, 1152, 16, 0},
    {"dinov3_vit", kHalf, "h w", 100, 384, 6, kDino | kFlatBase},
    {"edgetam_video", kInter, "x y", 10000, 256, 1, kMemory},
    {"efficientloftr", kInter, "h w", 10000, 256, 1, kWholeWidth | kRoundRobin | kFromOne | kReadsBase},
    {"eomt_dinov3", kHalf, "h w", 100, 1024, 16, kDino | kObjectQueries, 4},
    {"ernie4_5_vl_moe_vision", kHalf, "h w", 10000, 1280, 16, 0},
    {"exaone4_5_vision", kHalf, "h w", 10000, 3584, 16, 0},
    {"gemma4_vision", kHalf, "x y", 100, 768, 12, kChunked | kReadsBase | kOwnBase},
    {"glm4v_moe_vision", kHalf, "h w", 10000, 1536, 12, 0},
    {"glm4v_vision", kHalf, "h w", 10000, 1536, 12, 0},
    {"glm_ocr_vision", kHalf, "h w", 10000, 1024, 16, 0},
    {"kimi_k25_vision", kHalf, "w h", 10000, 1152, 16, kRoundRobin | kReadsBase},
    {"llama4_vision_model", kInter, "x y", 10000, 768, 16, kClassLast | kFromOne | kReadsBase},
    {"minimax_m3_vl_vision", kHalf, "t h w", 10000, 1280, 16, kRoundsDown | kReadsBase},
    {"mlcd_vision_model", kHalf, "h w", 10000, 1664, 16, kClassLearned},
    {"muse_glimmer_vision", kHalf, "w h", 10000, 1536, 16, kFromOne | kReadsBase},
    {"paddleocr_vl_vision", kHalf, "h w", 10000, 1152, 16, 0},
    {"pixtral", kHalf, "h w", 10000, 1024, 16, kSharedSequence | kReadsBase},
    {"qwen2_5_omni_vision_encoder", kHalf, "h w", 10000, 3584, 16, 0},
    {"qwen2_5_vl_vision", kHalf, "h w", 10000, 3584, 16, 0},
    {"qwen2_vl_vision", kHalf, "h w", 10000, 1280, 16, kWidthIsEmbedDim},
    {"qwen3_5_moe_vision", kHalf, "h w", 10000, 1152, 16, 0},
    {"qwen3_5_vision", kHalf, "h w", 10000, 1152, 16, 0},
    {"qwen3_omni_moe_vision_encoder", kHalf, "h w", 10000, 1152, 16, 0},
    {"qwen3_vl_moe_vision", kHalf, "h w", 10000, 1152, 16, 0},
    {"qwen3_vl_vision", kHalf, "h w", 10000, 1152, 16, 0},
    {"sam2_video", kInter, "x y", 10000, 256, 1, kMemory},
    {"sam3_tracker_video", kInter, "x y", 10000, 256, 1, kMemory},
    {"sam3_vit_model", kInter, "x y", 10000, 1024, 16, kWindowAttention | kReadsBase | kFlatBase},
    {"sapiens2", kHalf, "h w", 100, 1024, 16, kDino | kFlatBase, 8},
    {"step3p5_vision", kHalf, "h w", 10000, 1536, 16, kReadsBase | kShortNames},
    {"video_llama_3_vision", kHalf, "h w", 10000, 768, 12, 0},
};

const char kThw[] = "t h w";
constexpr AxisSplit kListed = AxisSplit::listed, kWan = AxisSplit::wan, kCogVideo = AxisSplit::cogvideo;

// The rows are taken from src/diffusers/models of Hugging Face diffusers 58eb52c080.
constexpr DiffusersModel kDiffusersModels[] = {
    {"AllegroTransformer3DModel", AxisSplit::thirds, nullptr, {}, kThw, kHalf, 10000, nullptr, 96},
    {"AnyFlowTransformer3DModel", kWan, nullptr, {}, kThw, kInter, 10000, nullptr, 128},
    {"BriaFiboTransformer2DModel", kListed, "axes_dims_rope", {16, 56, 56}, kThw, kInter, 10000, "rope_theta", 128},
    {"BriaTransformer2DModel", kListed, "axes_dims_rope", {16, 56, 56}, kThw, kInter, 10000, "rope_theta", 128},
    {"ChromaTransformer2DModel", kListed, "axes_dims_rope", {16, 56, 56}, kThw, kInter, 10000, nullptr, 128},
    {"ChronoEditTransformer3DModel", kWan, nullptr, {}, kThw, kInter, 10000, nullptr, 128},
    {"CogVideoXTransformer3DModel", kCogVideo, nullptr, {}, kThw, kInter, 10000, nullptr, 64},
    {"ConsisIDTransformer3DModel", kCogVideo, nullptr, {}, kThw, kInter, 10000, nullptr, 64},
    {"CosmosTransformer3DModel", kWan, nullptr, {}, kThw, kHalf, 10000, nullptr, 128},
    {"EasyAnimateTransformer3DModel", kCogVideo, nullptr, {}, kThw, kInter, 10000, nullptr, 64},
    {"Flux2Transformer2DModel",
     kListed,
     "axes_dims_rope",
     {32, 32, 32, 32},
     "t h w l",
     kInter,
     2000,
     "rope_theta",
     128},
    {"FluxTransformer2DModel", kListed, "axes_dims_rope", {16, 56, 56}, kThw, kInter, 10000, nullptr, 128},
    {"HeliosTransformer3DModel", kListed, "rope_dim", {44, 42, 42}, kThw, kInter, 10000, "rope_theta", 128},
    {"HiDreamImageTransformer2DModel", kListed, "axes_dims_rope", {32, 32}, kThw, kInter, 10000, nullptr, 128},
    {"HunyuanImageTransformer2DModel", kListed, "rope_axes_dim", {64, 64}, "h w", kInter, 256, "rope_theta", 128},
    {"HunyuanVideo15Transformer3DModel", kListed, "rope_axes_dim", {16, 56, 56}, kThw, kInter, 256, "rope_theta", 128},
    {"HunyuanVideoFramepackTransformer3DModel",
     kListed,
     "rope_axes_dim",
     {16, 56, 56},
     kThw,
     kInter,
     256,
     "rope_theta",
     128},
    {"HunyuanVideoTransformer3DModel", kListed, "rope_axes_dim", {16, 56, 56}, kThw, kInter, 256, "rope_theta", 128},
    {"Kandinsky5Transformer3DModel", kListed, "axes_dims", {16, 24, 24}, kThw, kInter, 10000, nullptr, 0},
    {"Krea2Transformer2DModel", kListed, "axes_dims_rope", {32, 48, 48}, kThw, kInter, 1000, "rope_theta", 128},
    {"LongCatImageTransformer2DModel", kListed, "axes_dims_rope", {16, 56, 56}, kThw, kInter, 10000, nullptr, 128},
    {"Lumina2Transformer2DModel", kListed, "axes_dim_rope", {32, 32, 32}, kThw, kInter, 10000, nullptr, 0},
    {"MotifVideoTransformer3DModel", kListed, "rope_axes_dim", {16, 56, 56}, kThw, kInter, 256, "rope_theta", 128},
    {"OvisImageTransformer2DModel", kListed, "axes_dims_rope", {16, 56, 56}, kThw, kInter, 10000, nullptr, 128},
    {"QwenImageTransformer2DModel", kListed, "axes_dims_rope", {16, 56, 56}, kThw, kInter, 10000, nullptr, 128},
    {"SanaVideoTransformer3DModel", kWan, nullptr, {}, kThw, kInter, 10000, nullptr, 112},
    {"SkyReelsV2Transformer3DModel", kWan, nullptr, {}, kThw, kInter, 10000, nullptr, 128},
    {"WanAnimateTransformer3DModel", kWan, nullptr, {}, kThw, kInter, 10000, nullptr, 128},
    {"WanTransformer3DModel", kWan, nullptr, {}, kThw, kInter, 10000, nullptr, 128},
    {"WanVACETransformer3DModel", kWan, nullptr, {}, kThw, kInter, 10000, nullptr, 128},
    {"ZImageTransformer2DModel", kListed, "axes_dims", {32, 48, 48}, kThw, kInter, 256, "rope_theta", 0},
};

struct NameAndText {
    const char* name;
    const char* text;
};

constexpr NameAndText kPositionNotes[] = {
    {"AllegroTransformer3DModel", "positions are those that its code has divided by interpolation_scale_t, _h and _w"},
    {"CosmosTransformer3DModel",
     "of a video the position on t is its frame's, times base_fps over its frames a second"},
};

constexpr NameAndText kNoDiffusersRotation[] = {
    {"ErnieImageTransformer2DModel", "the two elements of a pair turn by different angles"},
    {"LTX2VideoTransformer3DModel", "each head turns by frequencies of its own"},
    {"LTXVideoTransformer3DModel", "each head turns by frequencies of its own"},
    {"MochiTransformer3DModel", "its frequencies are learned, for each head its own"},
};

} // namespace

std::vector<const Tower*> listTowers() {
    std::vector<const Tower*> towers;
    for (const Tower& tower : kTowers) towers.push_back(&tower);
    return towers;
}

std::vector<const DiffusersModel*> listDiffusersModels() {
    std::vector<const DiffusersModel*> models;
    for (const DiffusersModel& model : kDiffusersModels) models.push_back(&model);
    return models;
}

const Tower* findTower(const std::string& type, bool within) {
    for (const char* ending : {"", "_vision", "_vision_encoder", "_vision_model"}) {
        for (const Tower& tower : kTowers) {
            if (type + ending == tower.type) return &tower;
        }
        if (!within) break;
    }
    return nullptr;
}

const DiffusersModel* findDiffusersModel(const std::string& name) {
    for (const DiffusersModel& model : kDiffusersModels) {
        if (name == model.name) return &model;
    }
    return nullptr;
}

namespace {

template <size_t Count> const char* findText(const NameAndText (&texts)[Count], const std::string& name) {
    for (const NameAndText& each : texts) {
        if (name == each.name) return each.text;
    }
    return nullptr;
}

} // namespace

const char* whyNoDiffusersRotation(const std::string& name) { return findText(kNoDiffusersRotation, name); }

const char* positionNote(const std::string& name) { return findText(kPositionNotes, name); }

} // namespace rope
