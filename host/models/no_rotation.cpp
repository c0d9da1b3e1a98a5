#include "models/no_rotation.hpp"

#include <sstream>

namespace rope {
namespace {

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
    {"lightglue", "its angles are a learned projection of the keypoints, and no configuration has them; `vkrope rotate "
                  "--cos COS.npy --sin SIN.npy --pairing interleaved` takes their cosines and sines"},
};

// Types stand between spaces. The groups follow the modeling files of Transformers.
struct Instead {
    const char* types;
    const char* has;
};

constexpr Instead kInstead[] = {
    {" albert align_text_model bert bert-generation big_bird blenderbot blenderbot-small "
     "blip_2_vision_model blip_text_model blip_vision_model chinese_clip chinese_clip_text_model "
     "chinese_clip_vision_model clip clip_text_model clip_vision_model clipseg clipseg_text_model "
     "clipseg_vision_model clvp_decoder convbert deit dinov2 dinov2_with_registers distilbert electra ernie git "
     "git_vision_model gpt2 gpt_bigcode gpt_neo idefics2_vision idefics3_vision ijepa imagegpt "
     "instructblip_vision_model internvl_vision janus_vision_model led megatron-bert metaclip_2 metaclip_2_text_model "
     "metaclip_2_vision_model minicpmv4_6_vision mobilebert openai-gpt owlv2_text_model owlv2_vision_model "
     "owlvit_text_model owlvit_vision_model rembert roc_bert siglip siglip2 siglip2_text_model "
     "siglip2_vision_model siglip_text_model siglip_vision_model smolvlm_vision splinter vit vit_mae vit_msn yolos ",
     "a table of its checkpoint, with a row for each position, is added to embeddings; `vkrope add-positions "
     "--table TABLE.npy --positions 0:N --x X.npy --out Y.npy` adds it"},
    {" altclip_text_model bart biogpt bridgetower bridgetower_text_model camembert longformer mbart mvp opt plbart "
     "roberta roberta-prelayernorm xlm-roberta xlm-roberta-xl ",
     "a table of its checkpoint, whose first two rows stand for no position, is added to embeddings; `vkrope "
     "add-positions --table TABLE.npy --first-position -2 --positions 0:N --x X.npy --out Y.npy` adds it"},
    {" audioflamingo3_encoder qwen2_audio_encoder voxtral_encoder whisper ",
     "tables of its checkpoint are added to embeddings, sinusoids in an encoder and learned rows in a decoder; "
     "`vkrope add-positions --table TABLE.npy --positions 0:N --x X.npy --out Y.npy` adds one"},
    {" autoformer informer marian pegasus time_series_transformer ",
     "sinusoids are added to embeddings; `vkrope add-positions --order halves --positions 0:N --x X.npy --out "
     "Y.npy` adds them"},
    {" m2m_100 nllb-moe speech_to_text xglm ",
     "sinusoids are added to embeddings, where frequency k of n is 10000 to the -k / (n - 1), and the first position "
     "is 2; `vkrope add-positions --frequencies FREQUENCIES.npy --order halves --positions 2:N --x X.npy --out Y.npy` "
     "adds them"},
    {" musicgen musicgen_decoder musicgen_melody musicgen_melody_decoder ",
     "sinusoids are added to embeddings, cosines first, where frequency k of n is 10000 to the -k / (n - 1); `vkrope "
     "add-positions --frequencies FREQUENCIES.npy --order halves --cosine-first --positions 0:N --x X.npy --out Y.npy` "
     "adds them"},
    {" longt5 mt5 pop2piano switch_transformers t5 umt5 ",
     "a bias by buckets of distances is added to scores; `vkrope bias t5 --weights WEIGHTS.npy --scores SCORES.npy "
     "--out OUT.npy` adds it, in the encoder with --bidirectional"},
    {" bloom mpt ",
     "a bias by a slope for each head (ALiBi) is added to scores; `vkrope bias alibi --causal --scores SCORES.npy "
     "--out OUT.npy` adds it"},
    {" deberta deberta-v2 funnel nemotron_asr_streaming_encoder parakeet_encoder seamless_m4t seamless_m4t_v2 "
     "wav2vec2-bert wav2vec2-conformer xlnet ",
     "vectors for the distance between two tokens enter its scores; no command makes them, and the library's "
     "ropePlanRelative adds vectors of that kind"},
    {" falcon_mamba mamba mamba2 rwkv rwkv7 xlstm ", "it has no attention, and no positions"},
};

} // namespace

const char* whyNoRotation(const std::string& type) {
    for (const NoRotation& model : kNoRotation) {
        if (type.rfind(model.prefix, 0) == 0) return model.why;
    }
    return nullptr;
}

const char* insteadOfRotation(const std::string& type) {
    for (const Instead& instead : kInstead) {
        if (std::string(instead.types).find(" " + type + " ") != std::string::npos) return instead.has;
    }
    return nullptr;
}

std::vector<std::string> typesWithAnotherEncoding() {
    std::vector<std::string> types;
    for (const Instead& instead : kInstead) {
        std::istringstream words(instead.types);
        for (std::string type; words >> type;) types.push_back(type);
    }
    return types;
}

} // namespace rope
