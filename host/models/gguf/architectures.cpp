#include "models/gguf/architectures.hpp"

#include "models/gguf/header.hpp"

#include <algorithm>
#include <sstream>

namespace rope {
namespace gguf {
namespace {

struct ArchitectureGroup {
    RotationKind kind;
    const char* names; // each between spaces
};

// The groups follow llama_model_rope_type in src/llama-model.cpp of llama.cpp (ggml-org, late 2026), which has a type
// for each name in its src/llama-arch.cpp: NORM is interleaved, NEOX is half, MROPE is axes, IMROPE is
// axes_round_robin. bert and starcoder have a type there, but their graphs never rotate: here their kind is none. The
// key rope.dimension_sections tells which pair turns by which axis. glm4 and glm4moe have axes, and half pairing, where
// they have sections. The weights in a .gguf file are permuted to suit when the file is made: the pairing may differ
// from the one in the same model's config.json, as llama's does.
constexpr ArchitectureGroup kGroups[] = {
    {RotationKind::interleaved,
     " llama llada llama4 deci baichuan internlm2 minicpm xverse command-r cohere2 cohere2moe olmo arctic deepseek "
     "deepseek2 deepseek32 muse-glimmer plm chatglm granite granitemoe granitehybrid chameleon bailingmoe neo-bert "
     "smollm3 arcee ernie4_5 ernie4_5-moe mistral3 mistral4 llama-embed maincoder glm-dsa glm4 nanbeige "},
    {RotationKind::half,
     " falcon falcon-h1 grok dbrx jina-bert-v3 modern-bert nomic-bert nomic-bert-moe eurobert stablelm bitnet qwen "
     "qwen2 dream qwen2moe qwen3 qwen3moe llada-moe rnd1 olmo2 olmoe phi2 phi3 phimoe plamo plamo2 plamo3 gemma gemma2 "
     "gemma3 gemma3n gemma4 gemma4-assistant gemma-embedding starcoder2 openelm gptneox codeshell orion nemotron "
     "exaone exaone4 exaone-moe minicpm3 bailingmoe2 dots1 hunyuan-moe jais2 gpt-oss hunyuan-dense hunyuan_vl hy_v3 "
     "lfm2 lfm2moe smallthinker seed_oss grovemoe apertus minimax-m2 minimax-m3 cogvlm pangu-embedded afmoe qwen3next "
     "mimo2 talkie mellum glm4moe "},
    {RotationKind::axes, " qwen2vl paddleocr "},
    {RotationKind::axes_round_robin, " qwen3vl qwen3vlmoe qwen35 qwen35moe "},
    {RotationKind::none,
     " clip gpt2 gptj mpt refact bloom mamba mamba2 jamba jina-bert-v2 t5 t5encoder jais rwkv6 rwkv6qwen2 rwkv7 arwkv7 "
     "wavtokenizer-dec nemotron_h nemotron_h_moe kimi-linear bert starcoder "},
    {RotationKind::unsupported, " deepseek4 deepseek2-ocr step35 laguna eagle3 dflash "},
};

} // namespace

RotationKind rotationKindOf(const std::string& architecture) {
    for (const ArchitectureGroup& group : kGroups) {
        if (isIn(group.names, architecture)) return group.kind;
    }
    return RotationKind::unknown;
}

std::vector<std::string> listArchitectures() {
    std::vector<std::string> names;
    for (const ArchitectureGroup& group : kGroups) {
        std::istringstream words(group.names);
        for (std::string name; words >> name;) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

bool alwaysHasAxes(RotationKind kind) { return kind == RotationKind::axes || kind == RotationKind::axes_round_robin; }

bool rotatesHeadEnd(const std::string& architecture) {
    return isIn(" deepseek2 deepseek32 glm-dsa mistral4 minicpm3 plm ", architecture);
}

} // namespace gguf
} // namespace rope
