// Keys and tensors of .gguf files that are refused, and the sentences of the refusals.
#include "support/gguf_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

using namespace gguf;

namespace {

TEST(Gguf, RefusesArchitecturesByName) {
    EXPECT_EQ(refusal(modelOf("llama5", 64)), "the architecture 'llama5' is not one that is known");
    EXPECT_EQ(refusal(modelOf("llama qwen2", 64)), "the architecture 'llama qwen2' is not one that is known");
    EXPECT_EQ(refusal(modelOf("mamba", 64)), "the architecture 'mamba' has no rotary position encoding");
    EXPECT_EQ(refusal(modelOf("deepseek4", 64)),
              "the architecture 'deepseek4' is not read: its rotation is more than a base, a part of the head and "
              "factors");
    EXPECT_EQ(refusal(modelOf("kimi-k3", 64)), "the architecture 'kimi-k3' has no rotary position encoding");
    EXPECT_NE(refusal(modelOf("dots3note", 64)).find("the architecture 'dots3note' is not read"), std::string::npos);
    EXPECT_EQ(refusal(File("")), "the header has no 'general.architecture'");
    EXPECT_EQ(refusal(File(std::string(1000, 'a'))), "the header has no 'general.architecture'");
    EXPECT_EQ(refusal(File("\x1B[31m")), "the architecture '?[31m' is not one that is known");
    EXPECT_EQ(refusal(modelOf("baichuan", 64).u32("block_count", 40)),
              "the model is Baichuan 13B, which has no rotary position encoding");
    EXPECT_EQ(refusal(modelOf("granitehybrid", 64).put("rope.scaling.finetuned", 7, uint8_t{0})),
              "the key 'granitehybrid.rope.scaling.finetuned' switches the rotation off");
    EXPECT_EQ(refusal(modelOf("llama", 64).put("split.no", 2, uint16_t{1})),
              "the file is a later part of a split model; the first part has the keys");
}

TEST(Gguf, RefusesKeysByName) {
    const auto qwen = [] { return modelOf("qwen2", 64); };
    EXPECT_EQ(refusal(qwen().u32("context_length", 1)), "the header has the key 'qwen2.context_length' twice");
    EXPECT_EQ(refusal(qwen().u32("rope.spin", 1)), "the key 'qwen2.rope.spin' is not one that is read");
    EXPECT_EQ(refusal(qwen().f32("rope.freq_base", 0.5f)),
              "the key 'qwen2.rope.freq_base' is 0.5; it must be from 1 to 1e+19");
    EXPECT_EQ(refusal(qwen().f32("rope.freq_base", NAN)),
              "the key 'qwen2.rope.freq_base' is nan; it must be from 1 to 1e+19");
    EXPECT_EQ(refusal(qwen().text("rope.freq_base", "10000")), "the key 'qwen2.rope.freq_base' is no number");
    EXPECT_EQ(refusal(qwen().texts("rope.freq_base", 1, "10000")), "the key 'qwen2.rope.freq_base' is no number");
    EXPECT_EQ(refusal(qwen().list("rope.freq_base", 0, Bytes(5000, 1))), "the key 'qwen2.rope.freq_base' is no number");
    EXPECT_EQ(refusal(qwen().f32("rope.dimension_count", 32.5f)),
              "the key 'qwen2.rope.dimension_count' is 32.5; it must be a whole number");
    EXPECT_EQ(refusal(qwen().u32("rope.dimension_count", 31)),
              "the rotary part has 31 elements; it must be even and from 2 to 8192");
    EXPECT_EQ(refusal(qwen().u32("rope.dimension_count", 66)),
              "a rotary part of 66 elements does not fit into a head of 64");
    EXPECT_EQ(
        refusal(modelOf("llama", 64).u32("rope.dimension_count", 32)),
        "a rotary part of 32 elements in a head of 64 is not what the architecture 'llama' has, which rotates the "
        "whole head");
    EXPECT_EQ(refusal(File("qwen2").u32("embedding_length", 64)),
              "the header has neither 'qwen2.attention.key_length' nor both 'qwen2.embedding_length' and "
              "'qwen2.attention.head_count'");
    EXPECT_EQ(refusal(File("qwen2").u32("embedding_length", 64).u32("attention.head_count", 7)),
              "an 'qwen2.embedding_length' of 64 and an 'qwen2.attention.head_count' of 7 make no head of whole "
              "elements up to 65536");
    for (const uint32_t alignment : {0u, 24u})
        EXPECT_EQ(refusal(qwen().u32("general.alignment", alignment)),
                  "the header's 'general.alignment' must be a power of two");
}

TEST(Gguf, RefusesScalingsByName) {
    const auto qwen = [](const char* type) { return modelOf("qwen2", 64).text("rope.scaling.type", type); };
    const std::string known = "; 'none', 'linear', 'yarn' and 'longrope' are read";
    EXPECT_EQ(refusal(qwen("dynamic")), "the key 'qwen2.rope.scaling.type' is 'dynamic'" + known);
    EXPECT_EQ(refusal(modelOf("qwen2", 64).u32("rope.scaling.type", 2)),
              "the key 'qwen2.rope.scaling.type' is no text" + known);
    EXPECT_EQ(refusal(qwen("linear")), "the scaling 'linear' has no 'qwen2.rope.scaling.factor'");
    EXPECT_EQ(refusal(qwen("yarn")), "the scaling 'yarn' has no 'qwen2.rope.scaling.factor'");
    EXPECT_EQ(refusal(qwen("longrope")),
              "the scaling 'longrope' has no tensors 'rope_factors_short.weight' and 'rope_factors_long.weight'");
    EXPECT_EQ(refusal(qwen("none").f32("rope.scaling.factor", 2)),
              "the key 'qwen2.rope.scaling.type' is 'none', and other keys scale");
    EXPECT_EQ(refusal(qwen("linear").f32("rope.scaling.factor", 1e-9f)),
              "the key 'qwen2.rope.scaling.factor' is 9.99999972e-10; it must be from 1e-06 to 1000000, or 0 for none");
    EXPECT_EQ(refusal(qwen("linear").f32("rope.scaling.factor", 2).f32("rope.scale_linear", 4)),
              "the keys 'qwen2.rope.scaling.factor' and 'qwen2.rope.scale_linear' differ, 2 and 4");
    EXPECT_EQ(refusal(qwen("yarn").f32("rope.scaling.factor", 2).f32("rope.scaling.yarn_ext_factor", 0.5f)),
              "the key 'qwen2.rope.scaling.yarn_ext_factor' is 0.5; 0 and 1 are read");
    EXPECT_EQ(refusal(modelOf("grok", 64).f32("rope.scaling.yarn_attn_factor", 2)),
              "the key 'grok.rope.scaling.yarn_attn_factor' is 2 without yarn; only 1 is read");
    EXPECT_EQ(refusal(qwen("yarn").f32("rope.scaling.factor", 2).f32("rope.scaling.yarn_log_multiplier", 1)),
              "the key 'qwen2.rope.scaling.yarn_log_multiplier' is not read for the architecture 'qwen2'");
    EXPECT_EQ(refusal(qwen("linear").f32("rope.scaling.factor", 2).f32("rope.scaling.alpha", 2)),
              "the key 'qwen2.rope.scaling.alpha' is not read for the architecture 'qwen2'");
    EXPECT_EQ(
        refusal(modelOf("hunyuan-dense", 64).f32("rope.scaling.factor", 2).f32("rope.scaling.alpha", 2)),
        "the keys 'hunyuan-dense.rope.scaling.alpha' and 'hunyuan-dense.rope.scaling.factor' ask for two rules at "
        "once");
    File shortless("qwen2");
    shortless.u32("attention.key_length", 64).text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 2);
    EXPECT_EQ(refusal(shortless), "the scaling 'yarn' has neither 'qwen2.rope.scaling.original_context_length' nor "
                                  "'qwen2.context_length'");
    File one = modelOf("qwen2", 2);
    one.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 2).f32("rope.freq_base", 1);
    EXPECT_NE(refusal(one), "accepted"); // in the rule's own words
}

TEST(Gguf, RefusesLayerTypesByName) {
    EXPECT_EQ(
        refusal(modelOf("gemma3", 64), {0, "linear_attention"}),
        "there are no layers of type 'linear_attention' in a .gguf file; full_attention and sliding_attention are");
    EXPECT_EQ(refusal(modelOf("llama", 64), {0, "sliding_attention"}),
              "the file has no layers of type sliding_attention");
    EXPECT_EQ(refusal(modelOf("llama", 64).f32("rope.freq_base_swa", 10000)),
              "the key 'llama.rope.freq_base_swa' is not read for the architecture 'llama'");
}

TEST(Gguf, RefusesFactorsByName) {
    const auto llama = [] { return modelOf("llama", 16); };
    const std::string name = "the tensor 'rope_freqs.weight' ";
    EXPECT_EQ(refusal(llama().tensor("rope_freqs.weight", {8}, 30, Bytes(16))),
              name + "is of type 30; F32 and F16 are read");
    EXPECT_EQ(refusal(llama().factors("rope_freqs.weight", someFactors(9, 1))),
              name + "has 1 dimensions and the first is 9; it must have one, of 8 pairs");
    EXPECT_EQ(refusal(llama().tensor("rope_freqs.weight", {8, 1}, 0, Bytes(32))),
              name + "has 2 dimensions and the first is 8; it must have one, of 8 pairs");
    EXPECT_EQ(refusal(llama().tensor("rope_freqs.weight", {8}, 0, Bytes(31))), name + "lies outside the file");
    EXPECT_EQ(refusal(llama().factors("rope_freqs.weight", {1, 1, 1, 1, 1, 1, 1, 0})),
              name + "has the factor 0; factors must be from 2^-30 to 2^100");
    EXPECT_EQ(refusal(llama().factors("rope_freqs.weight", {1, NAN, 1, 1, 1, 1, 1, 0})),
              name + "has the factor nan; factors must be from 2^-30 to 2^100");
    for (const auto& half :
         {std::make_pair(0x7C00, "inf"), std::make_pair(0x7E00, "nan"), std::make_pair(0xBC00, "-1")}) {
        Bytes halves;
        for (int i = 0; i < 8; ++i) append<uint16_t>(&halves, static_cast<uint16_t>(half.first));
        EXPECT_EQ(refusal(llama().tensor("rope_freqs.weight", {8}, 1, halves)),
                  name + "has the factor " + half.second + "; factors must be from 2^-30 to 2^100");
    }
    File astray = llama();
    astray.misplaced = 4;
    EXPECT_EQ(refusal(astray.factors("rope_freqs.weight", someFactors(8, 1))),
              name + "begins at byte 4, which is not aligned to 32");
    File twice = llama().factors("blk.0.rope_freqs.weight", someFactors(8, 1));
    EXPECT_EQ(refusal(twice.factors("blk.1.rope_freqs.weight", someFactors(8, 2))),
              "the file has several tensors 'rope_freqs.weight', and they differ");
    EXPECT_EQ(refusal(llama().factors("rope_factors_long.weight", someFactors(8, 1))),
              "the file has only one of the tensors 'rope_factors_short.weight' and 'rope_factors_long.weight'");
    File both = llama().factors("rope_factors_long.weight", someFactors(8, 1));
    both.factors("rope_factors_short.weight", someFactors(8, 1)).factors("rope_freqs.weight", someFactors(8, 1));
    EXPECT_EQ(refusal(both), "the file has both 'rope_freqs.weight' and 'rope_factors_long.weight'; one is enough");
    File lengthless("phi3");
    lengthless.u32("attention.key_length", 16).factors("rope_factors_long.weight", someFactors(8, 1));
    EXPECT_EQ(refusal(lengthless.factors("rope_factors_short.weight", someFactors(8, 1))),
              "a file with 'rope_factors_long.weight' has neither 'phi3.rope.scaling.original_context_length' nor "
              "'phi3.context_length'");
}

} // namespace
