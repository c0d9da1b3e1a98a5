// The scales beside the rotation of models in .gguf files: of queries, and of scores.
#include "support/gguf_file.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace gguf;

namespace {

File yarn(const char* architecture, float factor) {
    File file = modelOf(architecture, 64);
    file.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", factor);
    return file;
}

void expectQueries(const rope::QueryScaling& scaling, double beta, uint32_t interval, uint32_t offset,
                   bool of_still_layers) {
    EXPECT_NEAR(scaling.beta, beta, 1e-8);
    EXPECT_EQ(scaling.interval, interval);
    EXPECT_EQ(scaling.offset, offset);
    EXPECT_EQ(scaling.of_still_layers, of_still_layers);
}

TEST(GgufScales, Ministral3CountsByItsOriginalLength) {
    File file = yarn("mistral3", 16);
    file.f32("attention.temperature_scale", 0.1f);
    expectQueries(read(file).query_scaling, 0.1, 4096, 0, false); // modelOf's context_length
    file.u32("rope.scaling.original_context_length", 16384);
    const ModelEncoding model = read(file);
    expectQueries(model.query_scaling, 0.1, 16384, 0, false);
    ASSERT_EQ(model.notes.size(), 1u);
    EXPECT_EQ(model.notes[0].find("the architecture 'mistral3' scales queries too, by 1 + 0.1"), 0u) << model.notes[0];
    EXPECT_NE(model.notes[0].find(" * ln(1 + floor(position / 16384)); "), std::string::npos) << model.notes[0];
    EXPECT_EQ(read(yarn("mistral3", 16)).query_scaling.beta, 0);
}

TEST(GgufScales, MistralLargeHasALengthOfItsOwn) {
    for (const char* architecture : {"deepseek2", "mistral4"}) {
        File file = yarn(architecture, 36);
        file.f32("attention.temperature_scale", 0.1f);
        EXPECT_EQ(refusal(file), std::string("the key '") + architecture + ".attention.temperature_scale' needs '" +
                                     architecture + ".attention.temperature_length'");
        file.u32("attention.temperature_length", 8192);
        expectQueries(read(file).query_scaling, 0.1, 8192, 0, false);
    }
}

TEST(GgufScales, Llama4ScalesTheQueriesOfLayersThatDoNotRotate) {
    File file = modelOf("llama4", 64);
    file.u32("block_count", 8);
    expectQueries(read(file).query_scaling, 0.1, 8192, 1, true);
    file.u32("attention.sliding_window", 0);
    EXPECT_EQ(read(file).query_scaling.beta, 0);
}

// The numbers are those of src/models/deepseek2.cpp of llama.cpp: Kimi K2, DeepSeek V2, a file without the key, Mistral
// Large 3.
TEST(GgufScales, ScoresOfLatentAttentionAreScaledByTheLogMultiplier) {
    const auto factor = [](const char* architecture, float scaling, float multiplier) {
        File file = yarn(architecture, scaling);
        if (multiplier != 0) file.f32("rope.scaling.yarn_log_multiplier", multiplier);
        const std::vector<std::string> notes = read(file).notes;
        const std::string said = "by ";
        return notes.empty() ? 1 : std::stod(notes[0].substr(notes[0].find(said) + said.size()));
    };
    const auto square = [](double root) { return root * root; };
    EXPECT_NEAR(factor("deepseek2", 32, 0.1f), square(1 + 0.1 * std::log(32.0)), 1e-6);
    EXPECT_NEAR(factor("deepseek2", 40, 0.0707f), square(1 + 0.0707 * std::log(40.0)), 1e-6);
    EXPECT_NEAR(factor("deepseek2", 40, 0), square(1 + 0.1 * std::log(40.0)), 1e-6);
    EXPECT_NEAR(factor("mistral4", 36, 0.1f), square(1 + 0.1 * std::log(36.0)), 1e-6);
    EXPECT_NEAR(factor("deepseek32", 40, 0.0707f), square(1 + 0.1 * std::log(40.0)), 1e-5);
    EXPECT_EQ(factor("deepseek2", 1, 0), 1);
    EXPECT_EQ(factor("qwen2", 40, 0), 1);
}

TEST(GgufScales, YarnsOwnFactorIsComputedAnew) {
    File file = yarn("olmo2", 8);
    file.f32("rope.scaling.yarn_attn_factor", 1.2f);
    EXPECT_NEAR(read(file).scale, 1 + 0.1 * std::log(8.0), 1e-12);
}

TEST(GgufScales, BetasThatLlamaCppDoesNotReadAreNamed) {
    File file = yarn("deepseek2", 1);
    file.f32("rope.scaling.yarn_beta_fast", 1).f32("rope.scaling.yarn_beta_slow", 1);
    const ModelEncoding model = read(file);
    EXPECT_EQ(model.rule.beta_fast, 1);
    ASSERT_EQ(model.notes.size(), 1u);
    EXPECT_EQ(model.notes[0],
              "the frequencies have the file's beta_fast 1 and beta_slow 1, as the model's own code has; "
              "llama.cpp does not read these keys for 'deepseek2', and takes 32 and 1");
    EXPECT_EQ(read(yarn("grok", 4)).rule.beta_fast, 8);
}

} // namespace
