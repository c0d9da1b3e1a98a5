// Configurations that are refused, and the names in the refusals.
#include "support/config_read.hpp"

#include <gtest/gtest.h>

using namespace config;

namespace {

TEST(Config, ModelsThatDoNotRotateAreRefused) {
    for (const char* text :
         {R"({"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40, "num_hidden_layers": 40})",
          R"({"model_type": "nemotron_h", "head_dim": 128, "rope_theta": 10000})", R"({"model_type": "jamba"})",
          R"({"model_type": "chatglm", "position_encoding_2d": true})", R"({"model_type": "llama", "rope": false})"})
        EXPECT_NE(refusal(text), "");
}

// OLMo Hybrid's released files have a null where others have a base. Zamba 2 rotates where a key asks for it.
TEST(Config, ModelsThatMayRotateAndDoNotAreRefused) {
    const std::string none = ": the model has no rotation";
    for (const char* config :
         {R"("rope_parameters": null)", R"("rope_theta": null, "rope_scaling": null)",
          R"("rope_parameters": {"rope_theta": null, "rope_type": "default"})",
          R"("rope_parameters": {"full_attention": {"rope_theta": null, "rope_type": "default"}})"})
        EXPECT_EQ(refusal(std::string(R"({"model_type": "olmo_hybrid", )") + config + "}"),
                  "the configuration's rope_parameters or rope_theta is null" + none);
    EXPECT_EQ(refusal(R"({"model_type": "zamba2", "use_mem_rope": true, "hidden_size": 2561})"),
              "the configuration's hidden_size, 2561, taken 2 times is no multiple of num_attention_heads, 32");
    EXPECT_EQ(refusal(R"({"model_type": "zamba2"})"),
              "the configuration has no use_mem_rope, without which the model type \"zamba2\" has no rotation");
    EXPECT_EQ(refusal(R"({"model_type": "zamba2", "use_mem_rope": false})"),
              "the configuration's use_mem_rope is false" + none);
    EXPECT_NE(refusal(R"({"model_type": "zamba2", "use_mem_rope": true, "use_long_context": true})")
                  .find("use_long_context is true"),
              std::string::npos);
}

TEST(Config, NothingMayFollowTheObject) {
    const std::string text = R"({"model_type": "llama", "head_dim": 64})";
    EXPECT_NE(refusal(text + " trailing").find("is not JSON"), std::string::npos);
    EXPECT_EQ(refusal(text + std::string("\0 trailing", 10)), "the configuration is not JSON: byte 39 is a zero");
}

TEST(Config, KeysAreThereOnceAndNestedInFewLevels) {
    const std::string head = R"({"model_type": "llama", "head_dim": 64, "a": )";
    EXPECT_EQ(read(head + R"({"a": [{"a": 1}, {"a": 2}, "a", []], "b": {"b": {}, "c": null}}})").head_dim, 64u);
    const std::string twice = " twice; it must be there once";
    EXPECT_EQ(refusal(head + R"({"b": 1}, "a": 2})"), "the configuration has the key \"a\"" + twice);
    EXPECT_EQ(refusal(head + R"([{"b": 1}, {"c": {}, "d": [], "c": 2}]})"),
              "the configuration has the key \"c\"" + twice);
    EXPECT_EQ(refusal(head + R"({"b": 1, "\u0062": 2}})"), "the configuration has the key \"b\"" + twice);
    const auto nested = [&](size_t lists) { return head + std::string(lists, '[') + std::string(lists, ']') + "}"; };
    EXPECT_EQ(read(nested(32)).head_dim, 64u);
    EXPECT_EQ(refusal(nested(33)), "the configuration is nested deeper than 32 levels");
}

// Python's json writes these without quotes, and Mamba's configurations have them.
TEST(Config, InfinityIsReadWhereItIsNoNumberOfTheRotation) {
    const std::string limit = R"({"model_type": "llama", "head_dim": 64, "time_step_limit": [0.0, Infinity ], "x": )";
    EXPECT_EQ(read(limit + "NaN}").head_dim, 64u);
    EXPECT_EQ(read(limit + "-Infinity}").head_dim, 64u);
    EXPECT_EQ(read(limit + R"("NaN, \" Infinity]"})").head_dim, 64u);
    EXPECT_NE(refusal(limit + "Infinite}").find("is not JSON"), std::string::npos);
    EXPECT_NE(refusal(R"({Infinity: 1})").find("is not JSON"), std::string::npos);
    EXPECT_EQ(refusal(R"({"model_type": "llama", "head_dim": 64, "rope_theta": Infinity})"),
              "the configuration's rope_theta is \"inf\"; it must be a number from 1 to 1.8e+19");
    EXPECT_EQ(refusal(R"({"a": NaN, "b": -Infinity )"), "the configuration is not whole: its JSON ends after 26 bytes");
}

TEST(Config, NamesOfOneTypesOwnAreRead) {
    const rope::ModelEncoding lfm2 = read(R"({"model_type": "lfm2", "theta": 5e6, "rope_theta": 1e6})");
    EXPECT_EQ(lfm2.rule.base, 5e6);
    const std::string internlm = R"({"model_type": "internlm", "max_position_embeddings": 2048, "rotary": )";
    const rope::ModelEncoding dynamic = read(internlm + R"({"base": 20000, "type": "dynamic"}})");
    EXPECT_EQ(dynamic.rule.kind, ROPE_RULE_DYNAMIC_NTK);
    EXPECT_EQ(dynamic.rule.base, 20000);
    EXPECT_EQ(dynamic.rule.factor, 1);
    EXPECT_EQ(read(internlm + R"({"base": 20000, "type": "origin"}})").rule.kind, ROPE_RULE_DEFAULT);
    EXPECT_NE(refusal(internlm + R"({"type": "other"}})").find("must be true or false"), std::string::npos);
}

TEST(Config, OpenAisOwnFileIsKnown) {
    const std::string text = R"({"head_dim": 64, "rope_theta": 150000, "rope_scaling_factor": 32, "rope_ntk_alpha": 1,
        "rope_ntk_beta": 32, "initial_context_length": 4096})";
    EXPECT_NE(refusal(text).find("the model_type gpt_oss"), std::string::npos) << refusal(text);
}

// Each key is refused by name, even where nothing would read it.
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

TEST(Config, PhisTakeNoRuleButLongrope) {
    for (const std::string type : {"phi3", "phi3_v", "phi4_multimodal", "phi4mm"}) {
        for (const char* rule : {"linear", "dynamic", "llama3"}) {
            const std::string error = refusal(R"({"model_type": ")" + type + R"(", "max_position_embeddings": 64,
                "rope_scaling": {"type": ")" + rule +
                                              R"(", "factor": 4}})");
            EXPECT_EQ(error, std::string("the configuration's rule is '") + rule + "'; the code of the model type \"" +
                                 type + "\" takes none but 'default' and 'longrope'");
        }
    }
}

TEST(Config, MissingLengthsAreNamed) {
    const std::string factors = R"("short_factor": [1, 1, 2, 2], "long_factor": [1, 1, 2, 2])";
    const std::string phi = R"({"model_type": "phi3", "head_dim": 8, "rope_scaling": {"type": "longrope", )" + factors;
    const std::string error = refusal(phi + "}}");
    EXPECT_NE(error.find("has no max_position_embeddings"), std::string::npos) << error;
    EXPECT_NE(error.find("neither factor nor attention_factor"), std::string::npos) << error;
    EXPECT_EQ(read(phi + R"(, "attention_factor": 1.5}})").scale, 1.5);
    EXPECT_GT(read(phi + R"(, "factor": 32}})").scale, 1.19);
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

} // namespace
