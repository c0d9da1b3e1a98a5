// Models in .gguf files: the frequencies and the part of the head that their headers mean.
#include "support/gguf_file.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace gguf;

namespace {

TEST(Gguf, LlamaTurnsNeighboursByFrequenciesDividedByItsFactors) {
    const std::vector<float> factors = someFactors(16, 1);
    File file = modelOf("llama", 32);
    file.f32("rope.freq_base", 500000).u32("rope.dimension_count", 32);
    file.tensor("token_embd.weight", {32, 7}, 2, Bytes(126)).factors("rope_freqs.weight", factors);
    const ModelEncoding model = read(file);
    expectFrequencies(model, dividedBy(defaultFrequencies(500000, 32), factors));
    EXPECT_EQ(model.model_type, "llama");
    EXPECT_EQ(model.pairing, ROPE_PAIRING_INTERLEAVED);
    EXPECT_EQ(model.head_dim, 32u);
    EXPECT_EQ(model.rotary_dim, 32u);
    EXPECT_EQ(model.rotary_begin, 0u);
    EXPECT_EQ(model.scale, 1);
    EXPECT_EQ(model.rule.base, 500000);
}

TEST(Gguf, Qwen2TurnsHalvesByYarnWithItsMagnitude) {
    File file = modelOf("qwen2", 128);
    file.f32("rope.freq_base", 1e6f).text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 4);
    file.u32("rope.scaling.original_context_length", 32768);
    const ModelEncoding model = read(file);
    expectFrequencies(model, yarnFrequencies(1e6, 128, 4, 32768, 32, 1));
    EXPECT_NEAR(model.scale, 1 + 0.1 * std::log(4.0), 1e-12);
    EXPECT_EQ(model.rule.kind, ROPE_RULE_YARN);
    EXPECT_EQ(model.rule.factor, 4);
    EXPECT_EQ(model.rule.original_length, 32768);
    EXPECT_EQ(model.pairing, ROPE_PAIRING_HALF);
}

TEST(Gguf, YarnTakesItsBoundsAndAttentionFactorFromTheFile) {
    File file = modelOf("grok", 64);
    file.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 8).f32("rope.scaling.attn_factor", 1.5f);
    file.f32("rope.scaling.yarn_ext_factor", 1).f32("rope.scaling.yarn_attn_factor", 1);
    file.f32("rope.scaling.yarn_beta_fast", 8).f32("rope.scaling.yarn_beta_slow", 2);
    const ModelEncoding model = read(file);
    expectFrequencies(model, yarnFrequencies(10000, 64, 8, 4096, 8, 2));
    EXPECT_NEAR(model.scale, 1.5 * (1 + 0.1 * std::log(8.0)), 1e-12);
}

TEST(Gguf, YarnWithoutExtrapolationIsLinear) {
    File file = modelOf("qwen2", 64);
    file.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 8).f32("rope.scaling.yarn_ext_factor", 0);
    expectFrequencies(read(file), defaultFrequencies(10000, 64, 8));
    EXPECT_EQ(read(file).scale, 1);
    File other = modelOf("qwen2", 64);
    other.text("rope.scaling.type", "linear").f32("rope.scaling.factor", 8).f32("rope.scaling.yarn_ext_factor", 1);
    expectFrequencies(read(other), yarnFrequencies(10000, 64, 8, 4096, 32, 1));
}

TEST(Gguf, YarnsLogMultiplierIsTheModelsOwn) {
    const auto scaleOf = [](const char* architecture, float multiplier) {
        File file = modelOf(architecture, 64);
        file.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 40);
        file.f32("rope.scaling.yarn_log_multiplier", multiplier);
        return read(file).scale;
    };
    const double whole = 1 + 0.1 * std::log(40.0);
    EXPECT_EQ(scaleOf("deepseek2", 0.1f), 1);
    EXPECT_EQ(scaleOf("deepseek2", 0.0707f), 1);
    EXPECT_NEAR(scaleOf("deepseek32", 0.1f), 1, 1e-12);
    EXPECT_NEAR(scaleOf("deepseek32", 0.0707f), whole / (1 + 0.0707 * std::log(40.0)), 1e-6);
    EXPECT_NEAR(scaleOf("mistral3", 1), 1, 1e-12);
    EXPECT_NEAR(scaleOf("mistral3", 0), whole, 1e-12);
}

TEST(Gguf, Phi3ChoosesItsFactorsByLength) {
    const std::vector<float> by_short = someFactors(48, 1), by_long = someFactors(48, 1.1f);
    File file = modelOf("phi3", 96);
    file.u32("rope.dimension_count", 96).u32("rope.scaling.original_context_length", 2048);
    file.f32("rope.scaling.attn_factor", 1.19023807f);
    file.factors("rope_factors_long.weight", by_long).factors("rope_factors_short.weight", by_short);
    for (const double length : {0.0, 2048.0, 2049.0}) {
        const ModelEncoding model = read(file, {length, ""});
        expectFrequencies(model, dividedBy(defaultFrequencies(10000, 96), length > 2048 ? by_long : by_short));
        EXPECT_EQ(model.scale, double{1.19023807f});
        EXPECT_EQ(model.rule.kind, ROPE_RULE_LONGROPE);
        EXPECT_EQ(model.rule.original_length, 2048);
        EXPECT_EQ(model.rule.length, length);
    }
}

TEST(Gguf, LongropeByNameIsTheSame) {
    const std::vector<float> by_short = someFactors(16, 1), by_long = someFactors(16, 3);
    File file = modelOf("minicpm", 32);
    file.text("rope.scaling.type", "longrope").f32("rope.scaling.factor", 2);
    file.factors("rope_factors_long.weight", by_long).factors("rope_factors_short.weight", by_short);
    expectFrequencies(read(file, {4096, ""}), dividedBy(defaultFrequencies(10000, 32, 2), by_short));
    expectFrequencies(read(file, {4097, ""}), dividedBy(defaultFrequencies(10000, 32, 2), by_long));
}

TEST(Gguf, GemmaTakesItsHeadFromTheKeyLength) {
    File file = modelOf("gemma", 192);
    file.u32("attention.key_length", 256);
    const ModelEncoding model = read(file);
    EXPECT_EQ(model.head_dim, 256u);
    EXPECT_EQ(model.rotary_dim, 256u);
    EXPECT_EQ(model.pairing, ROPE_PAIRING_HALF);
    expectFrequencies(model, defaultFrequencies(10000, 256));
}

TEST(Gguf, GptNeoxTurnsAPartOfTheHead) {
    File file = modelOf("gptneox", 96);
    file.u32("rope.dimension_count", 24);
    const ModelEncoding model = read(file);
    EXPECT_EQ(model.head_dim, 96u);
    EXPECT_EQ(model.rotary_dim, 24u);
    EXPECT_EQ(model.rotary_begin, 0u);
    expectFrequencies(model, defaultFrequencies(10000, 24));
}

TEST(Gguf, LatentAttentionTurnsTheEndOfTheHead) {
    File file = modelOf("deepseek2", 1280);
    file.u32("attention.key_length", 576).u32("attention.key_length_mla", 192).u32("rope.dimension_count", 64);
    const ModelEncoding model = read(file);
    EXPECT_EQ(model.head_dim, 192u);
    EXPECT_EQ(model.rotary_begin, 128u);
    EXPECT_EQ(model.rotary_dim, 64u);
}

TEST(Gguf, HeadCountsPerLayerMatterOnlyWithoutAKeyLength) {
    File file("openelm");
    file.u32("embedding_length", 1280).list<uint32_t>("attention.head_count", 4, {12, 12, 16});
    EXPECT_EQ(refusal(file), "the key 'openelm.attention.head_count' differs from layer to layer: 12 and 16");
    file.u32("attention.key_length", 64);
    expectFrequencies(read(file), defaultFrequencies(10000, 64));
    File equal("openelm");
    equal.u32("embedding_length", 1280).list<int32_t>("attention.head_count", 5, {20, 20, 20});
    expectFrequencies(read(equal), defaultFrequencies(10000, 64));
}

TEST(Gguf, LinearScalingHasANewAndAnOldKey) {
    File named = modelOf("llama", 64), unnamed = modelOf("llama", 64), old = modelOf("llama", 64);
    named.text("rope.scaling.type", "linear").f32("rope.scaling.factor", 4);
    unnamed.f32("rope.scaling.factor", 4);
    old.f32("rope.scale_linear", 4);
    for (const File& file : {named, unnamed, old}) {
        expectFrequencies(read(file), defaultFrequencies(10000, 64, 4));
        EXPECT_EQ(read(file).rule.kind, ROPE_RULE_LINEAR);
        EXPECT_EQ(read(file).scale, 1);
    }
    File none = modelOf("llama", 64);
    none.text("rope.scaling.type", "none").f32("rope.scaling.attn_factor", 1.25f).f32("rope.scaling.factor", 0);
    expectFrequencies(read(none), defaultFrequencies(10000, 64));
    EXPECT_EQ(read(none).scale, 1.25);
}

TEST(Gguf, HunyuansAlphaRaisesItsBase) {
    File file = modelOf("hunyuan-dense", 128);
    file.f32("rope.scaling.alpha", 1000);
    const ModelEncoding model = read(file);
    expectFrequencies(model, defaultFrequencies(10000 * std::pow(1000.0, 128.0 / 126), 128));
    EXPECT_EQ(model.rule.kind, ROPE_RULE_NTK);
}

TEST(Gguf, LayersOfTwoTypesHaveBasesOfTheirOwn) {
    File file = modelOf("gemma3", 256);
    file.f32("rope.freq_base", 1e6f).text("rope.scaling.type", "linear").f32("rope.scaling.factor", 8);
    file.u32("attention.sliding_window", 1024);
    expectFrequencies(read(file), defaultFrequencies(1e6, 256, 8)); // of full_attention, as of a config.json
    EXPECT_EQ(read(file).layer_type, "full_attention");
    EXPECT_NE(describeLayers(read(file)).find("full_attention"), std::string::npos) << describeLayers(read(file));
    expectFrequencies(read(file, {0, "full_attention"}), defaultFrequencies(1e6, 256, 8));
    expectFrequencies(read(file, {0, "sliding_attention"}), defaultFrequencies(10000, 256));
    file.f32("rope.freq_base_swa", 5000);
    expectFrequencies(read(file, {0, "sliding_attention"}), defaultFrequencies(5000, 256));

    File oss = modelOf("gpt-oss", 64);
    oss.f32("rope.freq_base", 150000).text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 32);
    oss.u32("attention.sliding_window", 128);
    for (const char* type : {"", "full_attention", "sliding_attention"})
        expectFrequencies(read(oss, {0, type}), yarnFrequencies(150000, 64, 32, 4096, 32, 1));

    File olmo = modelOf("olmo2", 64);
    olmo.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 8).u32("attention.sliding_window", 4096);
    expectFrequencies(read(olmo, {0, "full_attention"}), yarnFrequencies(10000, 64, 8, 4096, 32, 1));
    expectFrequencies(read(olmo, {0, "sliding_attention"}), defaultFrequencies(10000, 64));
    EXPECT_EQ(read(olmo, {0, "sliding_attention"}).scale, 1);
}

TEST(Gguf, Gemma4sFullLayersAloneTakeFactors) {
    std::vector<float> factors(256, 1);
    for (size_t i = 64; i < 256; ++i) factors[i] = 1e30f;
    File file = modelOf("gemma4", 320);
    file.f32("rope.freq_base", 1e6f).f32("rope.freq_base_swa", 10000).u32("attention.sliding_window", 512);
    file.u32("attention.key_length", 512).u32("attention.key_length_swa", 256);
    file.u32("rope.dimension_count", 512).u32("rope.dimension_count_swa", 256).factors("rope_freqs.weight", factors);
    const ModelEncoding full = read(file, {0, "full_attention"}), sliding = read(file, {0, "sliding_attention"});
    expectFrequencies(full, dividedBy(defaultFrequencies(1e6, 512), factors));
    expectFrequencies(sliding, defaultFrequencies(10000, 256));
    EXPECT_EQ(full.head_dim, 512u);
    EXPECT_EQ(sliding.head_dim, 256u);
}

TEST(Gguf, TurnsAnotherPartWhereItIsAskedTo) {
    const ModelEncoding part = read(modelOf("llama", 64), {0, "", 32});
    EXPECT_EQ(part.rotary_dim, 32u);
    EXPECT_EQ(part.frequencies, read(modelOf("llama", 32)).frequencies);
    File latent = modelOf("deepseek2", 64);
    const ModelEncoding end = read(latent, {0, "", 16});
    EXPECT_EQ(end.rotary_begin + 16, end.head_dim);
    EXPECT_EQ(refusal(modelOf("llama", 64), {0, "", 66}),
              "a rotary part of 66 elements does not fit into a head of 64");
    EXPECT_EQ(refusal(modelOf("llama", 64), {0, "", 33}),
              "the rotary part has 33 elements; it must be even and from 2 to 8192");
    EXPECT_EQ(refusal(modelOf("llama", 16).factors("rope_freqs.weight", someFactors(8, 1)), {0, "", 8}),
              "the tensor 'rope_freqs.weight' has 1 dimensions and the first is 8; it must have one, of 4 pairs");
}

} // namespace
