#include "config/models.hpp"

namespace rope {
namespace {

constexpr PairingStyle kHalves = PairingStyle::halves, kNeighbours = PairingStyle::neighbours,
                       kToHalves = PairingStyle::neighbours_to_halves;

const char kGemma4[] =
    R"({"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25}, "sliding_attention": {}})";
const char kLaguna[] = R"({"full_attention": {"partial_rotary_factor": 0.5}, "sliding_attention": {}})";
const char kZaya[] = R"({"hybrid": {"partial_rotary_factor": 0.5}, "hybrid_sliding": {"partial_rotary_factor": 0.5}})";
const char kApertus[] = R"({"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 8192,
    "low_freq_factor": 1, "high_freq_factor": 4})";
const char kCwm[] = R"({"rope_type": "llama3", "factor": 16, "original_max_position_embeddings": 8192,
    "low_freq_factor": 1, "high_freq_factor": 4})";
const char kHiggs[] = R"({"rope_type": "llama3", "factor": 32, "original_max_position_embeddings": 1024,
    "low_freq_factor": 0.125, "high_freq_factor": 0.5, "rope_theta": 500000})";
const char kGptOss[] =
    R"({"rope_type": "yarn", "factor": 32, "original_max_position_embeddings": 4096, "truncate": false})";
const char kMinistral3[] = R"({"rope_type": "yarn", "factor": 16, "original_max_position_embeddings": 16384,
    "mscale": 1, "mscale_all_dim": 1, "rope_theta": 1000000, "llama_4_scaling_beta": 0.1})";
const char kMistral4[] = R"({"rope_type": "yarn", "factor": 128, "original_max_position_embeddings": 8192,
    "mscale": 1, "mscale_all_dim": 1, "llama_4_scaling_beta": 0.1})";

const char kGlmAxes[] = R"({"mrope_section": [8, 12, 12]})";
const char kErnieAxesOfHwt[] = R"({"mrope_section": [22, 22, 20]})";
const char kQwen2Axes[] = R"({"mrope_section": [16, 24, 24]})"; // of the published files; the code has no other
const char kQwen3Axes[] = R"({"mrope_section": [24, 20, 20]})";
const char kQwen35Axes[] = R"({"mrope_section": [11, 11, 10]})";

// From the configuration and modeling files of Hugging Face Transformers c49429ed1f. Not among them: qwen, from its own
// modeling_qwen.py; arctic and exaone, whose bases are from their own configuration files, and mimo, whose own class is
// Qwen 2's. From general knowledge of their code, unchecked: RefinedWeb, RefinedWebModel, Yi, apriel, aquila,
// baichuan, bailing_moe, bailing_moe_v2, chatglm, codeshell, deci, deepseek, ernie4_5_moe_vl, hf_olmo, hunyuan,
// internlm, internlm2, internlm3, kimi_k2, minicpm, minicpmo, minicpmv, minimax_m1, minimax_text_01, nemotron-nas, new
// (GTE), orion, phi-msft, phi3_v, phi4mm, skywork, solar, stablelm_epoch, xverse. {head_dim, hidden_size, heads,
// rope_head_dim}
constexpr Model kModels[] = {
    {"RefinedWeb", kHalves, 10000, 0, 1, {0, 0, 0, 0}, 0, nullptr},
    {"RefinedWebModel", kHalves, 10000, 0, 1, {0, 0, 0, 0}, 0, nullptr},
    {"Yi", kHalves, 5000000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"afmoe", kHalves, 10000, 0, 1, {128, 2048, 16, 0}, 0, nullptr},
    {"apertus", kHalves, 12000000, 0, 1, {0, 4096, 32, 0}, 0, kApertus},
    {"arcee", kHalves, 10000, 0, 1, {0, 2560, 32, 0}, 0, nullptr},
    {"apriel", kHalves, 10000, 0, 1, {0, 0, 0, 0}, 0, nullptr},
    {"aquila", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"arctic", kHalves, 1000000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"aria_text", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"axk1", kToHalves, 10000, 0, 1, {0, 7168, 64, 64}, 0, nullptr},
    {"axk2", kToHalves, 10000, 0, 1, {64, 2048, 32, 32}, 0, nullptr},
    {"baichuan", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"bailing_moe", kHalves, 10000, 0, 1, {0, 0, 0, 0}, 0, nullptr},
    {"bailing_moe_v2", kHalves, 10000, 0, 1, {0, 0, 0, 0}, kPartial | kRotaryDim, nullptr},
    {"bamba", kHalves, 10000, 0, 0.5, {0, 4096, 32, 0}, kPartial | kRotaryDim, nullptr},
    {"bitnet", kHalves, 500000, 0, 1, {0, 2560, 20, 0}, 0, nullptr},
    {"blt_global_transformer", kNeighbours, 500000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"blt_local_decoder", kNeighbours, 500000, 0, 1, {0, 1024, 16, 0}, 0, nullptr},
    {"blt_local_encoder", kNeighbours, 500000, 0, 1, {0, 1024, 16, 0}, 0, nullptr},
    {"blt_patcher", kNeighbours, 10000, 0, 1, {0, 768, 12, 0}, 0, nullptr},
    {"chameleon", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"chatglm", kNeighbours, 10000, 0, 0.5, {128, 4096, 32, 0}, kPartial | kRatio, nullptr},
    {"codeshell", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"codegen", kNeighbours, 10000, 0, 1, {0, 4096, 16, 0}, kRotary64 | kRotaryDim, nullptr},
    {"cohere", kNeighbours, 500000, 0, 1, {0, 8192, 64, 0}, 0, nullptr},
    {"cohere2", kNeighbours, 10000, 0, 1, {0, 8192, 64, 0}, 0, nullptr},
    {"cohere2_moe", kNeighbours, 10000, 0, 1, {128, 8192, 64, 0}, 0, nullptr},
    {"cohere_compass_text", kHalves, 10000, 0, 1, {0, 8192, 64, 0}, kAxes | kDealtAxes, kQwen3Axes},
    {"cosmos3_edge_text", kHalves, 100000000, 0, 1, {128, 2048, 16, 0}, kAxes | kDealtAxes, kQwen3Axes},
    {"csm", kHalves, 500000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"csm_depth_decoder_model", kHalves, 500000, 0, 1, {0, 1024, 8, 0}, 0, nullptr},
    {"cwm", kHalves, 1000000, 0, 1, {128, 6144, 48, 0}, 0, kCwm},
    {"dbrx", kHalves, 10000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"deci", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"deepseek", kHalves, 10000, 0, 1, {0, 0, 0, 0}, 0, nullptr},
    {"deepseek_ocr2_encoder", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"deepseek_ocr2_text", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"deepseek_v2", kNeighbours, 10000, 0, 1, {0, 4096, 32, 64}, 0, nullptr},
    {"deepseek_v3", kToHalves, 10000, 0, 1, {0, 7168, 128, 64}, 0, nullptr},
    {"deepseek_v32", kToHalves, 10000, 0, 1, {64, 7168, 128, 64}, 0, nullptr},
    {"deepseek_v4",
     kNeighbours,
     10000,
     160000,
     0.125,
     {512, 4096, 64, 0},
     kPartial | kLayers | kTrailing | kCompress,
     nullptr},
    {"dia_decoder", kHalves, 10000, 0, 1, {128, 2048, 16, 0}, 0, nullptr},
    {"dia_encoder", kHalves, 10000, 0, 1, {128, 1024, 16, 0}, 0, nullptr},
    {"diffllama", kHalves, 10000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"diffusion_gemma_text", kHalves, 1000000, 10000, 1, {256, 2304, 8, 0}, kPartial | kLayers | kGlobalHead, kGemma4},
    {"doge", kHalves, 10000, 0, 1, {0, 1024, 8, 0}, 0, nullptr},
    {"dots1", kHalves, 10000, 0, 1, {0, 4608, 32, 0}, 0, nullptr},
    {"emu3_text_model", kHalves, 1000000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"ernie4_5", kNeighbours, 500000, 0, 1, {128, 1024, 16, 0}, 0, nullptr},
    {"ernie4_5_moe", kNeighbours, 500000, 0, 1, {0, 2560, 20, 0}, 0, nullptr},
    {"ernie4_5_moe_vl", kNeighbours, 500000, 0, 1, {0, 2560, 20, 0}, kAxes | kErnieAxes, kErnieAxesOfHwt},
    {"ernie4_5_vl_moe_text", kNeighbours, 500000, 0, 1, {0, 2560, 20, 0}, kAxes | kErnieAxes, kErnieAxesOfHwt},
    {"esm", kHalves, 10000, 0, 1, {0, 768, 12, 0}, kAsksType, nullptr},
    {"eurobert", kHalves, 10000, 0, 1, {0, 768, 12, 0}, 0, nullptr},
    {"evolla", kHalves, 500000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"exaone", kHalves, 10000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"exaone4", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"exaone_moe", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"falcon", kHalves, 10000, 0, 1, {0, 4544, 71, 0}, 0, nullptr},
    {"falcon_h1", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"flex_olmo", kHalves, 500000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"fuyu", kHalves, 25000, 0, 0.5, {0, 4096, 64, 0}, kPartial, nullptr},
    {"gemma", kHalves, 10000, 0, 1, {256, 3072, 16, 0}, 0, nullptr},
    {"gemma2", kHalves, 10000, 0, 1, {256, 2304, 8, 0}, 0, nullptr},
    {"gemma3_text", kHalves, 1000000, 10000, 1, {256, 2304, 8, 0}, kLayers, nullptr},
    {"gemma3n_text", kHalves, 1000000, 10000, 1, {256, 2048, 8, 0}, kLayers, nullptr},
    {"gemma4_text", kHalves, 1000000, 10000, 1, {256, 2304, 8, 0}, kPartial | kLayers | kGlobalHead, kGemma4},
    {"gemma4_unified_text", kHalves, 1000000, 10000, 1, {256, 2304, 8, 0}, kPartial | kLayers | kGlobalHead, kGemma4},
    {"glm", kNeighbours, 10000, 0, 0.5, {128, 4096, 32, 0}, kPartial, nullptr},
    {"glm4", kNeighbours, 10000, 0, 0.5, {128, 4096, 32, 0}, kPartial, nullptr},
    {"glm4_moe", kHalves, 10000, 0, 0.5, {0, 4096, 96, 0}, kPartial, nullptr},
    {"glm4_moe_lite", kToHalves, 10000, 0, 1, {0, 2048, 20, 64}, 0, nullptr},
    {"glm4v_moe_text", kHalves, 10000, 0, 0.5, {0, 4096, 96, 0}, kPartial | kAxes, kGlmAxes},
    {"glm4v_text", kNeighbours, 10000, 0, 0.5, {0, 4096, 32, 0}, kPartial | kAxes, kGlmAxes},
    {"glm_image_text", kHalves, 10000, 0, 0.5, {0, 4096, 32, 0}, kPartial | kAxes, kGlmAxes},
    {"glm_moe_dsa", kToHalves, 10000, 0, 1, {64, 6144, 64, 64}, 0, nullptr},
    {"glm_ocr_text", kNeighbours, 10000, 0, 1, {0, 1024, 16, 0}, kPartial | kAxes, kGlmAxes},
    {"glmasr_encoder", kHalves, 10000, 0, 0.5, {0, 1280, 20, 0}, kPartial, nullptr},
    {"gpt_neox", kHalves, 10000, 0, 0.25, {0, 6144, 64, 0}, kPartial, nullptr},
    {"gpt_neox_japanese", kHalves, 10000, 0, 1, {0, 2560, 32, 0}, 0, nullptr},
    {"gpt_oss", kHalves, 150000, 0, 1, {64, 2880, 64, 0}, 0, kGptOss},
    {"gptj", kNeighbours, 10000, 0, 1, {0, 4096, 16, 0}, kRotary64 | kRotaryDim, nullptr},
    {"granite", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"granite4_vision_text", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"granite_swa", kHalves, 10000, 0, 1, {0, 2560, 20, 0}, kLists, nullptr},
    {"granitemoe", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"granitemoe_swa", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, kLists, nullptr},
    {"granitemoehybrid", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, kAsksType, nullptr},
    {"granitemoeshared", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"helium", kNeighbours, 100000, 0, 1, {128, 2560, 20, 0}, 0, nullptr},
    {"hf_olmo", kHalves, 10000, 0, 1, {0, 0, 0, 0}, 0, nullptr},
    {"higgs_audio_v2", kHalves, 10000, 0, 1, {128, 3072, 24, 0}, 0, kHiggs},
    {"hrm_text", kHalves, 10000, 0, 1, {128, 1536, 12, 0}, 0, nullptr},
    {"hunyuan", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, kAlpha, nullptr},
    {"hunyuan_v1_dense", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, kAlpha, nullptr},
    {"hunyuan_v1_moe", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, kAlpha, nullptr},
    {"hy_v3", kHalves, 11158840, 0, 1, {128, 4096, 64, 0}, 0, nullptr},
    {"hyperclovax", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"idefics", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"internlm", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"internlm2", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"internlm3", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"jais2", kHalves, 10000, 0, 1, {0, 3328, 26, 0}, 0, nullptr},
    {"jetmoe", kHalves, 10000, 0, 1, {128, 2048, 16, 0}, 0, nullptr},
    {"jina_embeddings_v3", kHalves, 20000, 0, 1, {0, 1024, 16, 0}, 0, nullptr},
    {"kimi_k2", kToHalves, 50000, 0, 1, {0, 7168, 64, 64}, 0, nullptr},
    {"kyutai_speech_to_text", kHalves, 10000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"laguna", kHalves, 500000, 10000, 1, {128, 2048, 48, 0}, kPartial | kLayers, kLaguna},
    {"lasr_encoder", kHalves, 10000, 0, 1, {0, 512, 8, 0}, 0, nullptr},
    {"lfm2", kHalves, 1000000, 0, 1, {0, 2560, 32, 0}, 0, nullptr},
    {"lfm2_moe", kHalves, 1000000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"llama", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"llama4_text", kNeighbours, 500000, 0, 1, {128, 5120, 40, 0}, 0, nullptr},
    {"longcat_flash", kToHalves, 10000000, 0, 1, {64, 6144, 64, 64}, 0, nullptr},
    {"mellum", kHalves, 500000, 10000, 1, {128, 2304, 32, 0}, kPartial | kLayers, nullptr},
    {"mimi", kHalves, 10000, 0, 1, {0, 512, 8, 0}, 0, nullptr},
    {"mimo", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"mimo_v2_flash", kHalves, 5000000, 10000, 0.334, {192, 4096, 64, 0}, kPartial | kLayers, nullptr},
    {"minicpm", kHalves, 10000, 0, 1, {0, 0, 0, 0}, 0, nullptr},
    {"minicpm3", kHalves, 10000, 0, 1, {0, 2560, 40, 32}, 0, nullptr},
    {"minicpmo", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"minicpmv", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"minimax", kHalves, 1000000, 0, 1, {0, 4096, 32, 0}, kRotaryDim, nullptr},
    {"minimax_m1", kHalves, 1000000, 0, 1, {0, 4096, 32, 0}, kPartial | kRotaryDim, nullptr},
    {"minimax_m2", kHalves, 5000000, 0, 1, {128, 3072, 48, 0}, kPartial | kRotaryDim, nullptr},
    {"minimax_m3_vl_text", kHalves, 5000000, 0, 1, {128, 6144, 64, 0}, kPartial | kRotary64 | kRotaryDim, nullptr},
    {"minimax_text_01", kHalves, 1000000, 0, 1, {0, 4096, 32, 0}, kPartial | kRotaryDim, nullptr},
    {"ministral", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"ministral3", kHalves, 10000, 0, 1, {128, 4096, 32, 0}, 0, kMinistral3},
    {"mistral", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"mistral4", kToHalves, 10000, 0, 1, {0, 4096, 32, 64}, 0, kMistral4},
    {"mixtral", kHalves, 1000000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"mllama_text_model", kHalves, 500000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"modernbert", kHalves, 160000, 10000, 1, {0, 768, 12, 0}, kLayers | kScaleBoth, nullptr},
    {"modernbert-decoder", kHalves, 160000, 10000, 1, {0, 768, 12, 0}, kLayers | kScaleBoth, nullptr},
    {"moonshine", kNeighbours, 10000, 0, 0.9, {0, 288, 8, 0}, kPartial, nullptr},
    {"moonshine_streaming", kNeighbours, 10000, 0, 0.8, {0, 320, 8, 0}, kPartial, nullptr},
    {"moshi", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"muse_glimmer_assistant", kHalves, 500000, 0, 1, {128, 6656, 32, 0}, kLists, nullptr},
    {"muse_glimmer_text", kHalves, 10000, 0, 1, {128, 6656, 32, 0}, kLists, nullptr},
    {"nanochat", kHalves, 10000, 0, 1, {0, 768, 6, 0}, kBackwards, nullptr},
    {"nemotron", kHalves, 10000, 0, 0.5, {0, 6144, 48, 0}, kPartial, nullptr},
    {"nemotron-nas", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"new", kHalves, 10000, 0, 1, {0, 768, 12, 0}, kMixedNtk, nullptr},
    {"nomic_bert", kHalves, 1000, 0, 1, {0, 768, 12, 0}, 0, nullptr},
    {"olmo", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"olmo2", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"olmo3", kHalves, 500000, 0, 1, {0, 4096, 32, 0}, kLayers, nullptr},
    {"olmo_hybrid", kHalves, 10000, 0, 1, {0, 3840, 30, 0}, 0, nullptr},
    {"olmoe", kHalves, 10000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"openai_privacy_filter", kNeighbours, 150000, 0, 1, {64, 640, 14, 0}, 0, kGptOss},
    {"paddleocr_vl_text", kHalves, 500000, 0, 1, {128, 1024, 16, 0}, kAxes, kQwen2Axes},
    {"orion", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"pe_audio_encoder", kNeighbours, 20000, 0, 1, {128, 1792, 14, 0}, 0, nullptr},
    {"pe_audio_video_encoder", kNeighbours, 20000, 0, 1, {128, 1792, 14, 0}, 0, nullptr},
    {"pe_video_encoder", kNeighbours, 20000, 0, 1, {128, 1792, 14, 0}, 0, nullptr},
    {"persimmon", kHalves, 10000, 0, 0.5, {0, 4096, 64, 0}, kPartial, nullptr},
    {"phi", kHalves, 10000, 0, 0.5, {0, 2048, 32, 0}, kPartial, nullptr},
    {"phi-msft", kHalves, 10000, 0, 1, {0, 2048, 32, 0}, kPartial | kRotaryDim, nullptr},
    {"phi3", kHalves, 10000, 0, 1, {0, 3072, 32, 0}, kPartial | kSuNames, nullptr},
    {"phi3_v", kHalves, 10000, 0, 1, {0, 3072, 32, 0}, kPartial | kSuNames, nullptr},
    {"phi4_multimodal", kHalves, 10000, 0, 1, {0, 3072, 32, 0}, kPartial | kSuNames, nullptr},
    {"phi4mm", kHalves, 10000, 0, 1, {0, 3072, 32, 0}, kPartial | kSuNames, nullptr},
    {"phimoe", kHalves, 1000000, 0, 1, {0, 4096, 32, 0}, kMscales, nullptr},
    {"qwen", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, kPartial | kSteppedNtk, nullptr},
    {"qwen2", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"qwen2_5_omni_talker", kHalves, 1000000, 0, 1, {128, 3584, 28, 0}, kAxes, kQwen2Axes},
    {"qwen2_5_omni_text", kHalves, 1000000, 0, 1, {0, 3584, 28, 0}, kAxes, kQwen2Axes},
    {"qwen2_5_vl_text", kHalves, 1000000, 0, 1, {0, 8192, 64, 0}, kAxes, kQwen2Axes},
    {"qwen2_moe", kHalves, 10000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"qwen2_vl_text", kHalves, 1000000, 0, 1, {0, 8192, 64, 0}, kAxes, kQwen2Axes},
    {"qwen3", kHalves, 10000, 0, 1, {128, 4096, 32, 0}, 0, nullptr},
    {"qwen3_5_moe_text", kHalves, 10000, 0, 0.25, {256, 2048, 16, 0}, kPartial | kAxes | kDealtAxes, kQwen35Axes},
    {"qwen3_5_text", kHalves, 10000, 0, 0.25, {256, 4096, 16, 0}, kPartial | kAxes | kDealtAxes, kQwen35Axes},
    {"qwen3_moe", kHalves, 10000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"qwen3_next", kHalves, 10000, 0, 0.25, {256, 2048, 16, 0}, kPartial, nullptr},
    {"qwen3_omni_moe_code2_wav", kHalves, 10000, 0, 1, {0, 1024, 16, 0}, 0, nullptr},
    {"qwen3_omni_moe_talker_code_predictor", kHalves, 10000, 0, 1, {128, 1024, 16, 0}, 0, nullptr},
    {"qwen3_omni_moe_talker_text", kHalves, 10000, 0, 1, {0, 1024, 16, 0}, kAxes | kDealtAxes, kQwen3Axes},
    {"qwen3_omni_moe_text", kHalves, 1000000, 0, 1, {0, 2048, 28, 0}, kAxes | kDealtAxes, kQwen3Axes},
    {"qwen3_vl_moe_text", kHalves, 500000, 0, 1, {0, 2048, 16, 0}, kAxes | kDealtAxes, kQwen3Axes},
    {"qwen3_vl_text", kHalves, 500000, 0, 1, {128, 4096, 32, 0}, kAxes | kDealtAxes, kQwen3Axes},
    {"recurrent_gemma", kHalves, 10000, 0, 0.5, {0, 2560, 10, 0}, kPartial, nullptr},
    {"roformer", kNeighbours, 10000, 0, 1, {0, 768, 12, 0}, 0, nullptr},
    {"seed_oss", kHalves, 10000, 0, 1, {128, 4096, 80, 0}, 0, nullptr},
    {"skywork", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"smollm3", kHalves, 2000000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"solar", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"solar_open", kHalves, 1000000, 0, 1, {128, 4096, 64, 0}, kPartial, nullptr},
    {"stablelm", kHalves, 10000, 0, 0.25, {0, 2560, 32, 0}, kPartial, nullptr},
    {"stablelm_epoch", kHalves, 10000, 0, 0.25, {0, 2560, 32, 0}, kPartial, nullptr},
    {"starcoder2", kHalves, 10000, 0, 1, {0, 3072, 24, 0}, 0, nullptr},
    {"step3p5", kHalves, 10000, 0, 1, {128, 4096, 64, 0}, kPartial | kLayers | kLists, nullptr},
    {"t5_gemma_module", kHalves, 10000, 0, 1, {256, 2304, 8, 0}, 0, nullptr},
    {"t5gemma2_decoder", kHalves, 1000000, 10000, 1, {256, 2304, 8, 0}, kLayers, nullptr},
    {"t5gemma2_text", kHalves, 1000000, 10000, 1, {256, 2304, 8, 0}, kLayers, nullptr},
    {"timesfm2_5", kHalves, 10000, 0, 1, {80, 1280, 16, 0}, 0, nullptr},
    {"vaultgemma", kHalves, 10000, 0, 1, {256, 2304, 8, 0}, 0, nullptr},
    {"voxtral_realtime_encoder", kHalves, 10000, 0, 1, {64, 1280, 32, 0}, 0, nullptr},
    {"voxtral_realtime_text", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"xcodec2", kHalves, 10000, 0, 1, {64, 1024, 16, 0}, 0, nullptr},
    {"xverse", kHalves, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"youtu", kToHalves, 10000, 0, 1, {0, 2048, 16, 64}, 0, nullptr},
    {"zamba2", kHalves, 10000, 0, 1, {160, 2560, 32, 0}, 0, nullptr},
    {"zaya", kHalves, 5000000, 10000, 1, {128, 2048, 8, 0}, kPartial | kLayers, kZaya},
};

struct NoRotation {
    const char* prefix;
    const char* why;
};

constexpr NoRotation kNoRotation[] = {
    {"jamba", "its attention has no positions"},
    {"kimi_linear", "its attention has no positions"},
    {"nemotron_h", "its attention has no positions"},
    {"vjepa2", "the two elements of a pair turn by different angles"},
    {"hunyuan_vl", "with its positions of several axes the two elements of a pair turn by different angles"},
};

const Model* findExactly(const std::string& type) {
    for (const Model& model : kModels) {
        if (type == model.type) return &model;
    }
    return nullptr;
}

} // namespace

const Model* findModel(const std::string& type) {
    for (const char* ending : {"", "_text", "_text_model"}) {
        if (const Model* found = findExactly(type + ending)) return found;
    }
    return nullptr;
}

const char* whyNoRotation(const std::string& type) {
    for (const NoRotation& model : kNoRotation) {
        if (type.rfind(model.prefix, 0) == 0) return model.why;
    }
    return nullptr;
}

} // namespace rope
