#include "models/models.hpp"

namespace rope {
namespace {

constexpr unsigned kLayersOfGemma4 = kLayerTypes | kGlobalHeadDim | kScaledPartial;
constexpr unsigned kAxesOfErnie = kHasPositionAxes | kErnieAxes;
constexpr unsigned kAxesOfQwen2 = kHasPositionAxes | kNeedsSections;
// The model's code implies the configuration key mrope_interleaved.
constexpr unsigned kMropeInterleaved = kHasPositionAxes | kRoundRobinAxes;

constexpr PairingStyle kHalf = PairingStyle::half, kInterleaved = PairingStyle::interleaved,
                       kInterleavedToHalf = PairingStyle::interleaved_to_half;

// A dictionary that has a base, or a partial_rotary_factor, is a class's own: it goes before such a key beside it.
const char kGemma4[] =
    R"({"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000},
    "sliding_attention": {"rope_theta": 10000}})";
const char kLaguna[] = R"({"full_attention": {"partial_rotary_factor": 0.5, "rope_theta": 500000},
    "sliding_attention": {"partial_rotary_factor": 1, "rope_theta": 10000}})";
const char kMellum[] = R"({"full_attention": {"rope_theta": 500000}, "sliding_attention": {"rope_theta": 10000}})";
const char kMimoV2[] = R"({"full_attention": {"partial_rotary_factor": 0.334, "rope_theta": 5000000},
    "sliding_attention": {"partial_rotary_factor": 0.334, "rope_theta": 10000}})";
const char kZaya[] = R"({"hybrid": {"partial_rotary_factor": 0.5, "rope_theta": 5000000},
    "hybrid_sliding": {"partial_rotary_factor": 0.5, "rope_theta": 10000}})";
const char kMoonshineStreaming[] = R"({"partial_rotary_factor": 0.8, "rope_theta": 10000})";
const char kPeAudio[] = R"({"rope_theta": 20000})";
const char kApertus[] = R"({"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 8192,
    "low_freq_factor": 1, "high_freq_factor": 4, "rope_theta": 12000000})";
const char kCwm[] = R"({"rope_type": "llama3", "factor": 16, "original_max_position_embeddings": 8192,
    "low_freq_factor": 1, "high_freq_factor": 4, "rope_theta": 1000000})";
const char kHiggs[] = R"({"rope_type": "llama3", "factor": 32, "original_max_position_embeddings": 1024,
    "low_freq_factor": 0.125, "high_freq_factor": 0.5, "rope_theta": 500000})";
const char kGptOss[] =
    R"({"rope_type": "yarn", "factor": 32, "original_max_position_embeddings": 4096, "truncate": false})";
const char kMinistral3[] = R"({"rope_type": "yarn", "factor": 16, "original_max_position_embeddings": 16384,
    "mscale": 1, "mscale_all_dim": 1, "rope_theta": 1000000, "llama_4_scaling_beta": 0.1})";
const char kMistral4[] = R"({"rope_type": "yarn", "factor": 128, "original_max_position_embeddings": 8192,
    "mscale": 1, "mscale_all_dim": 1, "rope_theta": 10000, "llama_4_scaling_beta": 0.1})";

const char kGlmAxes[] = R"({"mrope_section": [8, 12, 12]})";
const char kErnieAxesOfHwt[] = R"({"mrope_section": [22, 22, 20]})";
const char kQwen3Axes[] = R"({"mrope_section": [24, 20, 20]})";
const char kCosmosAxes[] = R"({"mrope_section": [24, 20, 20], "rope_theta": 100000000})";
const char kQwen35Axes[] = R"({"mrope_section": [11, 11, 10]})";

// The rows are taken from the configuration and modeling files of Hugging Face Transformers c49429ed1f, those of
// apertus1p5_text (077352d9f1) and esmc (1772d2680d) from later ones. The classes of commit c7e57f7934 were run to find
// what a type's code ignores. qwen is taken from its own modeling_qwen.py; the bases of arctic and exaone are from
// their own configuration files; mimo's class is Qwen 2's. These rows are from general knowledge of the models' code,
// unchecked: RefinedWeb, RefinedWebModel, Yi, apriel, aquila, baichuan, bailing_moe, bailing_moe_v2, chatglm,
// codeshell, deci, deepseek, ernie4_5_moe_vl, hf_olmo, hunyuan, internlm, internlm2, internlm3, kimi_k2, minicpm,
// minicpmo, minicpmv, minimax_m1, minimax_text_01, nemotron-nas, new (GTE), orion, phi-msft, phi3_v, phi4mm, skywork,
// solar, stablelm_epoch, xverse.
//
// The numbers in braces are a class's head_dim, hidden_size, heads, rope_head_dim and nope_head_dim, each 0 where it
// has none.
constexpr Model kModels[] = {
    {"RefinedWeb", kHalf, 10000, 0, 1, {0, 0, 0, 0}, kOtherCode, nullptr},
    {"RefinedWebModel", kHalf, 10000, 0, 1, {0, 0, 0, 0}, kOtherCode, nullptr},
    {"Yi", kHalf, 5000000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"afmoe", kHalf, 10000, 0, 1, {128, 2048, 16, 0}, 0, nullptr},
    {"apertus", kHalf, 12000000, 0, 1, {0, 4096, 32, 0}, 0, kApertus},
    {"apertus1p5_text", kHalf, 12000000, 0, 1, {0, 4096, 32, 0}, 0, kApertus},
    {"arcee", kHalf, 10000, 0, 1, {0, 2560, 32, 0}, 0, nullptr},
    {"apriel", kHalf, 10000, 0, 1, {0, 0, 0, 0}, kOtherCode, nullptr},
    {"aquila", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"arctic", kHalf, 1000000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"aria_text", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"axk1", kInterleavedToHalf, 10000, 0, 1, {0, 7168, 64, 64, 128}, 0, nullptr},
    {"axk2", kInterleavedToHalf, 10000, 0, 1, {64, 2048, 32, 32, 64}, 0, nullptr},
    {"baichuan", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"bailing_moe", kHalf, 10000, 0, 1, {0, 0, 0, 0}, kOtherCode, nullptr},
    {"bailing_moe_v2", kHalf, 10000, 0, 1, {0, 0, 0, 0}, kPartialHead | kRotaryDim | kOtherCode, nullptr},
    {"bamba", kHalf, 10000, 0, 0.5, {0, 4096, 32, 0}, kPartialHead | kRotaryDim | kClassPartial, nullptr},
    {"bitnet", kHalf, 500000, 0, 1, {0, 2560, 20, 0}, 0, nullptr},
    {"blt_global_transformer", kInterleaved, 500000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"blt_local_decoder", kInterleaved, 500000, 0, 1, {0, 1024, 16, 0}, 0, nullptr},
    {"blt_local_encoder", kInterleaved, 500000, 0, 1, {0, 1024, 16, 0}, 0, nullptr},
    {"blt_patcher", kInterleaved, 10000, 0, 1, {0, 768, 12, 0}, 0, nullptr},
    {"chameleon", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"chatglm", kInterleaved, 10000, 0, 0.5, {128, 4096, 32, 0}, kPartialHead | kRopeRatio | kOtherCode, nullptr},
    {"clvp_encoder", kHalf, 10000, 0, 1, {0, 768, 12, 0}, kProjectionRotary, nullptr},
    {"codeshell", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"codegen", kInterleaved, 10000, 0, 1, {0, 4096, 16, 0}, kRotary64 | kRotaryDim, nullptr},
    {"cohere", kInterleaved, 500000, 0, 1, {0, 8192, 64, 0}, 0, nullptr},
    {"cohere2", kInterleaved, 10000, 0, 1, {0, 8192, 64, 0}, 0, nullptr},
    {"cohere2_moe", kInterleaved, 10000, 0, 1, {128, 8192, 64, 0}, 0, nullptr},
    {"cohere_compass_text", kHalf, 10000, 0, 1, {0, 8192, 64, 0}, kMropeInterleaved, kQwen3Axes},
    {"cosmos3_edge_text", kHalf, 100000000, 0, 1, {128, 2048, 16, 0}, kMropeInterleaved, kCosmosAxes},
    {"csm", kHalf, 500000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"csm_depth_decoder_model", kHalf, 500000, 0, 1, {0, 1024, 8, 0}, 0, nullptr},
    {"cwm", kHalf, 1000000, 0, 1, {128, 6144, 48, 0}, 0, kCwm},
    {"dbrx", kHalf, 10000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"deci", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"deepseek", kHalf, 10000, 0, 1, {0, 0, 0, 0}, kOtherCode, nullptr},
    {"deepseek_ocr2_encoder", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"deepseek_ocr2_text", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"deepseek_v2", kInterleaved, 10000, 0, 1, {0, 4096, 32, 64, 128}, 0, nullptr},
    {"deepseek_v3", kInterleavedToHalf, 10000, 0, 1, {0, 7168, 128, 64, 128}, 0, nullptr},
    {"deepseek_v32", kInterleavedToHalf, 10000, 0, 1, {64, 7168, 128, 64, 128}, 0, nullptr},
    {"deepseek_v4",
     kInterleaved,
     10000,
     160000,
     0.125,
     {512, 4096, 64, 0},
     kPartialHead | kLayerTypes | kRotaryLast | kCompressLayers | kClassPartial,
     nullptr},
    {"dia_decoder", kHalf, 10000, 0, 1, {128, 2048, 16, 0}, 0, nullptr},
    {"dia_encoder", kHalf, 10000, 0, 1, {128, 1024, 16, 0}, 0, nullptr},
    {"diffllama", kHalf, 10000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"diffusion_gemma_text", kHalf, 1000000, 10000, 1, {256, 2304, 8, 0}, kPartialHead | kLayersOfGemma4, kGemma4},
    {"doge", kHalf, 10000, 0, 1, {0, 1024, 8, 0}, 0, nullptr},
    {"dots1", kHalf, 10000, 0, 1, {0, 4608, 32, 0}, 0, nullptr},
    {"emu3_text_model", kHalf, 1000000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"ernie4_5", kInterleaved, 500000, 0, 1, {128, 1024, 16, 0}, 0, nullptr},
    {"ernie4_5_moe", kInterleaved, 500000, 0, 1, {0, 2560, 20, 0}, 0, nullptr},
    {"ernie4_5_moe_vl", kInterleaved, 500000, 0, 1, {0, 2560, 20, 0}, kAxesOfErnie | kOtherCode, kErnieAxesOfHwt},
    {"ernie4_5_vl_moe_text", kInterleaved, 500000, 0, 1, {0, 2560, 20, 0}, kAxesOfErnie, kErnieAxesOfHwt},
    {"esm", kHalf, 10000, 0, 1, {0, 768, 12, 0}, kEmbeddingTypeDecides, nullptr},
    {"esmc", kHalf, 10000, 0, 1, {0, 2560, 40, 0}, 0, nullptr},
    {"eurobert", kHalf, 10000, 0, 1, {0, 768, 12, 0}, 0, nullptr},
    {"evolla", kHalf, 500000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"exaone", kHalf, 10000, 0, 1, {0, 2048, 32, 0}, kOtherCode, nullptr},
    {"exaone4", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"exaone_moe", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"falcon", kHalf, 10000, 0, 1, {0, 4544, 71, 0}, 0, nullptr},
    {"falcon_h1", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"flex_olmo", kHalf, 500000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"fuyu", kHalf, 25000, 0, 0.5, {0, 4096, 64, 0}, kPartialHead, nullptr},
    {"gemma", kHalf, 10000, 0, 1, {256, 3072, 16, 0}, 0, nullptr},
    {"gemma2", kHalf, 10000, 0, 1, {256, 2304, 8, 0}, 0, nullptr},
    {"gemma3_text", kHalf, 1000000, 10000, 1, {256, 2304, 8, 0}, kLayerTypes, nullptr},
    {"gemma3n_text", kHalf, 1000000, 10000, 1, {256, 2048, 8, 0}, kLayerTypes, nullptr},
    {"gemma4_text", kHalf, 1000000, 10000, 1, {256, 2304, 8, 0}, kLayersOfGemma4, kGemma4},
    {"gemma4_unified_text", kHalf, 1000000, 10000, 1, {256, 2304, 8, 0}, kLayersOfGemma4, kGemma4},
    {"glm", kInterleaved, 10000, 0, 0.5, {128, 4096, 32, 0}, kPartialHead | kClassPartial, nullptr},
    {"glm4", kInterleaved, 10000, 0, 0.5, {128, 4096, 32, 0}, kPartialHead | kClassPartial, nullptr},
    {"glm4_moe", kHalf, 10000, 0, 0.5, {0, 4096, 96, 0}, kPartialHead | kClassPartial, nullptr},
    {"glm4_moe_lite", kInterleavedToHalf, 10000, 0, 1, {0, 2048, 20, 64, 192}, 0, nullptr},
    {"glm4v_moe_text",
     kHalf,
     10000,
     0,
     0.5,
     {0, 4096, 96, 0},
     kPartialHead | kHasPositionAxes | kClassPartial,
     kGlmAxes},
    {"glm4v_text", kInterleaved, 10000, 0, 0.5, {0, 4096, 32, 0}, kPartialHead | kHasPositionAxes, kGlmAxes},
    {"glm_image_text", kHalf, 10000, 0, 0.5, {0, 4096, 32, 0}, kPartialHead | kHasPositionAxes, kGlmAxes},
    {"glm_moe_dsa", kInterleavedToHalf, 10000, 0, 1, {64, 6144, 64, 64, 192}, 0, nullptr},
    {"glm_ocr_text", kInterleaved, 10000, 0, 1, {0, 1024, 16, 0}, kPartialHead | kHasPositionAxes, kGlmAxes},
    {"glmasr_encoder", kHalf, 10000, 0, 0.5, {0, 1280, 20, 0}, kPartialHead | kClassPartial, nullptr},
    {"gpt_neox", kHalf, 10000, 0, 0.25, {0, 6144, 64, 0}, kPartialHead | kScaledPartial, nullptr},
    {"gpt_neox_japanese", kHalf, 10000, 0, 1, {0, 2560, 32, 0}, 0, nullptr},
    {"gpt_oss", kHalf, 150000, 0, 1, {64, 2880, 64, 0}, 0, kGptOss},
    {"gptj", kInterleaved, 10000, 0, 1, {0, 4096, 16, 0}, kRotary64 | kRotaryDim, nullptr},
    {"granite", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"granite4_vision_text", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"granite_swa", kHalf, 10000, 0, 1, {0, 2560, 20, 0}, kLayerLists, nullptr},
    {"granitemoe", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"granitemoe_swa", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kLayerLists, nullptr},
    {"granitemoehybrid", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kEmbeddingTypeDecides, nullptr},
    {"granitemoeshared", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"helium", kInterleaved, 100000, 0, 1, {128, 2560, 20, 0}, 0, nullptr},
    {"hf_olmo", kHalf, 10000, 0, 1, {0, 0, 0, 0}, kOtherCode, nullptr},
    {"higgs_audio_v2", kHalf, 10000, 0, 1, {128, 3072, 24, 0}, 0, kHiggs},
    {"hrm_text", kHalf, 10000, 0, 1, {128, 1536, 12, 0}, 0, nullptr},
    {"hunyuan", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kDynamicAlpha | kOtherCode, nullptr},
    {"hunyuan_v1_dense", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kDynamicAlpha, nullptr},
    {"hunyuan_v1_moe", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kDynamicAlpha, nullptr},
    {"hy_v3", kHalf, 11158840, 0, 1, {128, 4096, 64, 0}, 0, nullptr},
    {"hyperclovax", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"idefics", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"internlm", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"internlm2", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"internlm3", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"jais2", kHalf, 10000, 0, 1, {0, 3328, 26, 0}, 0, nullptr},
    {"jetmoe", kHalf, 10000, 0, 1, {128, 2048, 16, 0}, 0, nullptr},
    {"jina_embeddings_v3", kHalf, 20000, 0, 1, {0, 1024, 16, 0}, 0, nullptr},
    {"kimi_k2", kInterleavedToHalf, 50000, 0, 1, {0, 7168, 64, 64, 128}, kOtherCode, nullptr},
    {"kyutai_speech_to_text", kHalf, 10000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"laguna", kHalf, 500000, 10000, 1, {128, 2048, 48, 0}, kPartialHead | kLayerTypes | kScaledPartial, kLaguna},
    {"lasr_encoder", kHalf, 10000, 0, 1, {0, 512, 8, 0}, 0, nullptr},
    {"lfm2", kHalf, 1000000, 0, 1, {0, 2560, 32, 0}, 0, nullptr},
    {"lfm2_moe", kHalf, 1000000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"llama", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"llama4_text", kInterleaved, 500000, 0, 1, {128, 5120, 40, 0}, 0, nullptr},
    {"longcat_flash", kInterleavedToHalf, 10000000, 0, 1, {64, 6144, 64, 64, 128}, 0, nullptr},
    {"mellum", kHalf, 500000, 10000, 1, {128, 2304, 32, 0}, kPartialHead | kLayerTypes | kScaledPartial, kMellum},
    {"mimi", kHalf, 10000, 0, 1, {0, 512, 8, 0}, 0, nullptr},
    {"mimo", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"mimo_v2_flash",
     kHalf,
     5000000,
     10000,
     0.334,
     {192, 4096, 64, 0},
     kPartialHead | kLayerTypes | kScaledPartial,
     kMimoV2},
    {"minicpm", kHalf, 10000, 0, 1, {0, 0, 0, 0}, kOtherCode, nullptr},
    {"minicpm3", kHalf, 10000, 0, 1, {0, 2560, 40, 32, 64}, 0, nullptr},
    {"minicpmo", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"minicpmv", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"minimax", kHalf, 1000000, 0, 1, {0, 4096, 32, 0}, kRotaryDim, nullptr},
    {"minimax_m1", kHalf, 1000000, 0, 1, {0, 4096, 32, 0}, kPartialHead | kRotaryDim | kOtherCode, nullptr},
    {"minimax_m2", kHalf, 5000000, 0, 1, {128, 3072, 48, 0}, kPartialHead | kRotaryDim, nullptr},
    {"minimax_m3_vl_text", kHalf, 5000000, 0, 1, {128, 6144, 64, 0}, kPartialHead | kRotary64 | kRotaryDim, nullptr},
    {"minimax_text_01", kHalf, 1000000, 0, 1, {0, 4096, 32, 0}, kPartialHead | kRotaryDim | kOtherCode, nullptr},
    {"ministral", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"ministral3", kHalf, 10000, 0, 1, {128, 4096, 32, 0}, 0, kMinistral3},
    {"mistral", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"mistral4", kInterleavedToHalf, 10000, 0, 1, {0, 4096, 32, 64, 64}, 0, kMistral4},
    {"mixtral", kHalf, 1000000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"mllama_text_model", kHalf, 500000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"modernbert", kHalf, 160000, 10000, 1, {0, 768, 12, 0}, kLayerTypes | kScalesAllLayers | kScaledPartial, nullptr},
    {"modernbert-decoder",
     kHalf,
     160000,
     10000,
     1,
     {0, 768, 12, 0},
     kLayerTypes | kScalesAllLayers | kScaledPartial,
     nullptr},
    {"moonshine", kInterleaved, 10000, 0, 0.9, {0, 288, 8, 0}, kPartialHead | kClassPartial, nullptr},
    {"moonshine_streaming", kInterleaved, 10000, 0, 1, {0, 320, 8, 0}, kPartialHead, kMoonshineStreaming},
    {"moshi", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"muse_glimmer_assistant", kHalf, 500000, 0, 1, {128, 6656, 32, 0}, kLayerLists, nullptr},
    {"muse_glimmer_text", kHalf, 10000, 0, 1, {128, 6656, 32, 0}, kLayerLists, nullptr},
    {"nanochat", kHalf, 10000, 0, 1, {0, 768, 6, 0}, kBackwards, nullptr},
    {"nemotron", kHalf, 10000, 0, 0.5, {0, 6144, 48, 0}, kPartialHead | kClassPartial, nullptr},
    {"nemotron-nas", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"new", kHalf, 10000, 0, 1, {0, 768, 12, 0}, kMixedNtk | kOtherCode, nullptr},
    {"nomic_bert", kHalf, 1000, 0, 1, {0, 768, 12, 0}, 0, nullptr},
    {"olmo", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"olmo2", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"olmo3", kHalf, 500000, 500000, 1, {0, 4096, 32, 0}, kLayerTypes, nullptr},
    {"olmo_hybrid", kHalf, 10000, 0, 1, {0, 3840, 30, 0}, 0, nullptr},
    {"olmoe", kHalf, 10000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"openai_privacy_filter", kInterleaved, 150000, 0, 1, {64, 640, 14, 0}, 0, kGptOss},
    {"paddleocr_vl_text", kHalf, 500000, 0, 1, {128, 1024, 16, 0}, kAxesOfQwen2, nullptr},
    {"orion", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"pe_audio_encoder", kInterleaved, 10000, 0, 1, {128, 1792, 14, 0}, 0, kPeAudio},
    {"pe_audio_video_encoder", kInterleaved, 10000, 0, 1, {128, 1792, 14, 0}, 0, kPeAudio},
    {"pe_video_encoder", kInterleaved, 10000, 0, 1, {128, 1792, 14, 0}, 0, kPeAudio},
    {"persimmon", kHalf, 10000, 0, 0.5, {0, 4096, 64, 0}, kPartialHead | kClassPartial, nullptr},
    {"phi", kHalf, 10000, 0, 0.5, {0, 2048, 32, 0}, kPartialHead | kClassPartial, nullptr},
    {"phi-msft", kHalf, 10000, 0, 1, {0, 2048, 32, 0}, kPartialHead | kRotaryDim | kOtherCode, nullptr},
    {"phi3", kHalf, 10000, 0, 1, {0, 3072, 32, 0}, kPartialHead | kPhisLongrope, nullptr},
    {"phi3_v", kHalf, 10000, 0, 1, {0, 3072, 32, 0}, kPartialHead | kPhisLongrope | kOtherCode, nullptr},
    {"phi4_multimodal", kHalf, 10000, 0, 1, {0, 3072, 32, 0}, kPartialHead | kPhisLongrope, nullptr},
    {"phi4mm", kHalf, 10000, 0, 1, {0, 3072, 32, 0}, kPartialHead | kPhisLongrope | kOtherCode, nullptr},
    {"phimoe", kHalf, 1000000, 0, 1, {0, 4096, 32, 0}, kShortLongMscale, nullptr},
    {"qwen", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kPartialHead | kSteppedNtk | kOtherCode, nullptr},
    {"qwen2", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"qwen2_5_omni_talker", kHalf, 1000000, 0, 1, {128, 3584, 28, 0}, kAxesOfQwen2, nullptr},
    {"qwen2_5_omni_dit", kInterleavedToHalf, 10000, 0, 1, {64, 1024, 16, 0}, 0, nullptr},
    {"qwen2_5_omni_text", kHalf, 1000000, 0, 1, {0, 3584, 28, 0}, kAxesOfQwen2, nullptr},
    {"qwen2_5_vl_text", kHalf, 1000000, 0, 1, {0, 8192, 64, 0}, kAxesOfQwen2, nullptr},
    {"qwen2_moe", kHalf, 10000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"qwen2_vl_text", kHalf, 1000000, 0, 1, {0, 8192, 64, 0}, kAxesOfQwen2, nullptr},
    {"qwen3", kHalf, 10000, 0, 1, {128, 4096, 32, 0}, 0, nullptr},
    {"qwen3_5_moe_text",
     kHalf,
     10000,
     0,
     0.25,
     {256, 2048, 16, 0},
     kPartialHead | kMropeInterleaved | kClassPartial,
     kQwen35Axes},
    {"qwen3_5_text",
     kHalf,
     10000,
     0,
     0.25,
     {256, 4096, 16, 0},
     kPartialHead | kMropeInterleaved | kClassPartial,
     kQwen35Axes},
    {"qwen3_moe", kHalf, 10000, 0, 1, {0, 2048, 32, 0}, 0, nullptr},
    {"qwen3_next", kHalf, 10000, 0, 0.25, {256, 2048, 16, 0}, kPartialHead | kClassPartial, nullptr},
    {"qwen3_omni_moe_code2_wav", kHalf, 10000, 0, 1, {0, 1024, 16, 0}, 0, nullptr},
    {"qwen3_omni_moe_talker_code_predictor", kHalf, 10000, 0, 1, {128, 1024, 16, 0}, 0, nullptr},
    {"qwen3_omni_moe_talker_text", kHalf, 10000, 0, 1, {0, 1024, 16, 0}, kMropeInterleaved, kQwen3Axes},
    {"qwen3_omni_moe_text", kHalf, 1000000, 0, 1, {0, 2048, 28, 0}, kMropeInterleaved, kQwen3Axes},
    {"qwen3_vl_moe_text", kHalf, 500000, 0, 1, {0, 2048, 16, 0}, kMropeInterleaved, kQwen3Axes},
    {"qwen3_vl_text", kHalf, 500000, 0, 1, {128, 4096, 32, 0}, kMropeInterleaved, kQwen3Axes},
    {"recurrent_gemma", kHalf, 10000, 0, 0.5, {0, 2560, 10, 0}, kPartialHead, nullptr},
    {"roformer", kInterleaved, 10000, 0, 1, {0, 768, 12, 0}, 0, nullptr},
    {"seamless_m4t", kHalf, 10000, 0, 1, {0, 1024, 16, 0}, kEmbeddingsTypeDecides, nullptr},
    {"seed_oss", kHalf, 10000, 0, 1, {128, 4096, 80, 0}, 0, nullptr},
    {"skywork", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"smollm3", kHalf, 2000000, 0, 1, {0, 2048, 16, 0}, 0, nullptr},
    {"solar", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"solar_open", kHalf, 1000000, 0, 1, {128, 4096, 64, 0}, kPartialHead | kClassPartial, nullptr},
    {"stablelm", kHalf, 10000, 0, 0.25, {0, 2560, 32, 0}, kPartialHead | kClassPartial, nullptr},
    {"stablelm_epoch", kHalf, 10000, 0, 0.25, {0, 2560, 32, 0}, kPartialHead | kOtherCode, nullptr},
    {"starcoder2", kHalf, 10000, 0, 1, {0, 3072, 24, 0}, 0, nullptr},
    {"step3p5", kHalf, 10000, 0, 1, {128, 4096, 64, 0}, kPartialHead | kLayerTypes | kLayerLists, nullptr},
    {"t5_gemma_module", kHalf, 10000, 0, 1, {256, 2304, 8, 0}, 0, nullptr},
    {"t5gemma2_decoder", kHalf, 1000000, 10000, 1, {256, 2304, 8, 0}, kLayerTypes, nullptr},
    {"t5gemma2_text", kHalf, 1000000, 10000, 1, {256, 2304, 8, 0}, kLayerTypes, nullptr},
    {"timesfm2_5", kHalf, 10000, 0, 1, {80, 1280, 16, 0}, 0, nullptr},
    {"vaultgemma", kHalf, 10000, 0, 1, {256, 2304, 8, 0}, 0, nullptr},
    {"voxtral_realtime_encoder", kHalf, 10000, 0, 1, {64, 1280, 32, 0}, 0, nullptr},
    {"voxtral_realtime_text", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, 0, nullptr},
    {"wav2vec2-bert", kHalf, 10000, 0, 1, {0, 1024, 16, 0}, kEmbeddingsTypeDecides, nullptr},
    {"wav2vec2-conformer", kHalf, 10000, 0, 1, {0, 768, 12, 0}, kEmbeddingsTypeDecides, nullptr},
    {"xcodec2", kHalf, 10000, 0, 1, {64, 1024, 16, 0}, 0, nullptr},
    {"xverse", kHalf, 10000, 0, 1, {0, 4096, 32, 0}, kOtherCode, nullptr},
    {"youtu", kInterleavedToHalf, 10000, 0, 1, {0, 2048, 16, 64, 128}, 0, nullptr},
    {"zamba2", kHalf, 10000, 0, 1, {160, 2560, 32, 0}, 0, nullptr},
    {"zaya", kHalf, 5000000, 10000, 1, {128, 2048, 8, 0}, kPartialHead | kLayerTypes | kScaledPartial, kZaya},
};

const Model* findExactly(const std::string& type) {
    for (const Model& model : kModels) {
        if (type == model.type) return &model;
    }
    return nullptr;
}

} // namespace

std::vector<const Model*> listModels() {
    std::vector<const Model*> models;
    for (const Model& model : kModels) models.push_back(&model);
    return models;
}

const Model* findModel(const std::string& type) {
    for (const char* ending : {"", "_text", "_text_model"}) {
        if (const Model* found = findExactly(type + ending)) return found;
    }
    return nullptr;
}

} // namespace rope
