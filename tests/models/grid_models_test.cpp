// The encodings that the configurations of vision towers and of image and video transformers mean, and refusals.
#include "support/config_read.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace config;

namespace {

// The rows follow the models' classes in Hugging Face Transformers c49429ed1f, most with their defaults.
struct TowerRow {
    const char* config;
    const char* layer_type;
    uint32_t head_dim;
    RopePairing pairing;
    std::string axes;
    const char* names;
    double second, last; // frequencies
    uint32_t chunk_dim, skip_first, skip_last;
};

double power(double base, double numerator, double denominator) { return std::pow(base, -numerator / denominator); }

TEST(Config, VisionTowersTurnByTheirGrid) {
    const TowerRow rows[] = {
        {R"({"model_type": "qwen2_vl", "vision_config": {"embed_dim": 1280, "hidden_size": 3584, "num_heads": 16}})",
         "vision", 80, kHalf, "20*0 20*1", "h w", power(10000, 2, 40), power(10000, 38, 40), 0, 0, 0},
        {R"({"model_type": "qwen2_vl", "depth": 32, "embed_dim": 1280, "num_heads": 16})", "", 80, kHalf, "20*0 20*1",
         "h w", power(10000, 2, 40), power(10000, 38, 40), 0, 0, 0},
        {R"({"model_type": "qwen2_vl_vision"})", "vision", 80, kHalf, "20*0 20*1", "h w", power(10000, 2, 40),
         power(10000, 38, 40), 0, 0, 0},
        {R"({"model_type": "qwen2_5_vl", "rope_theta": 5, "vision_config": {"model_type": "qwen2_5_vl", "hidden_size": 1280, "num_heads": 16}})",
         "vision", 80, kHalf, "20*0 20*1", "h w", power(10000, 2, 40), power(10000, 38, 40), 0, 0, 0},
        {R"({"model_type": "qwen2_5_omni", "thinker_config": {"vision_config": {"model_type": "qwen2_5_omni_vision_encoder"}}})",
         "vision", 224, kHalf, "56*0 56*1", "h w", power(10000, 2, 112), power(10000, 110, 112), 0, 0, 0},
        {R"({"model_type": "qwen3_vl", "vision_config": {}})", "vision", 72, kHalf, "18*0 18*1", "h w",
         power(10000, 2, 36), power(10000, 34, 36), 0, 0, 0},
        {R"({"model_type": "glm4v", "vision_config": {"model_type": "glm4v_vision"}})", "vision", 128, kHalf,
         "32*0 32*1", "h w", power(10000, 2, 64), power(10000, 62, 64), 0, 0, 0},
        {R"({"model_type": "ernie4_5_vl_moe_vision"})", "", 80, kHalf, "20*0 20*1", "h w", power(10000, 2, 40),
         power(10000, 38, 40), 0, 0, 0},
        {R"({"model_type": "kimi_k25", "vision_config": {}})", "vision", 72, kHalf, repeated(18, "1*0 1*1", ""), "w h",
         1, power(10000, 34, 36), 0, 0, 0},
        {R"({"model_type": "muse_glimmer_vision", "rope_parameters": {"rope_type": "default", "rope_theta": 100}})", "",
         96, kHalf, "24*0 24*1", "w h", power(100, 2, 48), power(100, 46, 48), 0, 0, 0},
        {R"({"model_type": "qwen4_exp", "vision_config": {"rope_parameters": {"rope_type": "axial", "rope_theta": 777}}})",
         "vision", 72, kHalf, "18*0 18*1", "h w", power(777, 2, 36), power(777, 34, 36), 0, 0, 0},
        {R"({"model_type": "lfm3_vl_vision"})", "", 64, kHalf, "16*0 16*1", "h w", power(1e6, 2, 32),
         power(1e6, 30, 32), 0, 0, 0},
        {R"({"model_type": "inkling2_vision"})", "", 64, kInterleaved, "16*0 16*1", "w h", power(10000, 2, 32),
         power(10000, 30, 32), 0, 0, 0},
        {R"({"model_type": "llava", "vision_config": {"model_type": "pixtral", "head_dim": 64, "rope_theta": 10000.0}})",
         "vision", 64, kHalf, "16*0 16*1", "h w", power(10000, 4, 64), power(10000, 62, 64), 0, 0, 0},
        {R"({"model_type": "llama4", "vision_config": {"model_type": "llama4_vision_model", "hidden_size": 1408, "num_attention_heads": 16, "rope_theta": 10000}})",
         "vision", 88, kInterleaved, "22*0 22*1", "x y", power(10000, 2, 44), power(10000, 42, 44), 0, 0, 1},
        {R"({"model_type": "gemma4", "vision_config": {"model_type": "gemma4_vision"}})", "vision", 64, kHalf,
         "16*0 16*1", "x y", power(100, 2, 32), power(100, 30, 32), 32, 0, 0},
        {R"({"model_type": "minimax_m3_vl", "vision_config": {}})", "vision", 80, kHalf, "13*0 13*1 13*2", "t h w",
         power(10000, 2, 26), power(10000, 24, 26), 0, 0, 0},
        {R"({"model_type": "dinov3_vit", "num_register_tokens": 4})", "", 64, kHalf, "16*0 16*1", "h w",
         6.283185307179586 * power(100, 2, 32), 6.283185307179586 * power(100, 30, 32), 0, 5, 0},
        {R"({"model_type": "eomt_dinov3"})", "", 64, kHalf, "16*0 16*1", "h w", 6.283185307179586 * power(100, 2, 32),
         6.283185307179586 * power(100, 30, 32), 0, 5, 0},
        {R"({"model_type": "mlcd_vision_model", "hidden_size": 1664, "num_attention_heads": 16})", "", 104, kHalf,
         "26*0 26*1", "h w", power(10000, 2, 52), power(10000, 50, 52), 0, 1, 0},
        {R"({"model_type": "llava", "vision_config": {"model_type": "mlcd_vision_model"}})", "vision", 104, kHalf,
         "26*0 26*1", "h w", power(10000, 2, 52), power(10000, 50, 52), 0, 1, 0},
        {R"({"model_type": "efficientloftr", "hidden_size": 256, "num_attention_heads": 8, "partial_rotary_factor": 4.0, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 4.0}})",
         "", 256, kInterleaved, repeated(64, "1*0 1*1", ""), "h w", 1, power(10000, 126, 128), 0, 0, 0},
        {R"({"model_type": "sapiens2"})", "vision", 64, kHalf, "16*0 16*1", "h w",
         6.283185307179586 * power(100, 2, 32), 6.283185307179586 * power(100, 30, 32), 0, 9, 0},
        {R"({"model_type": "sam2_video", "memory_attention_rope_theta": 500, "memory_attention_rope_feat_sizes": [64, 64]})",
         "memory_attention", 256, kInterleaved, "64*0 64*1", "x y", power(500, 2, 128), power(500, 126, 128), 0, 0, 0},
        {R"({"model_type": "edgetam_video", "memory_attention_downsample_rate": 2, "memory_attention_num_attention_heads": 2})",
         "", 64, kInterleaved, "16*0 16*1", "x y", power(10000, 2, 32), power(10000, 30, 32), 0, 0, 0},
        {R"({"model_type": "sam3", "vision_config": {"model_type": "sam3_vision_model", "backbone_config": {"model_type": "sam3_vit_model"}}})",
         "vision", 64, kInterleaved, "16*0 16*1", "x y", power(10000, 2, 32) / 3, power(10000, 30, 32) / 3, 0, 0, 0},
        {R"({"model_type": "sam3_video", "detector_config": {"model_type": "sam3", "vision_config": {"backbone_config": {"model_type": "sam3_vit_model"}}}})",
         "window_attention", 64, kInterleaved, "16*0 16*1", "x y", power(10000, 2, 32), power(10000, 30, 32), 0, 0, 0},
        {R"({"model_type": "sam3_video", "tracker_config": {"model_type": "sam3_tracker_video", "memory_attention_num_attention_heads": 4}})",
         "memory_attention", 64, kInterleaved, "16*0 16*1", "x y", power(10000, 2, 32), power(10000, 30, 32), 0, 0, 0},
        {R"({"model_type": "sam3_vit_model", "image_size": [672, 672], "patch_size": 14})", "", 64, kInterleaved,
         "16*0 16*1", "x y", power(10000, 2, 32) / 2, power(10000, 30, 32) / 2, 0, 0, 0},
        {R"({"model_type": "sam3_vit_model"})", "window_attention", 64, kInterleaved, "16*0 16*1", "x y",
         power(10000, 2, 32), power(10000, 30, 32), 0, 0, 0},
    };
    for (const TowerRow& row : rows) {
        SCOPED_TRACE(row.config);
        const rope::ModelEncoding model = read(row.config, row.layer_type);
        EXPECT_EQ(model.head_dim, row.head_dim);
        EXPECT_EQ(model.pairing, row.pairing);
        EXPECT_EQ(axisRuns(model), row.axes);
        EXPECT_EQ(joined(model.axis_names), row.names);
        ASSERT_EQ(model.frequencies.size(), model.axes.size());
        EXPECT_NEAR(model.frequencies[1] / row.second, 1, 1e-14);
        EXPECT_NEAR(model.frequencies.back() / row.last, 1, 1e-14);
        EXPECT_EQ(model.chunk_dim, row.chunk_dim);
        EXPECT_EQ(model.skip_first, row.skip_first);
        EXPECT_EQ(model.skip_last, row.skip_last);
    }
    for (const char* type : {"cohere_compass", "exaone4_5", "glm4v_moe", "glm_ocr", "paddleocr_vl", "qwen3_5",
                             "qwen3_5_moe", "qwen3_omni_moe", "qwen3_vl_moe", "video_llama_3"}) {
        const std::string text = std::string(R"({"model_type": ")") + type + R"(", "vision_config": {}})";
        EXPECT_EQ(joined(read(text, "vision").axis_names), "h w") << text;
    }
    EXPECT_EQ(read(R"({"model_type": "step3p5_vision"})").rotary_dim, 96u);
    EXPECT_EQ(read(R"({"model_type": "step3p5_vision", "width": 1024, "heads": 16})").rotary_dim, 64u);
    EXPECT_EQ(read(R"({"model_type": "sam3_tracker_video"})").rotary_dim, 256u);
    EXPECT_NE(read(R"({"model_type": "llama4_vision_model"})").notes.at(0).find("start at 1"), std::string::npos);
    EXPECT_NE(read(R"({"model_type": "dinov3_vit"})").notes.at(0).find("centres"), std::string::npos);
    EXPECT_NE(joined(read(R"({"model_type": "eomt_dinov3"})").notes).find("num_queries"), std::string::npos);
    EXPECT_NE(joined(read(R"({"model_type": "mlcd_vision_model"})").notes).find("learned"), std::string::npos);
    EXPECT_NE(joined(read(R"({"model_type": "efficientloftr"})").notes).find("one head"), std::string::npos);
    EXPECT_TRUE(read(R"({"model_type": "pixtral"})").notes.empty());
    EXPECT_EQ(joined(read(R"({"model_type": "sam3_vit_model"})").layer_types), "full_attention window_attention");
}

// The rows follow diffusers 58eb52c080.
TEST(Config, DiffusersModelsSplitAHeadAmongTheirAxes) {
    const struct {
        const char* config;
        RopePairing pairing;
        uint32_t head_dim;
        const char* axes;
        double second, last;
        uint32_t chunk_dim;
    } rows[] = {
        {R"({"_class_name": "WanTransformer3DModel", "attention_head_dim": 128, "rope_max_seq_len": 1024})",
         kInterleaved, 128, "22*0 21*1 21*2", power(10000, 2, 44), power(10000, 40, 42), 0},
        {R"({"_class_name": "SkyReelsV2Transformer3DModel"})", kInterleaved, 128, "22*0 21*1 21*2", power(10000, 2, 44),
         power(10000, 40, 42), 0},
        {R"({"_class_name": "CogVideoXTransformer3DModel", "use_rotary_positional_embeddings": true})", kInterleaved,
         64, "8*0 12*1 12*2", power(10000, 2, 16), power(10000, 22, 24), 0},
        {R"({"_class_name": "EasyAnimateTransformer3DModel"})", kInterleaved, 64, "8*0 12*1 12*2", power(10000, 2, 16),
         power(10000, 22, 24), 0},
        {R"({"_class_name": "HunyuanVideoTransformer3DModel", "rope_axes_dim": [16, 56, 56], "rope_theta": 256.0})",
         kInterleaved, 128, "8*0 28*1 28*2", power(256, 2, 16), power(256, 54, 56), 0},
        {R"({"_class_name": "HunyuanImageTransformer2DModel"})", kInterleaved, 128, "32*0 32*1", power(256, 2, 64),
         power(256, 62, 64), 0},
        {R"({"_class_name": "FluxTransformer2DModel", "axes_dims_rope": [16, 56, 56]})", kInterleaved, 128,
         "8*0 28*1 28*2", power(10000, 2, 16), power(10000, 54, 56), 0},
        {R"({"_class_name": "Flux2Transformer2DModel"})", kInterleaved, 128, "16*0 16*1 16*2 16*3", power(2000, 2, 32),
         power(2000, 30, 32), 0},
        {R"({"_class_name": "QwenImageTransformer2DModel", "use_layer3d_rope": true})", kInterleaved, 128,
         "8*0 28*1 28*2", power(10000, 2, 16), power(10000, 54, 56), 0},
        {R"({"_class_name": "HiDreamImageTransformer2DModel", "axes_dims_rope": [64, 32, 32]})", kInterleaved, 128,
         "32*0 16*1 16*2", power(10000, 2, 64), power(10000, 30, 32), 0},
        {R"({"_class_name": "Lumina2Transformer2DModel", "axes_dim_rope": [32, 32, 32]})", kInterleaved, 96,
         "16*0 16*1 16*2", power(10000, 2, 32), power(10000, 30, 32), 0},
        {R"({"_class_name": "ZImageTransformer2DModel"})", kInterleaved, 128, "16*0 24*1 24*2", power(256, 2, 32),
         power(256, 46, 48), 0},
        {R"({"_class_name": "AllegroTransformer3DModel"})", kHalf, 96, "16*0 16*1 16*2", power(10000, 2, 32),
         power(10000, 30, 32), 32},
        {R"({"_class_name": "CosmosTransformer3DModel", "rope_scale": [2.0, 1.0, 1.0]})", kHalf, 128, "22*0 21*1 21*2",
         power(10000 * std::pow(2, 44.0 / 42), 2, 44), power(10000, 40, 42), 0},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.config);
        const rope::ModelEncoding model = read(row.config);
        EXPECT_EQ(model.head_dim, row.head_dim);
        EXPECT_EQ(model.rotary_dim, row.head_dim);
        EXPECT_EQ(model.pairing, row.pairing);
        EXPECT_EQ(axisRuns(model), row.axes);
        EXPECT_EQ(model.axis_names.size(), model.axes.back() + 1u);
        EXPECT_NEAR(model.frequencies[1] / row.second, 1, 1e-14);
        EXPECT_NEAR(model.frequencies.back() / row.last, 1, 1e-14);
        EXPECT_EQ(model.chunk_dim, row.chunk_dim);
    }
}

TEST(Config, BasesThatATowersOwnCodeIgnoresAreNamed) {
    const struct {
        const char* config;
        double base;
        const char* named;
    } rows[] = {
        {R"({"model_type": "dinov3_vit", "rope_theta": 500})", 500, nullptr},
        {R"({"model_type": "dinov3_vit", "rope_parameters": {"rope_type": "default", "rope_theta": 500}})", 100,
         "rope_parameters"},
        {R"({"model_type": "eomt_dinov3", "rope_parameters": {"rope_type": "default", "rope_theta": 500}})", 500,
         nullptr},
        {R"({"model_type": "sam3_vit_model", "rope_scaling": {"rope_theta": 500}})", 500, nullptr},
        {R"({"model_type": "sam2_video", "rope_parameters": {"rope_theta": 500}})", 500, nullptr},
        {R"({"model_type": "gemma4_vision", "rope_theta": 500})", 100, "rope_theta"},
        {R"({"model_type": "gemma4_vision", "rope_theta": 500, "rope_parameters": {"rope_type": "default"}})", 500,
         nullptr},
        {R"({"model_type": "gemma4_vision", "rope_parameters": {"rope_theta": 500}})", 500, nullptr},
        {R"({"model_type": "gemma4_vision", "rope_theta": 100})", 100, nullptr},
    };
    for (const auto& row : rows) {
        const rope::ModelEncoding model = read(row.config);
        EXPECT_EQ(model.rule.base, row.base) << row.config;
        const bool named = joined(model.notes).find("is ignored") != std::string::npos;
        EXPECT_EQ(named, row.named != nullptr) << row.config;
        if (row.named == nullptr) continue;
        EXPECT_NE(joined(model.notes).find(row.named), std::string::npos) << row.config;
    }
}

// The newest Transformers saves the rule of each part that reads images.
TEST(Config, TowersReadTheRuleThatTransformersSaves) {
    for (const char* type : {"cohere_compass_vision",
                             "dots3_note_vision_encoder",
                             "ernie4_5_vl_moe_vision",
                             "exaone4_5_vision",
                             "glm4v_moe_vision",
                             "glm4v_vision",
                             "glm_ocr_vision",
                             "kimi_k25_vision",
                             "llama4_vision_model",
                             "mlcd_vision_model",
                             "muse_spark_vision",
                             "paddleocr_vl_vision",
                             "qwen2_5_omni_vision_encoder",
                             "qwen2_5_vl_vision",
                             "qwen2_vl_vision",
                             "qwen3_5_vision",
                             "qwen3_vl_vision",
                             "sam2_video",
                             "sam3_vit_model",
                             "step3p5_vision",
                             "video_llama_3_vision"}) {
        const std::string rule = R"({"rope_type": "axial", "rope_theta": 777.0})";
        const rope::ModelEncoding model =
            read(R"({"model_type": ")" + std::string(type) + R"(", "rope_parameters": )" + rule + "}");
        EXPECT_EQ(model.rule.base, 777) << type;
        EXPECT_EQ(joined(model.notes).find("ignored"), std::string::npos) << type;
    }
}

TEST(Config, GridsThatItDoesNotKnowAreRefusedByName) {
    const char* const cases[][3] = {
        {R"({"model_type": "llama"})", "vision", "no vision_config"},
        {R"({"model_type": "llava", "vision_config": {"model_type": "clip_vision_model"}})", "vision", "clip_vision"},
        {R"({"model_type": "llama"})", "memory_attention", "no tracker_config"},
        {R"({"model_type": "llava", "vision_config": 1})", "vision", "vision_config"},
        {R"({"model_type": "pixtral"})", "memory_attention", "memory_attention"},
        {R"({"model_type": "qwen2_vl_vision", "rope_theta": 0.5})", "", "rope_theta"},
        {R"({"model_type": "pixtral", "rope_parameters": {"rope_type": "linear", "factor": 2}})", "",
         "\"factor\" of 2"},
        {R"({"model_type": "pixtral", "rope_parameters": {"rope_theta": 5}, "rope_theta": 6})", "", "they must agree"},
        {R"({"model_type": "pixtral", "rope_theta": "x"})", "", "rope_theta"},
        {R"({"model_type": "pixtral", "rope_spin": 1})", "", "rope_spin"},
        {R"({"model_type": "pixtral", "head_dim": 62})", "", "cannot be shared"},
        {R"({"model_type": "pixtral", "hidden_size": 1000, "num_attention_heads": 16})", "", "whole heads"},
        {R"({"model_type": "gemma4_vision", "head_dim": 32768})", "", "do not fit"},
        {R"({"model_type": "minimax_m3_vl_vision", "head_dim": 4})", "", "an axis has 0 elements"},
        {R"({"model_type": "dinov3_vit", "num_register_tokens": 0.5})", "", "num_register_tokens"},
        {R"({"model_type": "sam3_vit_model", "image_size": 7})", "", "image_size"},
        {R"({"model_type": "sam3_vit_model", "image_size": []})", "", "image_size"},
        {R"({"model_type": "efficientloftr", "partial_rotary_factor": 2})", "", "does not fill the width"},
        {R"({"_class_name": 1})", "", "_class_name"},
        {R"({"_class_name": "UNet2DConditionModel"})", "", "UNet2DConditionModel"},
        {R"({"_class_name": "MochiTransformer3DModel"})", "", "learned"},
        {R"({"_class_name": "LTXVideoTransformer3DModel"})", "", "each head"},
        {R"({"_class_name": "ErnieImageTransformer2DModel"})", "", "different angles"},
        {R"({"_class_name": "WanTransformer3DModel"})", "vision", "no layer types"},
        {R"({"_class_name": "WanTransformer3DModel", "rope_theta": 5})", "", "rope_theta"},
        {R"({"_class_name": "WanTransformer3DModel", "attention_head_dim": 4})", "", "an axis has 0 elements"},
        {R"({"_class_name": "CogVideoXTransformer3DModel"})", "", "use_rotary_positional_embeddings"},
        {R"({"_class_name": "FluxTransformer2DModel", "axes_dims_rope": [16, 56, 55]})", "", "axes_dims_rope"},
        {R"({"_class_name": "FluxTransformer2DModel", "axes_dims_rope": [16, 56, 54]})", "", "126"},
        {R"({"_class_name": "CosmosTransformer3DModel", "rope_scale": [2, 1]})", "", "rope_scale"},
        {R"({"model_type": "vjepa2"})", "", "different angles"},
        {R"({"model_type": "hunyuan_vl"})", "", "different angles"},
    };
    for (const auto& each : cases) {
        const std::string said = refusal(each[0], each[1]);
        EXPECT_NE(said.find(each[2]), std::string::npos) << each[0] << ": " << said;
    }
    rope::ConfigRequest request;
    request.rotary_dim = 32;
    rope::ModelEncoding model;
    std::string error;
    EXPECT_FALSE(rope::readConfig(R"({"model_type": "pixtral"})", request, &model, &error));
    EXPECT_NE(error.find("share 64 elements"), std::string::npos) << error;
}

} // namespace
