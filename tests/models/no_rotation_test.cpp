// Models without a rotation are answered with what they have instead, and the command for it.
#include "support/config_read.hpp"

#include <gtest/gtest.h>

using namespace config;

namespace {

TEST(Config, ModelsWithoutRotationAreAnsweredWithWhatTheyHave) {
    const char* const rows[][3] = {
        {R"({"model_type": "t5", "d_model": 512, "num_heads": 8, "relative_attention_num_buckets": 32})", "",
         "`Device.bias('t5', weights"},
        {R"({"model_type": "mt5"})", "", "bidirectional=True"},
        {R"({"model_type": "mistral_large4_text", "head_dim": 64})", "", "learned tensor"},
        {R"({"model_type": "glm5_next_text", "qk_rope_head_dim": 64})", "", "its attention has no positions"},
        {R"({"model_type": "bloom", "hidden_size": 1024, "n_head": 16})", "", "`Device.bias('alibi', causal=True"},
        {R"({"model_type": "mpt", "d_model": 2048, "n_heads": 16, "attn_config": {"alibi": true, "rope": false}})", "",
         "`Device.bias('alibi'"},
        {R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_positions": 1024})", "",
         "`Device.add(x, positions, table=TABLE)"},
        {R"({"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12, "position_embedding_type": "absolute"})",
         "", "`Device.add(x, positions, table="},
        {R"({"model_type": "opt", "hidden_size": 768, "num_attention_heads": 12})", "", "first_position=-2"},
        {R"({"model_type": "whisper", "d_model": 384, "encoder_attention_heads": 6})", "", "sinusoids in an encoder"},
        {R"({"model_type": "marian", "d_model": 512})", "", "order='halves'"},
        {R"({"model_type": "m2m_100", "d_model": 1024})", "", "ropePlanAdd adds sinusoids of given frequencies"},
        {R"({"model_type": "musicgen_decoder"})", "", "cosines first"},
        {R"({"model_type": "altclip_text_model"})", "", "first_position=-2"},
        {R"({"model_type": "bridgetower_text_model"})", "", "first_position=-2"},
        {R"({"model_type": "siglip", "text_config": {"hidden_size": 768}, "vision_config": {}})", "",
         "`Device.add(x, positions, table="},
        {R"({"model_type": "siglip", "vision_config": {"model_type": "siglip_vision_model"}})", "vision",
         "`Device.add(x, positions, table="},
        {R"({"model_type": "clip", "text_config": {"model_type": "clip_text_model"}})", "", "Device.add"},
        {R"({"model_type": "llava", "vision_config": {"model_type": "clip_vision_model"}})", "vision", "Device.add"},
        {R"({"model_type": "voxtral", "audio_config": {"model_type": "voxtral_encoder"}, "text_config": {"model_type": "llama"}})",
         "audio", "Device.add"},
        {R"({"model_type": "seamless_m4t", "hidden_size": 1024})", "", "unless its position_embeddings_type is rotary"},
        {R"({"model_type": "mamba", "hidden_size": 768})", "", "no positions"},
        {R"({"model_type": "esmfold2", "esmc_config": {"model_type": "esmc"}})", "", "three coordinates and a number"},
        {R"({"model_type": "hy_v4_vl", "vision_config": {"model_type": "hy_v4_vl_vision"}})", "vision", "Device.add"},
        {R"({"model_type": "lightglue", "descriptor_dim": 256})", "", "ROPE_SOURCE_ROWS of rope.h"},
    };
    for (const auto& row : rows) {
        const std::string said = refusal(row[0], row[1]);
        EXPECT_NE(said.find(row[2]), std::string::npos) << row[0] << ": " << said;
        EXPECT_NE(said.find("rotation"), std::string::npos) << said;
    }
}

// Other code of such a type may rotate, and its configuration says so.
TEST(Config, AConfigurationThatAsksForARotationIsRead) {
    for (
        const char* text :
        {R"({"model_type": "bert", "head_dim": 64, "rope_theta": 10000})",
         R"({"model_type": "xlm-roberta", "head_dim": 64, "rotary_emb_base": 20000})",
         R"({"model_type": "bert", "head_dim": 64, "position_embedding_type": "rotary", "rope_theta": 10000})",
         R"({"model_type": "mpt", "d_model": 2048, "n_heads": 16, "attn_config": {"rope": true, "rope_theta": 10000}})"}) {
        const rope::ModelEncoding model = read(text);
        ASSERT_FALSE(model.notes.empty()) << text;
        EXPECT_NE(model.notes[0].find("not known"), std::string::npos) << model.notes[0];
    }
}

TEST(Config, RefusalsNameOnlyWhatTheFileHas) {
    for (const char* text : {R"({"model_type": "esm"})", R"({"model_type": "esm", "position_embedding_type": null})"}) {
        EXPECT_NE(refusal(text).find("no position_embedding_type"), std::string::npos) << refusal(text);
        EXPECT_EQ(refusal(text).find("absolute"), std::string::npos) << refusal(text);
    }
    const std::string section = refusal(R"({"model_type": "qwen2_5_vl_text", "head_dim": 64})");
    EXPECT_NE(section.find("has no mrope_section"), std::string::npos) << section;
    const std::string own = refusal(
        R"({"model_type": "qwen2_5_vl_text", "head_dim": 64, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})");
    EXPECT_NE(own.find("the configuration's mrope_section is of 64 pairs"), std::string::npos) << own;
}

// These models' own code turns something, and some of it is left to the caller.
TEST(Config, ModelsThatTurnSomethingElseSayWhat) {
    const struct {
        const char* config;
        const char* layer_type;
        uint32_t head_dim, rotary_dim;
        RopePairing pairing, pairing_out;
        double base;
        const char* note;
    } rows[] = {
        {R"({"model_type": "clvp", "text_config": {"model_type": "clvp_encoder", "use_rotary_embedding": true}})", "",
         64, 32, kHalf, kHalf, 10000, "values too"},
        {R"({"model_type": "clvp_encoder", "projection_dim": 1536})", "", 64, 64, kHalf, kHalf, 10000, "values too"},
        {R"({"model_type": "seamless_m4t", "position_embeddings_type": "rotary", "hidden_size": 1024, "num_attention_heads": 8, "speech_encoder_attention_heads": 16, "rotary_embedding_base": 5000})",
         "", 64, 64, kHalf, kHalf, 5000, "hidden states"},
        {R"({"model_type": "wav2vec2-conformer", "position_embeddings_type": "rotary"})", "", 64, 64, kHalf, kHalf,
         10000, "hidden states"},
        {R"({"model_type": "wav2vec2-bert", "position_embeddings_type": "rotary"})", "", 64, 64, kHalf, kHalf, 10000,
         "hidden states"},
        {R"({"model_type": "qwen2_5_omni_dit"})", "", 64, 64, kInterleaved, kHalf, 10000, "first head"},
        {R"({"model_type": "musicflamingo", "rope_parameters": {"rope_type": "default", "rope_theta": 1200, "partial_rotary_factor": 0.2}, "text_config": {"model_type": "qwen2", "rope_theta": 1000000}, "audio_config": {"model_type": "audioflamingo3_encoder"}})",
         "", 128, 128, kHalf, kHalf, 1000000, "two times"},
        {R"({"model_type": "apertus1p5", "text_config": {"model_type": "apertus1p5_text"}})", "", 128, 128, kHalf,
         kHalf, 12000000, nullptr},
        {R"({"model_type": "esmc", "d_model": 960, "n_heads": 15})", "", 64, 64, kHalf, kHalf, 10000, nullptr},
        {R"({"model_type": "glmasr", "audio_config": {"model_type": "glmasr_encoder"}, "text_config": {"model_type": "llama"}})",
         "audio", 64, 32, kHalf, kHalf, 10000, nullptr},
        {R"({"model_type": "lasr_ctc", "encoder_config": {"model_type": "lasr_encoder"}})", "", 64, 64, kHalf, kHalf,
         10000, nullptr},
        {R"({"model_type": "pe_audio", "audio_config": {"model_type": "pe_audio_encoder"}})", "", 128, 128,
         kInterleaved, kInterleaved, 20000, nullptr},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.config);
        const rope::ModelEncoding model = read(row.config, row.layer_type);
        EXPECT_EQ(model.head_dim, row.head_dim);
        EXPECT_EQ(model.rotary_dim, row.rotary_dim);
        EXPECT_EQ(model.pairing, row.pairing);
        EXPECT_EQ(model.pairing_out == ROPE_PAIRING_DEFAULT ? model.pairing : model.pairing_out, row.pairing_out);
        EXPECT_EQ(model.rule.base, row.base);
        ASSERT_EQ(model.notes.empty(), row.note == nullptr);
        if (row.note == nullptr) continue;
        EXPECT_NE(joined(model.notes).find(row.note), std::string::npos);
    }
    EXPECT_NE(refusal(R"({"model_type": "llama"})", "audio").find("audio_config"), std::string::npos);
    EXPECT_NE(refusal(R"({"model_type": "clvp_encoder", "use_rotary_embedding": false})").find("no rotation"),
              std::string::npos);
    EXPECT_NE(refusal(R"({"model_type": "lasr_ctc", "encoder_config": 5})").find("encoder_config"), std::string::npos);
}

} // namespace
