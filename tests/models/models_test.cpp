// The encodings that the configurations of text models mean.
#include "support/config_read.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace config;

namespace {

constexpr RopePairing kUnknown = ROPE_PAIRING_DEFAULT;

// A configuration, and what it asks for. The rows hold the defaults of the models' classes in Hugging Face Transformers
// c49429ed1f, and keys of published files.
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
    {R"({"model_type": "gptj"})", "", 0, 256, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "codegen"})", "", 0, 256, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "stablelm"})", "", 0, 80, 20, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm"})", "", 0, 128, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm4"})", "", 0, 128, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "cohere"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "cohere2"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "olmo"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "olmo2"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "olmoe"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "flex_olmo"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "ernie4_5"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "ernie4_5_moe"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "falcon"})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "falcon_h1"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "smollm3"})", "", 0, 128, 128, 0, kHalf, kHalf, 2000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "minicpm3"})", "", 0, 32, 32, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "hunyuan_v1_dense"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "hunyuan_v1_moe"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "hy_v3"})", "", 0, 128, 128, 0, kHalf, kHalf, 11158840, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v2"})", "", 0, 64, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "llama4_text"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "minimax"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "minimax_m2"})", "", 0, 128, 128, 0, kHalf, kHalf, 5000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "nemotron"})", "", 0, 128, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "persimmon"})", "", 0, 64, 32, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "granite"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "granitemoe"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "granitemoeshared"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "helium"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 100000, ROPE_RULE_DEFAULT},
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
    {R"({"model_type": "moonshine_streaming"})", "", 0, 40, 32, 0, kInterleaved, kInterleaved, 10000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "nomic_bert"})", "", 0, 64, 64, 0, kHalf, kHalf, 1000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "seed_oss"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "starcoder2"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "solar_open"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "bailing_hybrid"})", "", 0, 64, 64, 0, kInterleaved, kHalf, 6000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gte"})", "", 0, 64, 64, 0, kHalf, kHalf, 160000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "hy_v4"})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "hy_v4_vl_text"})", "", 0, 64, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "lfm3"})", "full_attention", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_PROPORTIONAL},
    {R"({"model_type": "ultrabert"})", "full_attention", 0, 128, 128, 0, kHalf, kHalf, 2560000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "dory"})", "sliding_attention", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "zamba2", "use_mem_rope": true})", "", 0, 160, 160, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "xcodec2"})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "blt_global_transformer"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 500000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "blt_local_encoder"})", "", 0, 64, 64, 0, kInterleaved, kInterleaved, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "roformer"})", "", 0, 64, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "t5_gemma_module"})", "", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mllama_text_model"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "emu3_text_model"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "dia_decoder"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "pe_audio_encoder"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 20000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glmasr_encoder"})", "", 0, 64, 32, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "voxtral_realtime_text"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "ministral"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "jais2"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "cohere2_moe"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "muse_glimmer_text"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "recurrent_gemma"})", "", 0, 256, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "axk1"})", "", 0, 64, 64, 0, kInterleaved, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "axk2"})", "", 0, 32, 32, 0, kInterleaved, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v3"})", "", 0, 64, 64, 0, kInterleaved, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v32"})", "", 0, 64, 64, 0, kInterleaved, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm4_moe_lite"})", "", 0, 64, 64, 0, kInterleaved, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm_moe_dsa"})", "", 0, 64, 64, 0, kInterleaved, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "longcat_flash"})", "", 0, 64, 64, 0, kInterleaved, kHalf, 10000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "youtu"})", "", 0, 64, 64, 0, kInterleaved, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mistral4"})", "", 0, 64, 64, 0, kInterleaved, kHalf, 10000, ROPE_RULE_YARN},
    {R"({"model_type": "deepseek_v3", "rope_interleave": false})", "", 0, 64, 64, 0, kHalf, kHalf, 10000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "youtu", "rope_interleave": false})", "", 0, 64, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "nanochat"})", "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen2_vl_text", "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})", "", 0, 128,
     128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen2_5_vl", "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})", "", 0, 128,
     128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3_vl"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3_5_text"})", "", 0, 256, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "qwen3_5_moe_text"})", "", 0, 256, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "ernie4_5_vl_moe_text"})", "", 0, 128, 128, 0, kInterleaved, kInterleaved, 500000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm4v_text"})", "", 0, 128, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "glm_ocr_text"})", "", 0, 64, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "paddleocr_vl_text", "rope_scaling": {"mrope_section": [16, 24, 24]}})", "", 0, 128, 128, 0,
     kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
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
     10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "laguna"})", "full_attention", 0, 128, 64, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "laguna"})", "sliding_attention", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "mellum"})", "full_attention", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "zaya"})", "hybrid", 0, 128, 64, 0, kHalf, kHalf, 5000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "zaya"})", "hybrid_sliding", 0, 128, 64, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "t5gemma2_text"})", "sliding_attention", 0, 256, 256, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v4"})", "main", 0, 512, 64, 448, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v4"})", "compress", 0, 512, 64, 448, kInterleaved, kInterleaved, 160000,
     ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v4", "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536}, "qk_rope_head_dim": 64})",
     "", 0, 512, 64, 448, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "deepseek_v4", "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536}, "qk_rope_head_dim": 64})",
     "compress", 0, 512, 64, 448, kInterleaved, kInterleaved, 160000, ROPE_RULE_YARN},
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
    {R"({"model_type": "openai_privacy_filter"})", "", 0, 64, 64, 0, kInterleaved, kInterleaved, 150000,
     ROPE_RULE_YARN},
    {R"({"model_type": "apertus"})", "", 0, 128, 128, 0, kHalf, kHalf, 12000000, ROPE_RULE_LLAMA3},
    {R"({"model_type": "cwm"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_LLAMA3},
    {R"({"model_type": "higgs_audio_v2"})", "", 0, 128, 128, 0, kHalf, kHalf, 500000, ROPE_RULE_LLAMA3},
    {R"({"model_type": "ministral3"})", "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_YARN},
    {R"({"model_type": "gpt_neox", "rotary_pct": 0.5, "rotary_emb_base": 54321, "hidden_size": 6144, "num_attention_heads": 64})",
     "", 0, 96, 48, 0, kHalf, kHalf, 54321, ROPE_RULE_DEFAULT},
    {R"({"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 32})", "", 0, 256, 32, 0, kInterleaved,
     kInterleaved, 10000, ROPE_RULE_DEFAULT},
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
    {R"({"model_type": "qwen2_5_omni", "thinker_config": {"model_type": "qwen2_5_omni_thinker", "text_config": {"model_type": "qwen2_5_omni_text",
        "rope_scaling": {"mrope_section": [16, 24, 24]}}}})",
     "", 0, 128, 128, 0, kHalf, kHalf, 1000000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "dia", "decoder_config": {"model_type": "dia_decoder"}})", "", 0, 128, 128, 0, kHalf, kHalf,
     10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "llava", "text_config": {"model_type": "llama", "num_attention_heads": 32, "hidden_size": 4096}})",
     "", 0, 128, 128, 0, kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "kimi_k2", "rope_theta": 50000, "qk_rope_head_dim": 64, "rope_scaling": {"beta_fast": 1, "beta_slow": 1, "factor": 32, "mscale": 1, "mscale_all_dim": 1, "original_max_position_embeddings": 4096, "type": "yarn"}})",
     "", 0, 64, 64, 0, kInterleaved, kHalf, 50000, ROPE_RULE_YARN},
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
     "", 0, 128, 64, 0, kInterleaved, kInterleaved, 10000, ROPE_RULE_DEFAULT},
    {R"({"model_type": "chatglm", "kv_channels": 128, "original_rope": true, "rope_ratio": 500, "seq_length": 131072})",
     "", 0, 128, 64, 0, kInterleaved, kInterleaved, 5000000, ROPE_RULE_DEFAULT},
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
    {R"({"model_type": "zamba2", "hidden_size": 3584, "kv_channels": 112, "use_mem_rope": true})", "", 0, 224, 224, 0,
     kHalf, kHalf, 10000, ROPE_RULE_DEFAULT},
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
    {R"({"model_type": "ernie4_5_moe_vl", "rope_3d": true, "freq_allocation": 20})", "", 0, 128, 128, 0, kInterleaved,
     kInterleaved, 500000, ROPE_RULE_DEFAULT},
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
    EXPECT_EQ(read(phimoe, "", 4097).frequencies[0], 1); // the short factors, even so
    const std::string deepseek = R"({"model_type": "deepseek_v4", "rope_scaling": {"type": "yarn", "factor": 16,
        "original_max_position_embeddings": 65536}})";
    EXPECT_EQ(read(deepseek, "compress").scale, 1);
    EXPECT_GT(read(deepseek, "compress").rule.factor, 1);
}

// Rules nested by names that are no layer types of the model's hold for no layer, so they are refused.
TEST(Config, NestedRulesHaveTheNamesOfTheModelsLayerTypes) {
    const char* const rows[][3] = {
        {"deepseek_v4", "compressed_sparse_attention", "lacks those of the model type \"deepseek_v4\""},
        {"deepseek_v4", "main", "lacks one of the model type \"deepseek_v4\", which are \"main\", \"compress\""},
        {"gemma3_text", "main", "which are \"full_attention\", \"sliding_attention\""},
        {"gemma3_text", "sliding_attention", ""},
        {"qwen3", "main", ""}, // its layers are alike, and the rules are ignored
    };
    for (const auto& row : rows) {
        for (const std::string key : {"rope_parameters", "rope_scaling"}) {
            const std::string text = std::string(R"({"model_type": ")") + row[0] + R"(", ")" + key + R"(": {")" +
                                     row[1] + R"(": {"rope_type": "default", "rope_theta": 5}}})";
            if (row[2][0] == 0) {
                EXPECT_EQ(read(text).rotary_dim, read(text).head_dim) << text;
            } else {
                EXPECT_NE(refusal(text).find("the configuration's " + key + " is nested per layer type"),
                          std::string::npos);
                EXPECT_NE(refusal(text).find(row[2]), std::string::npos) << refusal(text);
            }
        }
    }
}

TEST(Config, SaysWhatItLeavesOut) {
    // Two releases have other bases, where a configuration leaves one of two keys out.
    const std::string video = R"({"model_type": "pe_video_encoder")",
                      rule = R"(, "rope_scaling": {"type": "linear", "factor": 2})";
    EXPECT_TRUE(read(video + "}").notes.empty());
    EXPECT_NE(joined(read(video + rule + "}").notes).find("the base is 20000"), std::string::npos);
    EXPECT_NE(joined(read(video + R"(, "rope_theta": 5})").notes).find("rope_theta is read"), std::string::npos);
    EXPECT_TRUE(read(video + R"(, "rope_parameters": {"rope_theta": 20000, "rope_type": "default"}})").notes.empty());
    EXPECT_EQ(read(R"({"model_type": "llama", "partial_rotary_factor": 0.5})").notes.size(), 1u);
    EXPECT_TRUE(read(R"({"model_type": "phi", "partial_rotary_factor": 0.5})").notes.empty());
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
    const std::string note = read(R"({"model_type": "ministral3"})").notes.at(0);
    EXPECT_NE(note.find("1 + 0.1 * ln(1 + floor(position / 16384))"), std::string::npos) << note;
    EXPECT_TRUE(read(R"({"model_type": "llama"})").notes.empty());
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
    EXPECT_NE(read(text, "", 2049).notes.at(0).find("use_logn_attn"), std::string::npos);
    EXPECT_TRUE(read(text, "", 2048).notes.empty());
    EXPECT_TRUE(read(text).notes.empty());
    rope::ConfigRequest longer;
    longer.length = 5000;
    rope::ModelEncoding model;
    std::string error;
    EXPECT_FALSE(rope::readConfig(R"({"model_type": "qwen"})", longer, &model, &error));
    EXPECT_NE(error.find("seq_length"), std::string::npos) << error;
}

// GTE's code multiplies the base by s, and every frequency by s^(-2/d).
TEST(Config, GtesNtkIsOfItsOwn) {
    const std::string text = R"({"model_type": "new", "head_dim": 64, "rope_theta": 500, "rope_scaling": )";
    const rope::ModelEncoding model = read(text + R"({"type": "ntk", "factor": 8}})");
    for (int i = 0; i < 32; ++i)
        EXPECT_NEAR(model.frequencies[i] * std::pow(4000, i / 32.0) * std::pow(8, 1 / 32.0), 1, 1e-14) << i;
    const rope::ModelEncoding mixed = read(text + R"({"type": "ntk", "factor": 8, "mixed_b": 0.625}})");
    EXPECT_NEAR(mixed.frequencies[31] * std::pow(500, 31 / 32.0) * 8, 1, 1e-14);
    EXPECT_NE(refusal(R"({"model_type": "llama", "rope_scaling": {"type": "ntk", "factor": 8, "mixed_b": 0.6}})"), "");
}

} // namespace
