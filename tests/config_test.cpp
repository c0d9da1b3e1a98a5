#include "config.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

void fuzzConfig(const uint8_t* bytes, size_t size);

namespace {

constexpr RopePairing kHalf = ROPE_PAIRING_HALF, kNear = ROPE_PAIRING_INTERLEAVED, kUnknown = ROPE_PAIRING_DEFAULT;

// What a configuration asks for: of the models' classes as they stand in Hugging Face Transformers c49429ed1f their
// defaults, and keys of published files.
struct Row {
    const char* config;
    const char* layer_type;
    double length;
    uint32_t head_dim, rotary_dim, rotary_begin;
    RopePairing pairing, pairing_out;
    double base;
    RopeRuleKind rule;
};

const Row kRows[] = {
    {R"({"model_type": "llama"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mistral"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mixtral"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen2"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen2_moe"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3_moe"})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3_next"})", "", 0, 256, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gemma"})", "", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gemma2"})", "", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "vaultgemma"})", "", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "phi"})", "", 0, 64, 32, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "phi3"})", "", 0, 96, 96, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "phimoe"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gpt_neox"})", "", 0, 96, 24, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gptj"})", "", 0, 256, 64, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "codegen"})", "", 0, 256, 64, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "stablelm"})", "", 0, 80, 20, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm"})", "", 0, 128, 64, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm4"})", "", 0, 128, 64, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "cohere"})", "", 0, 128, 128, 0, kNear, kNear, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "cohere2"})", "", 0, 128, 128, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "olmo"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "olmo2"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "olmoe"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "flex_olmo"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "ernie4_5"})", "", 0, 128, 128, 0, kNear, kNear, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "ernie4_5_moe"})", "", 0, 128, 128, 0, kNear, kNear, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "falcon"})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "falcon_h1"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "smollm3"})", "", 0, 128, 128, 0, kHalf, kHalf, 2000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "minicpm3"})", "", 0, 32, 32, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "hunyuan_v1_dense"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "hunyuan_v1_moe"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "hy_v3"})", "", 0, 128, 128, 0, kHalf, kHalf, 11158840, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v2"})", "", 0, 64, 64, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "llama4_text"})", "", 0, 128, 128, 0, kNear, kNear, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "minimax"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "minimax_m2"})", "", 0, 128, 128, 0, kHalf, kHalf, 5000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "nemotron"})", "", 0, 128, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "persimmon"})", "", 0, 64, 32, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "granite"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "granitemoe"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "granitemoeshared"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "helium"})", "", 0, 128, 128, 0, kNear, kNear, 100000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "arcee"})", "", 0, 80, 80, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "afmoe"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "bamba"})", "", 0, 128, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "bitnet"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "chameleon"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "csm"})", "", 0, 64, 64, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "dbrx"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "diffllama"})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "doge"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "exaone4"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "jetmoe"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "lfm2_moe"})", "", 0, 64, 64, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mimi"})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "moonshine_streaming"})", "", 0, 40, 32, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "nomic_bert"})", "", 0, 64, 64, 0, kHalf, kHalf, 1000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "seed_oss"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "starcoder2"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "solar_open"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "zamba2"})", "", 0, 160, 160, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "xcodec2"})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "blt_global_transformer"})", "", 0, 128, 128, 0, kNear, kNear, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "blt_local_encoder"})", "", 0, 64, 64, 0, kNear, kNear, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "roformer"})", "", 0, 64, 64, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "t5_gemma_module"})", "", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mllama_text_model"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "emu3_text_model"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "dia_decoder"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "pe_audio_encoder"})", "", 0, 128, 128, 0, kNear, kNear, 20000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glmasr_encoder"})", "", 0, 64, 32, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "voxtral_realtime_text"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "ministral"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "jais2"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "cohere2_moe"})", "", 0, 128, 128, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "muse_glimmer_text"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "recurrent_gemma"})", "", 0, 256, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "axk1"})", "", 0, 64, 64, 0, kNear, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "axk2"})", "", 0, 32, 32, 0, kNear, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v3"})", "", 0, 64, 64, 0, kNear, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v32"})", "", 0, 64, 64, 0, kNear, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm4_moe_lite"})", "", 0, 64, 64, 0, kNear, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm_moe_dsa"})", "", 0, 64, 64, 0, kNear, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "longcat_flash"})", "", 0, 64, 64, 0, kNear, kHalf, 10000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "youtu"})", "", 0, 64, 64, 0, kNear, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mistral4"})", "", 0, 64, 64, 0, kNear, kHalf, 10000, ROPE_RULE_YARN},
    {R"({"model_type": "deepseek_v3", "rope_interleave": false})", "", 0, 64, 64, 0, kHalf, kHalf, 10000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "youtu", "rope_interleave": false})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "nanochat"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen2_vl_text"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen2_5_vl"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3_vl"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3_5_text"})", "", 0, 256, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3_5_moe_text"})", "", 0, 256, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "ernie4_5_vl_moe_text"})", "", 0, 128, 128, 0, kNear, kNear, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm4v_text"})", "", 0, 128, 64, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm_ocr_text"})", "", 0, 64, 64, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "paddleocr_vl_text"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gemma3_text"})", "full_attention", 0, 256, 256, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gemma3_text"})", "sliding_attention", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gemma3_text"})", "", 0, 256, 256, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gemma3n_text"})", "full_attention", 0, 256, 256, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gemma3_text", "rope_theta": 7000, "rope_local_base_freq": 50, "rope_scaling": {"rope_type": "linear", "factor": 8}})",
     "full_attention", 0, 256, 256, 0, kHalf, kHalf, 7000, ROPE_RULE_LINEAR},
    {R"({"model_type": "gemma3_text", "rope_theta": 7000, "rope_local_base_freq": 50, "rope_scaling": {"rope_type": "linear", "factor": 8}})",
     "sliding_attention", 0, 256, 256, 0, kHalf, kHalf, 50, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}, "vision_config": {"hidden_size": 1152}})",
     "", 0, 256, 256, 0, kHalf, kHalf, 1000000, ROPE_RULE_LINEAR},
    {R"({"model_type": "gemma4_text"})", "full_attention", 0, 512, 512, 0, kHalf, kHalf, 1000000,
     ROPE_RULE_PROPORTIONAL},
    {R"({"model_type": "gemma4_text"})", "sliding_attention", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gemma4_unified_text"})", "full_attention", 0, 512, 512, 0, kHalf, kHalf, 1000000,
     ROPE_RULE_PROPORTIONAL},
    {R"({"model_type": "gemma4_unified_text"})", "sliding_attention", 0, 256, 256, 0, kHalf, kHalf, 10000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "diffusion_gemma_text"})", "full_attention", 0, 512, 512, 0, kHalf, kHalf, 1000000,
     ROPE_RULE_PROPORTIONAL},
    {R"({"model_type": "diffusion_gemma_text"})", "sliding_attention", 0, 256, 256, 0, kHalf, kHalf, 10000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "modernbert"})", "full_attention", 0, 64, 64, 0, kHalf, kHalf, 160000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "modernbert"})", "sliding_attention", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "modernbert", "global_rope_theta": 160000, "local_rope_theta": 12345, "position_embedding_type": "absolute"})",
     "sliding_attention", 0, 64, 64, 0, kHalf, kHalf, 12345, ROPE_RULE_DEFAULT},
    {R"({"model_type": "modernbert-decoder"})", "sliding_attention", 0, 64, 64, 0, kHalf, kHalf, 10000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "olmo3", "rope_theta": 500000, "rope_scaling": {"attention_factor": 1.2079441541679836, "factor": 8.0, "original_max_position_embeddings": 8192, "rope_type": "yarn"}})",
     "full_attention", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_YARN},
    {R"({"model_type": "olmo3", "rope_theta": 500000, "rope_scaling": {"attention_factor": 1.2079441541679836, "factor": 8.0, "original_max_position_embeddings": 8192, "rope_type": "yarn"}})",
     "sliding_attention", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mimo_v2_flash"})", "full_attention", 0, 192, 64, 0, kHalf, kHalf, 5000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mimo_v2_flash", "swa_rope_theta": 20000})", "sliding_attention", 0, 192, 64, 0, kHalf, kHalf,
     20000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "laguna"})", "full_attention", 0, 128, 64, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "laguna"})", "sliding_attention", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mellum"})", "full_attention", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "zaya"})", "hybrid", 0, 128, 64, 0, kHalf, kHalf, 5000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "zaya"})", "hybrid_sliding", 0, 128, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "t5gemma2_text"})", "sliding_attention", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v4"})", "main", 0, 512, 64, 448, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v4"})", "compress", 0, 512, 64, 448, kNear, kNear, 160000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v4", "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536}, "qk_rope_head_dim": 64})",
     "", 0, 512, 64, 448, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v4", "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536}, "qk_rope_head_dim": 64})",
     "compress", 0, 512, 64, 448, kNear, kNear, 160000, ROPE_RULE_YARN},
    {R"({"model_type": "step3p5", "layer_types": ["full_attention", "sliding_attention", "sliding_attention"], "rope_theta": [5000000, 10000, 10000], "partial_rotary_factors": [0.5, 1.0, 1.0]})",
     "full_attention", 0, 128, 64, 0, kHalf, kHalf, 5000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "step3p5", "layer_types": ["full_attention", "sliding_attention", "sliding_attention"], "rope_theta": [5000000, 10000, 10000], "partial_rotary_factors": [0.5, 1.0, 1.0]})",
     "sliding_attention", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "granite_swa", "layer_rope_theta": [5000000, 0, 5000000]})", "", 0, 128, 128, 0, kHalf, kHalf,
     5000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "cohere_compass_text", "rope_parameters": {"full_attention": {"rope_theta": 1000000}, "sliding_attention": {"rope_theta": 20000}}})",
     "sliding_attention", 0, 128, 128, 0, kHalf, kHalf, 20000, ROPE_RULE_DEFAULT},
    {R"({"head_dim": 64, "rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096, "rope_theta": 1000}, "sliding_attention": {"rope_theta": 70}, "truncate": false}})",
     "", 0, 64, 64, 0, kUnknown, kUnknown, 1000, ROPE_RULE_YARN},
    {R"({"head_dim": 64, "rope_theta": 100, "rope_local_base_freq": 70, "rope_scaling": {"type": "linear", "factor": 2}})",
     "sliding_attention", 0, 64, 64, 0, kUnknown, kUnknown, 70, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gpt_oss"})", "", 0, 64, 64, 0, kHalf, kHalf, 150000, ROPE_RULE_YARN},
    {R"({"model_type": "openai_privacy_filter"})", "", 0, 64, 64, 0, kNear, kNear, 150000, ROPE_RULE_YARN},
    {R"({"model_type": "apertus"})", "", 0, 128, 128, 0, kHalf, kHalf, 12000000, ROPE_RULE_LLAMA3},
    {R"({"model_type": "cwm"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_LLAMA3},
    {R"({"model_type": "higgs_audio_v2"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_LLAMA3},
    {R"({"model_type": "ministral3"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_YARN},
    {R"({"model_type": "gpt_neox", "rotary_pct": 0.5, "rotary_emb_base": 54321, "hidden_size": 6144, "num_attention_heads": 64})",
     "", 0, 96, 48, 0, kHalf, kHalf, 54321, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 32})", "", 0, 256, 32, 0, kNear, kNear,
     10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "falcon", "n_head": 71, "hidden_size": 4544, "rotary": true, "alibi": false})", "", 0, 64, 64, 0,
     kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "attn_config": {"rope_theta": 500000}})", "", 0, 128,
     128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "esm", "position_embedding_type": "rotary"})", "", 0, 64, 64, 0, kHalf, kHalf, 10000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "evolla", "position_embedding_type": "rotary"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "bamba", "attn_rotary_emb": 64})", "", 0, 128, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "minimax_m2", "rotary_dim": 64})", "", 0, 128, 64, 0, kHalf, kHalf, 5000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mistral", "hidden_size": 5120, "num_attention_heads": 32, "head_dim": 128, "rope_theta": 1000000.0})",
     "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "llama", "rope_scaling": {"type": "dynamic", "factor": 2}, "max_position_embeddings": 2048})",
     "", 4096, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DYNAMIC_NTK},
    {R"({"model_type": "hunyuan_v1_dense", "rope_scaling": {"type": "dynamic", "alpha": 1000, "factor": 1, "beta_fast": 32, "mscale": 1}, "max_position_embeddings": 32768})",
     "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_NTK},
    {R"({"model_type": "hunyuan_v1_moe", "rope_scaling": {"type": "dynamic", "alpha": 1000, "factor": 1, "beta_fast": 32, "mscale": 1}, "max_position_embeddings": 32768})",
     "", 32768, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_NTK},
    {R"({"model_type": "hunyuan_v1_dense", "rope_scaling": {"type": "dynamic", "alpha": 1000, "factor": 1, "beta_fast": 32, "mscale": 1}, "max_position_embeddings": 32768})",
     "", 32769, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DYNAMIC_NTK},
    {R"({"model_type": "phi3", "head_dim": 8, "rope_scaling": {"type": "su", "short_factor": [1, 1, 2, 2], "long_factor": [1, 1, 2, 2]}, "original_max_position_embeddings": 4096, "max_position_embeddings": 131072})",
     "", 5000, 8, 8, 0, kHalf, kHalf, 10000, ROPE_RULE_LONGROPE},
    {R"({"model_type": "phi3", "head_dim": 10, "partial_rotary_factor": 0.8, "rope_scaling": {"type": "yarn", "short_factor": [1, 1, 2, 2], "long_factor": [1, 1, 2, 2]}, "original_max_position_embeddings": 4096, "max_position_embeddings": 131072})",
     "", 0, 10, 8, 0, kHalf, kHalf, 10000, ROPE_RULE_LONGROPE},
    {R"({"model_type": "phimoe", "head_dim": 8, "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 2, 2], "long_factor": [1, 1, 2, 2], "short_mscale": 1.2, "long_mscale": 1.3, "original_max_position_embeddings": 4096}, "max_position_embeddings": 131072})",
     "", 5000, 8, 8, 0, kHalf, kHalf, 1000000, ROPE_RULE_LONGROPE},
    {R"({"model_type": "qwen2", "rope_scaling": {"type": "yarn", "factor": null, "original_max_position_embeddings": 8192}, "max_position_embeddings": 32768})",
     "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_YARN},
    {R"({"model_type": "qwen2_vl", "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})", "", 0, 128, 128,
     0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen2_5_omni", "thinker_config": {"model_type": "qwen2_5_omni_thinker", "text_config": {"model_type": "qwen2_5_omni_text"}}})",
     "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "dia", "decoder_config": {"model_type": "dia_decoder"}})", "", 0, 128, 128, 0, kHalf, kHalf,
     10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "llava", "text_config": {"model_type": "llama", "num_attention_heads": 32, "hidden_size": 4096}})",
     "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "kimi_k2", "rope_theta": 50000, "qk_rope_head_dim": 64, "rope_scaling": {"beta_fast": 1, "beta_slow": 1, "factor": 32, "mscale": 1, "mscale_all_dim": 1, "original_max_position_embeddings": 4096, "type": "yarn"}})",
     "", 0, 64, 64, 0, kNear, kHalf, 50000, ROPE_RULE_YARN},
    {R"({"model_type": "nomic_bert", "n_embd": 768, "n_head": 12, "rotary_emb_fraction": 1.0, "rotary_emb_base": 1000, "rotary_emb_interleaved": false, "rotary_scaling_factor": null})",
     "", 0, 64, 64, 0, kHalf, kHalf, 1000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen", "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128, "rotary_pct": 1.0, "rotary_emb_base": 10000, "seq_length": 8192, "use_logn_attn": true, "use_dynamic_ntk": true})",
     "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen", "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128, "rotary_pct": 1.0, "rotary_emb_base": 10000, "seq_length": 8192, "use_logn_attn": true, "use_dynamic_ntk": true})",
     "", 8192, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen", "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128, "rotary_pct": 1.0, "rotary_emb_base": 10000, "seq_length": 8192, "use_logn_attn": true, "use_dynamic_ntk": true})",
     "", 8193, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_NTK},
    {R"({"model_type": "qwen", "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128, "rotary_pct": 1.0, "rotary_emb_base": 10000, "seq_length": 8192, "use_logn_attn": true, "use_dynamic_ntk": false})",
     "", 32768, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "chatglm", "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128, "original_rope": true, "seq_length": 8192})",
     "", 0, 128, 64, 0, kNear, kNear, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "chatglm", "kv_channels": 128, "original_rope": true, "rope_ratio": 500, "seq_length": 131072})",
     "", 0, 128, 64, 0, kNear, kNear, 5000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "baichuan", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32})", "", 0,
     128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "stablelm", "hidden_size": 2048, "num_attention_heads": 32, "partial_rotary_factor": 0.25, "rotary_scaling_factor": 1.0})",
     "", 0, 64, 16, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "stablelm_epoch", "hidden_size": 2560, "num_attention_heads": 32, "rope_pct": 0.25, "rope_theta": 10000})",
     "", 0, 80, 20, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mimo", "head_dim": 128, "rope_theta": 640000})", "", 0, 128, 128, 0, kHalf, kHalf, 640000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "exaone", "hidden_size": 4096, "num_attention_heads": 32, "num_layers": 32, "rope_theta": 1000000})",
     "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "solar", "hidden_size": 5120, "num_attention_heads": 40})", "", 0, 128, 128, 0, kHalf, kHalf,
     10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "arctic", "hidden_size": 7168, "num_attention_heads": 56})", "", 0, 128, 128, 0, kHalf, kHalf,
     1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "minimax_text_01", "head_dim": 128, "rope_theta": 10000000, "rotary_dim": 64})", "", 0, 128, 64,
     0, kHalf, kHalf, 10000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "minimax", "head_dim": 128, "rope_theta": 10000000, "rotary_dim": 64})", "", 0, 128, 64, 0,
     kHalf, kHalf, 10000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "llama", "head_dim": 64, "rotary_dim": 64})", "", 0, 64, 64, 0, kHalf, kHalf, 10000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "phi", "rotary_dim": 32})", "", 0, 64, 32, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "hf_olmo", "d_model": 4096, "n_heads": 32, "rope": true, "rope_full_precision": true})", "", 0,
     128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "zamba2", "attention_head_dim": 224, "hidden_size": 3584, "kv_channels": 112, "use_mem_rope": true})",
     "", 0, 224, 224, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "nemotron-nas", "hidden_size": 8192, "num_attention_heads": 64, "rope_theta": 500000})", "", 0,
     128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "phi4mm", "hidden_size": 3072, "num_attention_heads": 24, "partial_rotary_factor": 0.75})", "",
     0, 128, 96, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"head_dim": 64, "rope_theta": [100, 100], "num_hidden_layers": 2})", "", 0, 64, 64, 0, kUnknown, kUnknown, 100,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "llava", "rope_theta": 70, "text_config": {"model_type": "llama", "rope_parameters": {"rope_theta": 70}}})",
     "", 0, 128, 128, 0, kHalf, kHalf, 70, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3_omni_moe_text", "head_dim": 128, "rope_scaling": {"interleaved": true, "mrope_interleaved": true, "mrope_section": [24, 20, 20], "rope_type": "default", "type": "default"}})",
     "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "ernie4_5_moe_vl", "rope_3d": true, "freq_allocation": 20})", "", 0, 128, 128, 0, kNear, kNear,
     500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "bailing_moe_v2", "head_dim": 128, "partial_rotary_factor": 0.5, "rotary_dim": 64, "rope_theta": 600000})",
     "", 0, 128, 64, 0, kHalf, kHalf, 600000, ROPE_RULE_DEFAULT},
    {R"({"head_dim": 64, "rope_theta": 500, "rope_scaling": {"type": "ntk", "factor": 4}})", "", 0, 64, 64, 0, kUnknown,
     kUnknown, 500, ROPE_RULE_NTK},
    {R"({"head_dim": 64, "rope_theta": 500, "rope_scaling": {"type": "yarn_ramped", "factor": 4, "original_max_position_embeddings": 100}})",
     "", 200, 64, 64, 0, kUnknown, kUnknown, 500, ROPE_RULE_YARN_RAMPED},
    {R"({"head_dim": 64, "rope_theta": 500, "rope_scaling": {"type": "yarn_temperature", "factor": 4, "temperature": 0.5}})",
     "", 0, 64, 64, 0, kUnknown, kUnknown, 500, ROPE_RULE_YARN_TEMPERATURE},
    {R"({"head_dim": 64, "rope_theta": 500, "rope_scaling": {"type": "proportional", "partial_rotary_factor": 0.25}})",
     "", 0, 64, 64, 0, kUnknown, kUnknown, 500, ROPE_RULE_PROPORTIONAL},
};

rope::ModelEncoding read(const std::string& text, const std::string& layer_type = "", double length = 0) {
    rope::ConfigRequest request;
    request.layer_type = layer_type;
    request.length = length;
    rope::ModelEncoding model;
    std::string error;
    EXPECT_TRUE(rope::readConfig(text, request, &model, &error)) << text << ": " << error;
    return model;
}

std::string refusal(const std::string& text, const std::string& layer_type = "") {
    rope::ConfigRequest request;
    request.layer_type = layer_type;
    rope::ModelEncoding model;
    std::string error;
    EXPECT_FALSE(rope::readConfig(text, request, &model, &error)) << text;
    return error;
}

TEST(Config, EveryModelAsItsOwnCodeHasIt) {
    for (const Row& row : kRows) {
        SCOPED_TRACE(std::string(row.config) + " " + row.layer_type);
        const rope::ModelEncoding model = read(row.config, row.layer_type, row.length);
        EXPECT_EQ(model.head_dim, row.head_dim);
        EXPECT_EQ(model.rotary_dim, row.rotary_dim);
        EXPECT_EQ(model.rotary_begin, row.rotary_begin);
        EXPECT_EQ(model.pairing, row.pairing);
        EXPECT_EQ(model.pairing_out == kUnknown ? model.pairing : model.pairing_out, row.pairing_out);
        EXPECT_EQ(model.rule.base, row.base);
        EXPECT_STREQ(ropeRuleName(model.rule.kind), ropeRuleName(row.rule));
    }
}

TEST(Config, NanoChatTurnsBackwards) {
    const rope::ModelEncoding model = read(R"({"model_type": "nanochat"})");
    EXPECT_EQ(model.frequencies[0], -1);
    EXPECT_EQ(read(R"({"model_type": "llama"})").frequencies[0], 1);
}

TEST(Config, GemmaFourTurnsAQuarterOfItsPairs) {
    const rope::ModelEncoding model = read(R"({"model_type": "gemma4_text", "global_head_dim": 256})");
    EXPECT_EQ(model.frequencies.size(), 128u);
    EXPECT_GT(model.frequencies[31], 0);
    EXPECT_EQ(model.frequencies[32], 0);
    EXPECT_EQ(model.layer_types, (std::vector<std::string>{"full_attention", "sliding_attention"}));
    EXPECT_EQ(model.layer_type, "full_attention");
}

TEST(Config, ScalesAreTheModels) {
    const std::string phimoe = R"({"model_type": "phimoe", "head_dim": 4, "max_position_embeddings": 131072,
        "rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4], "short_mscale": 1.25,
        "long_mscale": 1.5, "original_max_position_embeddings": 4096}})";
    EXPECT_EQ(read(phimoe).scale, 1.25);
    EXPECT_EQ(read(phimoe, "", 4097).scale, 1.5);
    EXPECT_EQ(read(phimoe, "", 4097).frequencies[0], 1); // the short factors all the same
    const std::string deepseek = R"({"model_type": "deepseek_v4", "rope_scaling": {"type": "yarn", "factor": 16,
        "original_max_position_embeddings": 65536}})";
    EXPECT_EQ(read(deepseek, "compress").scale, 1);
    EXPECT_GT(read(deepseek, "compress").rule.factor, 1);
}

TEST(Config, SaysWhatItLeavesOut) {
    EXPECT_NE(read(R"({"model_type": "llama", "partial_rotary_factor": 0.5})").ignored_note, "");
    EXPECT_EQ(read(R"({"model_type": "phi", "partial_rotary_factor": 0.5})").ignored_note, "");
}

TEST(Config, LayerTypesAreChosenFromThoseThatThereAre) {
    const std::string nested =
        R"({"head_dim": 8, "rope_parameters": {"a": {"rope_theta": 10}, "b": {"rope_theta": 20}}})";
    EXPECT_EQ(read(nested, "b").rule.base, 20);
    EXPECT_NE(refusal(nested).find("\"a\", \"b\""), std::string::npos);
    EXPECT_NE(refusal(nested, "c").find("\"a\", \"b\""), std::string::npos);
    EXPECT_NE(refusal(R"({"model_type": "llama"})", "sliding_attention").find("no layer types"), std::string::npos);
    EXPECT_EQ(read(R"({"model_type": "llama"})", "full_attention").layer_type, "");
    const std::string typed = R"({"model_type": "llama", "layer_types": ["sliding_attention", "sliding_attention"]})";
    EXPECT_EQ(read(typed, "sliding_attention").layer_types.size(), 1u);
    EXPECT_EQ(read(typed).layer_type, "sliding_attention");
    EXPECT_NE(refusal(R"({"head_dim": 8, "rope_parameters": {"full_attention": null, "b": {}}, "rope_theta": 0})"), "");
}

TEST(Config, NamesTheScaleOfQueriesThatIsNoRotation) {
    const std::string note = read(R"({"model_type": "ministral3"})").ignored_note;
    EXPECT_NE(note.find("1 + 0.1 * ln(1 + floor(position / 16384))"), std::string::npos) << note;
    EXPECT_EQ(read(R"({"model_type": "llama"})").ignored_note, "");
}

TEST(Config, QwensFirstStretchesItsBaseByStepsOfTwo) {
    const std::string text = R"({"model_type": "qwen", "seq_length": 2048, "max_position_embeddings": 32768})";
    EXPECT_EQ(read(text, "", 2048).rule.kind, ROPE_RULE_DEFAULT);
    EXPECT_EQ(read(text, "", 2049).rule.factor, 3);
    EXPECT_EQ(read(text, "", 4096).rule.factor, 3);
    EXPECT_EQ(read(text, "", 4097).rule.factor, 7);
    EXPECT_EQ(read(text, "", 32768).rule.factor, 31);
    const std::vector<double> stretched = read(text, "", 4096).frequencies;
    EXPECT_NEAR(stretched[1], std::pow(10000 * std::pow(3.0, 128.0 / 126), -1.0 / 64), 1e-15);
    EXPECT_NE(read(text, "", 2049).ignored_note.find("use_logn_attn"), std::string::npos);
    EXPECT_EQ(read(text, "", 2048).ignored_note, "");
    EXPECT_EQ(read(text).ignored_note, "");
    rope::ConfigRequest longer;
    longer.length = 5000;
    rope::ModelEncoding model;
    std::string error;
    EXPECT_FALSE(rope::readConfig(R"({"model_type": "qwen"})", longer, &model, &error));
    EXPECT_NE(error.find("seq_length"), std::string::npos) << error;
}

// Its code takes the base times s, and every frequency times s^(-2/d).
TEST(Config, GtesNtkIsOfItsOwn) {
    const std::string text = R"({"model_type": "new", "head_dim": 64, "rope_theta": 500, "rope_scaling": )";
    const rope::ModelEncoding model = read(text + R"({"type": "ntk", "factor": 8}})");
    for (int i = 0; i < 32; ++i)
        EXPECT_NEAR(model.frequencies[i] * std::pow(4000, i / 32.0) * std::pow(8, 1 / 32.0), 1, 1e-14) << i;
    const rope::ModelEncoding mixed = read(text + R"({"type": "ntk", "factor": 8, "mixed_b": 0.625}})");
    EXPECT_NEAR(mixed.frequencies[31] * std::pow(500, 31 / 32.0) * 8, 1, 1e-14);
    EXPECT_NE(refusal(R"({"model_type": "llama", "rope_scaling": {"type": "ntk", "factor": 8, "mixed_b": 0.6}})"), "");
}

TEST(Config, ModelsThatDoNotRotateAreRefused) {
    for (const char* text :
         {R"({"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40, "num_hidden_layers": 40})",
          R"({"model_type": "nemotron_h", "head_dim": 128, "rope_theta": 10000})", R"({"model_type": "jamba"})",
          R"({"model_type": "chatglm", "position_encoding_2d": true})", R"({"model_type": "llama", "rope": false})"})
        EXPECT_NE(refusal(text), "");
}

// Each is refused by the key's name, and where nothing would read it, too.
TEST(Config, KeysOfAnotherKindAreRefusedByName) {
    const char* const keys[][2] = {
        {"max_position_embeddings", R"("x")"},
        {"max_position_embeddings", "true"},
        {"seq_length", "[1]"},
        {"original_max_position_embeddings", R"("4096")"},
        {"layer_types", "5"},
        {"layer_types", "[7]"},
        {"layer_types", R"("full_attention")"},
        {"text_config", "1"},
        {"text_config", "[]"},
        {"llm_config", R"("x")"},
        {"rope_theta", "[1e4]"},
        {"rope_theta", R"("10000")"},
        {"rope_theta", "true"},
        {"rope_scaling", R"("linear")"},
        {"rope_scaling", "[]"},
        {"rope_scaling", "true"},
        {"rope_parameters", "[]"},
        {"partial_rotary_factor", R"("0.5")"},
        {"partial_rotary_factor", "true"},
        {"head_dim", R"("128")"},
        {"head_dim", "false"},
        {"hidden_size", R"("4096")"},
        {"num_attention_heads", "true"},
        {"rotary_dim", R"("64")"},
        {"no_rope_layers", R"("x")"},
        {"no_rope_layers", "[2]"},
        {"no_rope_layer_interval", "[]"},
        {"rotary_value", "1"},
        {"layer_rope_theta", "10000"},
        {"attn_config", "1"},
        {"use_dynamic_ntk", "1"},
        {"use_logn_attn", R"("yes")"},
        {"position_encoding_2d", "1"},
    };
    for (const auto& key : keys) {
        for (const char* type : {"llama", "deepseek_v3", "phi"}) {
            const std::string text =
                std::string(R"({"model_type": ")") + type + R"(", ")" + key[0] + "\": " + key[1] + "}";
            EXPECT_NE(refusal(text).find(key[0]), std::string::npos) << text << ": " << refusal(text);
        }
        read(std::string(R"({"model_type": "llama", ")") + key[0] + "\": null}");
    }
}

TEST(Config, KeysOfARuleOfAnotherKindAreRefusedByName) {
    const char* const rules[][2] = {
        {"type", R"("")"},
        {"rope_type", "1"},
        {"rope_theta", R"("x")"},
        {"factor", "true"},
        {"factor", R"("2")"},
        {"attention_factor", "true"},
        {"truncate", "1"},
        {"finetuned", R"("yes")"},
        {"mrope_section", "16"},
        {"mrope_interleaved", "1"},
        {"long_factor", R"(["1"])"},
        {"llama_4_scaling_beta", R"("x")"},
        {"max_position_embeddings", "true"},
    };
    for (const auto& key : rules) {
        const std::string rule = std::string(R"({")") + key[0] + "\": " + key[1] + "}";
        const std::string flat = R"({"model_type": "llama", "rope_scaling": )" + rule + "}";
        EXPECT_NE(refusal(flat).find(key[0]), std::string::npos) << flat << ": " << refusal(flat);
        const std::string nested =
            R"({"model_type": "llama", "rope_parameters": {"full_attention": {}, "b": )" + rule + "}}";
        EXPECT_NE(refusal(nested).find(key[0]), std::string::npos) << nested << ": " << refusal(nested);
    }
}

TEST(Config, WhatContradictsIsRefusedByName) {
    const char* const cases[][2] = {
        {R"({"model_type": "llama", "head_dim": 128, "rotary_dim": 64})", "rotary_dim"},
        {R"({"model_type": "deepseek_v3", "rotary_dim": 32})", "rotary_dim"},
        {R"({"model_type": "phi", "rotary_dim": 64})", "rotary_dim"},
        {R"({"model_type": "minimax_m2", "rotary_dim": 64, "partial_rotary_factor": 0.25})", "partial_rotary_factor"},
        {R"({"model_type": "gptj", "rotary_dim": 64, "attn_rotary_emb": 32})", "attn_rotary_emb"},
        {R"({"model_type": "llama", "head_dim": 128, "kv_channels": 64})", "kv_channels"},
        {R"({"model_type": "llama", "hidden_size": 4096, "n_embd": 2048})", "n_embd"},
        {R"({"model_type": "gpt_neox", "num_attention_heads": 64, "n_head": 32})", "n_head"},
        {R"({"model_type": "llama", "use_dynamic_ntk": true})", "use_dynamic_ntk"},
        {R"({"model_type": "llama", "rotary_scaling_factor": 2.0})", "rotary_scaling_factor"},
        {R"({"model_type": "llama", "rope_ratio": 2})", "rope_ratio"},
        {R"({"model_type": "llama", "original_rope": true})", "original_rope"},
        {R"({"model_type": "llama", "layer_rope_theta": [1, 2]})", "layer_rope_theta"},
        {R"({"model_type": "step3p5", "rope_theta": [7], "num_hidden_layers": 2})", "one per layer"},
        {R"({"model_type": "step3p5", "rope_theta": [7], "layer_types": ["a", "b"]})", "one per layer"},
        {R"({"model_type": "llava", "rope_theta": 70, "text_config": {"model_type": "llama"}})", "text_config"},
    };
    for (const auto& each : cases)
        EXPECT_NE(refusal(each[0]).find(each[1]), std::string::npos) << each[0] << ": " << refusal(each[0]);
}

// ---- Positions of several axes

std::string dealt(const rope::ModelEncoding& model) { // "3*0 2*1": runs of pairs and their axes
    std::string text;
    for (size_t i = 0, run = 0; i < model.axes.size(); i += run) {
        for (run = 1; i + run < model.axes.size() && model.axes[i + run] == model.axes[i];) ++run;
        text += (i == 0 ? "" : " ") + std::to_string(run) + "*" + std::to_string(model.axes[i]);
    }
    return text;
}

std::string inTurns(int times, const std::string& turn, const std::string& rest) {
    std::string text = turn;
    for (int i = 1; i < times; ++i) text += " " + turn;
    return rest.empty() ? text : text + " " + rest;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

TEST(Config, TextsAxesTakeTheirSections) {
    const struct {
        const char* config;
        std::string axes;
    } rows[] = {
        {R"({"model_type": "qwen2_vl"})", "16*0 24*1 24*2"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"type": "mrope", "mrope_section": [20, 22, 22]}})",
         "20*0 22*1 22*2"},
        {R"({"model_type": "qwen2_5_vl", "text_config": {"model_type": "qwen2_5_vl_text", "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1000000}}})",
         "16*0 24*1 24*2"},
        {R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": {"model_type": "qwen2_5_omni_text", "rope_scaling": {"rope_type": "default", "mrope_section": [16, 24, 24]}}}})",
         "16*0 24*1 24*2"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768, "mrope_section": [16, 24, 24]}})",
         "16*0 24*1 24*2"},
        {R"({"model_type": "paddleocr_vl", "rope_is_neox_style": true, "use_3d_rope": true, "rope_scaling": {"type": "default", "mrope_section": [16, 24, 24]}})",
         "16*0 24*1 24*2"},
        {R"({"model_type": "glm4v_text"})", "8*0 12*1 12*2"},
        {R"({"model_type": "glm_image_text"})", "8*0 12*1 12*2"},
        {R"({"model_type": "glm_ocr_text"})", "8*0 12*1 12*2"},
        {R"({"model_type": "qwen3_vl"})", inTurns(20, "1*0 1*1 1*2", "4*0")},
        {R"({"model_type": "cosmos3_edge_text"})", inTurns(20, "1*0 1*1 1*2", "4*0")},
        {R"({"model_type": "qwen3_omni_moe_text", "head_dim": 128, "rope_scaling": {"interleaved": true, "mrope_interleaved": true, "mrope_section": [24, 20, 20]}})",
         inTurns(20, "1*0 1*1 1*2", "4*0")},
        {R"({"model_type": "cohere_compass_text", "rope_parameters": {"full_attention": {"rope_theta": 1000000}, "sliding_attention": {}}})",
         inTurns(20, "1*0 1*1 1*2", "4*0")},
        {R"({"model_type": "qwen3_5_text"})", inTurns(10, "1*0 1*1 1*2", "1*0 1*1")},
        {R"({"model_type": "ernie4_5_vl_moe_text"})", inTurns(22, "1*1 1*2", "20*0")},
        {R"({"model_type": "ernie4_5_moe_vl", "rope_3d": true, "freq_allocation": 24})",
         inTurns(20, "1*1 1*2", "24*0")},
        {R"({"head_dim": 16, "rope_theta": 500, "rope_scaling": {"mrope_section": [2, 3, 3]}})", "2*0 3*1 3*2"},
        {R"({"head_dim": 16, "rope_theta": 500, "rope_scaling": {"mrope_section": [2, 3, 3], "mrope_interleaved": true}})",
         "1*0 1*1 1*2 1*0 1*1 1*2 1*0 1*1"},
    };
    for (const auto& row : rows) {
        const rope::ModelEncoding model = read(row.config);
        EXPECT_EQ(dealt(model), row.axes) << row.config;
        EXPECT_EQ(joined(model.axis_names), "t h w") << row.config;
    }
    for (const char* text : {R"({"model_type": "qwen2"})", R"({"model_type": "ernie4_5_moe_vl", "rope_3d": false})"}) {
        EXPECT_TRUE(read(text).axes.empty() && read(text).axis_names.empty()) << text;
    }
}

TEST(Config, SectionsThatDoNotFitAreRefusedByName) {
    const char* const cases[][2] = {
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [16, 24, 23]}})", "63 pairs, but 64 turn"},
        {R"({"model_type": "qwen3_vl", "head_dim": 64})", "64 pairs, but 32 turn"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [40, 24]}})", "three counts"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [16, 24.5, 23.5]}})", "three counts"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [72, -4, -4]}})", "three counts"},
        {R"({"model_type": "qwen2", "rope_scaling": {"mrope_section": [16, 24, 24]}})", "one axis"},
        {R"({"head_dim": 16, "rope_theta": 500, "rope_scaling": {"type": "mrope"}})", "without its mrope_section"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_interleaved": true}})", "mrope_interleaved"},
        {R"({"model_type": "qwen3_vl", "rope_scaling": {"mrope_interleaved": false}})", "mrope_interleaved"},
        {R"({"model_type": "qwen3_vl", "rope_scaling": {"mrope_interleaved": true, "interleaved": false}})",
         "interleaved"},
        {R"({"model_type": "ernie4_5_vl_moe", "rope_scaling": {"mrope_section": [24, 20, 20]}})",
         "h 24 pairs and w 20"},
        {R"({"model_type": "ernie4_5_vl_moe", "rope_scaling": {"type": "linear", "factor": 2}})", "'linear'"},
    };
    for (const auto& each : cases)
        EXPECT_NE(refusal(each[0]).find(each[1]), std::string::npos) << each[0] << ": " << refusal(each[0]);
}

// Of the models' classes as they stand in Hugging Face Transformers c49429ed1f, most by their defaults.
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
        {R"({"model_type": "kimi_k25", "vision_config": {}})", "vision", 72, kHalf, inTurns(18, "1*0 1*1", ""), "w h",
         1, power(10000, 34, 36), 0, 0, 0},
        {R"({"model_type": "muse_glimmer_vision", "rope_parameters": {"rope_type": "default", "rope_theta": 100}})", "",
         96, kHalf, "24*0 24*1", "w h", power(100, 2, 48), power(100, 46, 48), 0, 0, 0},
        {R"({"model_type": "llava", "vision_config": {"model_type": "pixtral", "head_dim": 64, "rope_theta": 10000.0}})",
         "vision", 64, kHalf, "16*0 16*1", "h w", power(10000, 4, 64), power(10000, 62, 64), 0, 0, 0},
        {R"({"model_type": "llama4", "vision_config": {"model_type": "llama4_vision_model", "hidden_size": 1408, "num_attention_heads": 16, "rope_theta": 10000}})",
         "vision", 88, kNear, "22*0 22*1", "x y", power(10000, 2, 44), power(10000, 42, 44), 0, 0, 1},
        {R"({"model_type": "gemma4", "vision_config": {"model_type": "gemma4_vision"}})", "vision", 64, kHalf,
         "16*0 16*1", "x y", power(100, 2, 32), power(100, 30, 32), 32, 0, 0},
        {R"({"model_type": "minimax_m3_vl", "vision_config": {}})", "vision", 80, kHalf, "13*0 13*1 13*2", "t h w",
         power(10000, 2, 26), power(10000, 24, 26), 0, 0, 0},
        {R"({"model_type": "dinov3_vit", "num_register_tokens": 4})", "", 64, kHalf, "16*0 16*1", "h w",
         6.283185307179586 * power(100, 2, 32), 6.283185307179586 * power(100, 30, 32), 0, 5, 0},
        {R"({"model_type": "sapiens2"})", "vision", 64, kHalf, "16*0 16*1", "h w",
         6.283185307179586 * power(100, 2, 32), 6.283185307179586 * power(100, 30, 32), 0, 9, 0},
        {R"({"model_type": "sam2_video", "memory_attention_rope_theta": 500, "memory_attention_rope_feat_sizes": [64, 64]})",
         "memory_attention", 256, kNear, "64*0 64*1", "x y", power(500, 2, 128), power(500, 126, 128), 0, 0, 0},
        {R"({"model_type": "edgetam_video", "memory_attention_downsample_rate": 2, "memory_attention_num_attention_heads": 2})",
         "", 64, kNear, "16*0 16*1", "x y", power(10000, 2, 32), power(10000, 30, 32), 0, 0, 0},
        {R"({"model_type": "sam3", "vision_config": {"model_type": "sam3_vision_model", "backbone_config": {"model_type": "sam3_vit_model"}}})",
         "vision", 64, kNear, "16*0 16*1", "x y", power(10000, 2, 32) / 3, power(10000, 30, 32) / 3, 0, 0, 0},
        {R"({"model_type": "sam3_video", "detector_config": {"model_type": "sam3", "vision_config": {"backbone_config": {"model_type": "sam3_vit_model"}}}})",
         "window_attention", 64, kNear, "16*0 16*1", "x y", power(10000, 2, 32), power(10000, 30, 32), 0, 0, 0},
        {R"({"model_type": "sam3_video", "tracker_config": {"model_type": "sam3_tracker_video", "memory_attention_num_attention_heads": 4}})",
         "memory_attention", 64, kNear, "16*0 16*1", "x y", power(10000, 2, 32), power(10000, 30, 32), 0, 0, 0},
        {R"({"model_type": "sam3_vit_model", "image_size": [672, 672], "patch_size": 14})", "", 64, kNear, "16*0 16*1",
         "x y", power(10000, 2, 32) / 2, power(10000, 30, 32) / 2, 0, 0, 0},
        {R"({"model_type": "sam3_vit_model"})", "window_attention", 64, kNear, "16*0 16*1", "x y", power(10000, 2, 32),
         power(10000, 30, 32), 0, 0, 0},
    };
    for (const TowerRow& row : rows) {
        SCOPED_TRACE(row.config);
        const rope::ModelEncoding model = read(row.config, row.layer_type);
        EXPECT_EQ(model.head_dim, row.head_dim);
        EXPECT_EQ(model.pairing, row.pairing);
        EXPECT_EQ(dealt(model), row.axes);
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
    EXPECT_EQ(read(R"({"model_type": "sam3_tracker_video"})").rotary_dim, 256u);
    EXPECT_NE(read(R"({"model_type": "llama4_vision_model"})").ignored_note.find("from 1"), std::string::npos);
    EXPECT_NE(read(R"({"model_type": "dinov3_vit"})").ignored_note.find("centres"), std::string::npos);
    EXPECT_EQ(read(R"({"model_type": "pixtral"})").ignored_note, "");
    EXPECT_EQ(joined(read(R"({"model_type": "sam3_vit_model"})").layer_types), "full_attention window_attention");
}

// Of diffusers 58eb52c080.
TEST(Config, PaintersShareAHeadAmongTheirAxes) {
    const struct {
        const char* config;
        RopePairing pairing;
        uint32_t head_dim;
        const char* axes;
        double second, last;
        uint32_t chunk_dim;
    } rows[] = {
        {R"({"_class_name": "WanTransformer3DModel", "attention_head_dim": 128, "rope_max_seq_len": 1024})", kNear, 128,
         "22*0 21*1 21*2", power(10000, 2, 44), power(10000, 40, 42), 0},
        {R"({"_class_name": "SkyReelsV2Transformer3DModel"})", kNear, 128, "22*0 21*1 21*2", power(10000, 2, 44),
         power(10000, 40, 42), 0},
        {R"({"_class_name": "CogVideoXTransformer3DModel", "use_rotary_positional_embeddings": true})", kNear, 64,
         "8*0 12*1 12*2", power(10000, 2, 16), power(10000, 22, 24), 0},
        {R"({"_class_name": "EasyAnimateTransformer3DModel"})", kNear, 64, "8*0 12*1 12*2", power(10000, 2, 16),
         power(10000, 22, 24), 0},
        {R"({"_class_name": "HunyuanVideoTransformer3DModel", "rope_axes_dim": [16, 56, 56], "rope_theta": 256.0})",
         kNear, 128, "8*0 28*1 28*2", power(256, 2, 16), power(256, 54, 56), 0},
        {R"({"_class_name": "HunyuanImageTransformer2DModel"})", kNear, 128, "32*0 32*1", power(256, 2, 64),
         power(256, 62, 64), 0},
        {R"({"_class_name": "FluxTransformer2DModel", "axes_dims_rope": [16, 56, 56]})", kNear, 128, "8*0 28*1 28*2",
         power(10000, 2, 16), power(10000, 54, 56), 0},
        {R"({"_class_name": "Flux2Transformer2DModel"})", kNear, 128, "16*0 16*1 16*2 16*3", power(2000, 2, 32),
         power(2000, 30, 32), 0},
        {R"({"_class_name": "QwenImageTransformer2DModel", "use_layer3d_rope": true})", kNear, 128, "8*0 28*1 28*2",
         power(10000, 2, 16), power(10000, 54, 56), 0},
        {R"({"_class_name": "HiDreamImageTransformer2DModel", "axes_dims_rope": [64, 32, 32]})", kNear, 128,
         "32*0 16*1 16*2", power(10000, 2, 64), power(10000, 30, 32), 0},
        {R"({"_class_name": "Lumina2Transformer2DModel", "axes_dim_rope": [32, 32, 32]})", kNear, 96, "16*0 16*1 16*2",
         power(10000, 2, 32), power(10000, 30, 32), 0},
        {R"({"_class_name": "ZImageTransformer2DModel"})", kNear, 128, "16*0 24*1 24*2", power(256, 2, 32),
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
        EXPECT_EQ(dealt(model), row.axes);
        EXPECT_EQ(model.axis_names.size(), model.axes.back() + 1u);
        EXPECT_NEAR(model.frequencies[1] / row.second, 1, 1e-14);
        EXPECT_NEAR(model.frequencies.back() / row.last, 1, 1e-14);
        EXPECT_EQ(model.chunk_dim, row.chunk_dim);
    }
}

TEST(Config, GridsThatItDoesNotKnowAreRefusedByName) {
    const char* const cases[][3] = {
        {R"({"model_type": "llama"})", "vision", "no vision_config"},
        {R"({"model_type": "llava", "vision_config": {"model_type": "clip_vision_model"}})", "vision", "clip_vision"},
        {R"({"model_type": "llama"})", "memory_attention", "no tracker_config"},
        {R"({"model_type": "llava", "vision_config": 1})", "vision", "vision_config"},
        {R"({"model_type": "pixtral"})", "memory_attention", "memory_attention"},
        {R"({"model_type": "qwen2_vl_vision", "rope_theta": 5})", "", "rope_theta"},
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

// ---- Whole rotations that the models' own code has made

struct Vectors {
    nlohmann::json manifest;
    std::string data;

    Vectors() {
        const std::string folder = VKROPE_TEST_DATA "/rotations/";
        manifest = nlohmann::json::parse(std::ifstream(folder + "manifest.json"));
        std::ifstream in(folder + "data.bin", std::ios::binary);
        data.assign(std::istreambuf_iterator<char>(in), {});
    }
    const nlohmann::json& find(const std::string& name) const {
        for (const auto& each : manifest["cases"]) {
            if (each["name"] == name) return each;
        }
        ADD_FAILURE() << "no case " << name;
        return manifest;
    }
    template <typename T> std::vector<T> array(const nlohmann::json& tensor) const {
        size_t count = 1;
        for (const auto& extent : tensor["shape"]) count *= extent.get<size_t>();
        std::vector<T> values(count);
        std::memcpy(values.data(), &data[tensor["offset"].get<size_t>()], count * sizeof(T));
        return values;
    }
};

// [batch, head, token, element], turned in double by positions [axis][batch * tokens].
double farthest(const rope::ModelEncoding& model, const std::vector<std::vector<double>>& positions, size_t heads,
                size_t tokens, const std::vector<float>& x, const std::vector<float>& wanted) {
    const size_t dim = model.head_dim, pairs = model.frequencies.size();
    const bool near = model.pairing == kNear;
    double worst = 0;
    for (size_t row = 0; row < x.size() / dim; ++row) {
        const size_t token = row / (heads * tokens) * tokens + row % tokens;
        for (size_t pair = 0; pair < pairs; ++pair) {
            const size_t a = row * dim + (near ? 2 * pair : pair), b = a + (near ? 1 : pairs);
            const double angle = positions[model.axes[pair]][token] * model.frequencies[pair];
            const double c = std::cos(angle), s = std::sin(angle), p = x[a], q = x[b];
            worst = std::fmax(worst, std::fabs(p * c - q * s - wanted[a]));
            worst = std::fmax(worst, std::fabs(p * s + q * c - wanted[b]));
        }
    }
    return worst;
}

TEST(Config, TextsRotateAsTheModelsOwnCodeDoes) {
    const Vectors vectors;
    const char* const cases[][2] = {{"qwen2_vl_d128", "qwen2_vl"},
                                    {"qwen3_vl_d128", "qwen3_vl"},
                                    {"glm4v_d128_partial_interleaved", "glm4v_text"},
                                    {"ernie4_5_vl_d128", "ernie4_5_vl_moe_text"}};
    for (const auto& each : cases) {
        SCOPED_TRACE(each[0]);
        const nlohmann::json& from = vectors.find(each[0]);
        nlohmann::json config = from["params"]["config"];
        config["model_type"] = each[1];
        const auto shape = from["tensors"]["q"]["shape"].get<std::vector<size_t>>();
        const auto ids = vectors.array<int64_t>(from["tensors"]["position_ids"]);
        const size_t count = shape[0] * shape[2];
        std::vector<std::vector<double>> positions;
        for (size_t axis = 0; axis < 3; ++axis)
            positions.emplace_back(ids.begin() + axis * count, ids.begin() + (axis + 1) * count);
        const double worst =
            farthest(read(config.dump()), positions, shape[1], shape[2], vectors.array<float>(from["tensors"]["q"]),
                     vectors.array<float>(from["tensors"]["q_out"]));
        EXPECT_LT(worst, 1e-5);
    }
}

TEST(Config, GridsRotateAsTheModelsOwnCodeDoes) {
    const Vectors vectors;
    const nlohmann::json& pixtral = vectors.find("pixtral_2d_d64");
    nlohmann::json config = pixtral["params"]["config"];
    config["model_type"] = "pixtral";
    std::vector<std::vector<double>> positions(2);
    for (const int64_t id : vectors.array<int64_t>(pixtral["tensors"]["position_ids"])) {
        positions[0].push_back(static_cast<double>(id / 8));
        positions[1].push_back(static_cast<double>(id % 8));
    }
    EXPECT_LT(farthest(read(config.dump()), positions, 4, 23, vectors.array<float>(pixtral["tensors"]["q"]),
                       vectors.array<float>(pixtral["tensors"]["q_out"])),
              1e-5);
    const nlohmann::json& wan = vectors.find("wan_3d_d48");
    const auto thw = vectors.array<int64_t>(wan["tensors"]["position_thw"]);
    positions.assign(3, {});
    for (size_t i = 0; i < thw.size(); ++i) positions[i % 3].push_back(static_cast<double>(thw[i]));
    EXPECT_LT(farthest(read(R"({"_class_name": "WanTransformer3DModel", "attention_head_dim": 48})"), positions, 3, 12,
                       vectors.array<float>(wan["tensors"]["x"]), vectors.array<float>(wan["tensors"]["out"])),
              1e-5);
}

TEST(Config, SurvivesItsCorpus) {
    size_t inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(VKROPE_TEST_CORPUS "/config")) {
        SCOPED_TRACE(entry.path().string());
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(in), {});
        fuzzConfig(reinterpret_cast<const uint8_t*>(text.data()), text.size());
        ++inputs;
    }
    EXPECT_GT(inputs, 20u);
}

} // namespace
