// The layers of text models: which there are, which rotate, and for which an encoding is. The configurations have the
// keys of the models' published files; what they leave out is the default of the models' classes.
#include "support/config_read.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace config;

namespace {

// Written by hand: the numbers of the layers that `is` holds for.
template <typename Predicate> std::string numbers(const rope::ModelEncoding& model, const Predicate& is) {
    std::string text;
    for (size_t i = 0; i < model.layers.size(); ++i)
        if (is(model.layers[i])) text += (text.empty() ? "" : " ") + std::to_string(i);
    return text;
}
std::string still(const rope::ModelEncoding& model) {
    return numbers(model, [](const rope::ModelLayer& layer) { return !layer.rotates; });
}
std::string answered(const rope::ModelEncoding& model) {
    return numbers(model, [](const rope::ModelLayer& layer) { return layer.answered; });
}

rope::ModelEncoding readLayer(const std::string& text, uint32_t layer) {
    rope::ConfigRequest request;
    request.layer = layer;
    rope::ModelEncoding model;
    std::string error;
    EXPECT_TRUE(rope::readConfig(text, request, &model, &error)) << text << ": " << error;
    return model;
}
std::string layerRefusal(const std::string& text, uint32_t layer, const std::string& type = "") {
    rope::ConfigRequest request;
    request.layer = layer;
    request.layer_type = type;
    rope::ModelEncoding model;
    std::string error;
    EXPECT_FALSE(rope::readConfig(text, request, &model, &error)) << text;
    return error;
}

struct StillRow {
    const char* config;
    size_t layers;
    const char* still;
    const char* layer_type;
};

const char kEveryFourthOf36[] = "3 7 11 15 19 23 27 31 35";
const char kEveryFourthOf32[] = "3 7 11 15 19 23 27 31";
const char kEveryFourthOf48[] = "3 7 11 15 19 23 27 31 35 39 43 47";

const StillRow kStill[] = {
    // SmolLM3-3B
    {R"({"model_type": "smollm3", "num_hidden_layers": 36, "no_rope_layer_interval": 4, "no_rope_layers":
        [1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0], "rope_theta": 5000000.0})",
     36, kEveryFourthOf36, ""},
    {R"({"model_type": "smollm3"})", 36, kEveryFourthOf36, ""},
    {R"({"model_type": "smollm3", "num_hidden_layers": 6, "no_rope_layer_interval": 3})", 6, "2 5", ""},
    {R"({"model_type": "smollm3", "num_hidden_layers": 3, "no_rope_layers": [0, 1, 0]})", 3, "0 2", ""},
    // Llama 4 Scout: its list is empty
    {R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "num_hidden_layers": 48,
        "no_rope_layers": [], "rope_scaling": {"factor": 16.0, "high_freq_factor": 1.0, "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0}})",
     48, kEveryFourthOf48, "chunked_attention"},
    {R"({"model_type": "llama4_text"})", 48, kEveryFourthOf48, "chunked_attention"},
    {R"({"model_type": "llama4_text", "num_hidden_layers": 3, "layer_types": null, "no_rope_layers": [0, 1, 1]})", 3,
     "0", "chunked_attention"},
    // Command R7B and Command A
    {R"({"model_type": "cohere2", "num_hidden_layers": 32, "sliding_window": 4096, "sliding_window_pattern": 4,
        "rope_theta": 50000})",
     32, kEveryFourthOf32, "sliding_attention"},
    {R"({"model_type": "cohere2"})", 40, "3 7 11 15 19 23 27 31 35 39", "sliding_attention"},
    {R"({"model_type": "cohere2", "num_hidden_layers": 3, "layer_types":
        ["full_attention", "sliding_attention", "full_attention"]})",
     3, "0 2", "sliding_attention"},
    // Cohere 2's mixtures: the dense layers before them rotate whatever their type is
    {R"({"model_type": "cohere2_moe", "num_hidden_layers": 6, "first_k_dense_replace": 1})", 6, "4", "full_attention"},
    {R"({"model_type": "cohere2_moe", "num_hidden_layers": 6, "first_k_dense_replace": 1,
        "prefix_dense_sliding_window_pattern": 2})",
     6, "4", "sliding_attention"},
    {R"({"model_type": "cohere2_moe", "num_hidden_layers": 3, "layer_types":
        ["full_attention", "full_attention", "sliding_attention"], "mlp_layer_types": ["dense", "sparse", "sparse"]})",
     3, "1", "full_attention"},
    // EXAONE 4.0 32B and 1.2B
    {R"({"model_type": "exaone4", "num_hidden_layers": 8, "sliding_window": 4096, "sliding_window_pattern": "LLLG",
        "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
        "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]})",
     8, "3 7", "sliding_attention"},
    {R"({"model_type": "exaone4", "num_hidden_layers": 8, "sliding_window_pattern": "LLLG"})", 8, "3 7",
     "sliding_attention"},
    {R"({"model_type": "exaone4", "num_hidden_layers": 3, "sliding_window": null, "sliding_window_pattern": null,
        "layer_types": ["full_attention", "full_attention", "full_attention"]})",
     3, "", "full_attention"},
    {R"({"model_type": "exaone_moe"})", 32, kEveryFourthOf32, "sliding_attention"},
    // Lists of types' own
    {R"({"model_type": "lfm2", "num_hidden_layers": 6, "full_attn_idxs": [2, 5]})", 6, "0 1 3 4", "full_attention"},
    {R"({"model_type": "qwen3_5_moe_text", "num_hidden_layers": 8})", 8, "0 1 2 4 5 6", "full_attention"},
    {R"({"model_type": "minimax_m1", "num_hidden_layers": 4, "attn_type_list": [0, 0, 0, 1]})", 4, "0 1 2",
     "full_attention"},
    {R"({"model_type": "minimax_text_01", "num_hidden_layers": 2, "attn_type_list": [1, 0, 1]})", 2, "1",
     "full_attention"},
    {R"({"model_type": "minimax", "num_hidden_layers": 3})", 3, "1", "full_attention"},
    {R"({"model_type": "zamba2", "use_mem_rope": true, "num_hidden_layers": 3, "layers_block_type": ["mamba", "hybrid",
        "mamba"]})",
     3, "0 2", "hybrid"},
    {R"({"model_type": "minimax_m1", "num_hidden_layers": 4})", 0, "", ""}, // no list says which
    // Trinity
    {R"({"model_type": "afmoe", "num_hidden_layers": 32, "global_attn_every_n_layers": 4})", 32, kEveryFourthOf32,
     "sliding_attention"},
    {R"({"model_type": "afmoe", "num_hidden_layers": 4, "global_attn_every_n_layers": 2})", 4, "1 3",
     "sliding_attention"},
    {R"({"model_type": "muse_glimmer", "text_config": {"model_type": "muse_glimmer_text"}})", 52,
     "3 7 11 15 19 23 27 31 35 39 43 47 51", "sliding_attention"},
    {R"({"model_type": "muse_glimmer_text", "num_hidden_layers": 6})", 6, "1 5", "sliding_attention"},
    {R"({"model_type": "muse_glimmer_text", "num_hidden_layers": 3, "layer_rope_theta": [0, 10000, 10000]})", 3, "0",
     "full_attention"},
    // Llama 3.2 Vision: layers that attend to the image
    {R"({"model_type": "mllama", "text_config": {"model_type": "mllama_text_model", "num_hidden_layers": 40,
        "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38], "rope_theta": 500000.0}})",
     40, "3 8 13 18 23 28 33 38", ""},
    {R"({"model_type": "mllama_text_model", "num_hidden_layers": 5})", 5, "3", ""},
    // Qwen3-Next: layers of linear attention
    {R"({"model_type": "qwen3_next", "num_hidden_layers": 8, "full_attention_interval": 4})", 8, "0 1 2 4 5 6",
     "full_attention"},
    {R"({"model_type": "lfm2", "num_hidden_layers": 3, "layer_types": ["conv", "conv", "full_attention"]})", 3, "0 1",
     "full_attention"},
    // Types of Transformers 5.24
    {R"({"model_type": "beam", "num_hidden_layers": 8})", 8, "5 7", "sliding_attention"},
    {R"({"model_type": "kolibri1", "num_hidden_layers": 6})", 6, "4", "sliding_attention"},
    {R"({"model_type": "kolibri1", "num_hidden_layers": 6, "sliding_window": null})", 6, "", "full_attention"},
    {R"({"model_type": "flint", "num_hidden_layers": 4})", 0, "", ""}, // no list says which
    {R"({"model_type": "flint", "layer_types": ["full_attention", "sliding_attention"]})", 2, "0", "sliding_attention"},
    {R"({"model_type": "bailing_hybrid", "num_hidden_layers": 6, "layer_group_size": 3})", 6, "0 1 3 4",
     "full_attention"},
    {R"({"model_type": "qwen4_exp_text", "num_hidden_layers": 4, "head_dim": 64})", 4, "0 1 2", "indexed_attention"},
    {R"({"model_type": "muse_spark_text", "num_hidden_layers": 5})", 5, "0 4", "sliding_attention"},
    {R"({"model_type": "lfm3", "layer_types": ["conv", "full_attention"]})", 2, "0", "full_attention"},
    // North Micro Vision: one of its layer types has no rule
    {R"({"model_type": "cohere_compass_text", "num_hidden_layers": 2, "layer_types": ["sliding_attention",
        "full_attention"], "rope_parameters": {"full_attention": null, "sliding_attention": {"rope_type": "default",
        "rope_theta": 10000}}, "hidden_size": 1024, "num_attention_heads": 8})",
     2, "1", "sliding_attention"},
    {R"({"model_type": "llama", "num_hidden_layers": 2, "no_rope_layers": [0, 1]})", 2, "", ""}, // it is not read
    {R"({"head_dim": 8, "rope_theta": 100, "num_hidden_layers": 2, "no_rope_layers": [0, 1]})", 2, "0", ""},
};

TEST(Layers, ThatDoNotRotateAreKnown) {
    for (const StillRow& row : kStill) {
        SCOPED_TRACE(row.config);
        const rope::ModelEncoding model = read(row.config);
        EXPECT_EQ(model.layers.size(), row.layers);
        EXPECT_EQ(still(model), row.still);
        EXPECT_EQ(model.layer_type, row.layer_type);
        EXPECT_EQ(answered(model), numbers(model, [](const rope::ModelLayer& layer) { return layer.rotates; }));
        EXPECT_EQ(describeLayers(model).find("not rotate") != std::string::npos, *row.still != 0);
    }
}

// The files of dory list an attention and an mlp for each layer, and count both.
TEST(Layers, MayBeListedInParts) {
    const rope::ModelEncoding model = read(R"({"model_type": "dory", "num_hidden_layers": 8, "layer_types":
        ["sliding_attention", "mlp", "sliding_attention", "mlp", "sliding_attention", "mlp", "full_attention", "mlp"]})");
    EXPECT_EQ(model.layers.size(), 4u);
    EXPECT_EQ(still(model), "");
    EXPECT_EQ(model.layer_type, "full_attention");
    EXPECT_EQ(answered(model), "3"); // the others have a base of their own
}

TEST(Layers, ThatDoNotRotateAreAnsweredSo) {
    const std::string smollm = R"({"model_type": "smollm3", "num_hidden_layers": 8})";
    EXPECT_EQ(layerRefusal(smollm, 3), "layer 3 does not rotate; layers 0-2, 4-6 rotate");
    EXPECT_EQ(layerRefusal(smollm, 8), "the model has 8 layers, 0 to 7, and no layer 8");
    EXPECT_EQ(readLayer(smollm, 4).frequencies, read(smollm).frequencies);
    EXPECT_EQ(describeLayers(read(smollm)), "the frequencies are those of layers 0-2, 4-6; layers 3, 7 do not rotate");
    const std::string cohere = R"({"model_type": "cohere2", "num_hidden_layers": 4})";
    EXPECT_EQ(refusal(cohere, "full_attention"), "the model's layers of the type \"full_attention\" do not rotate; "
                                                 "those of the type \"sliding_attention\" do");
    EXPECT_EQ(layerRefusal(cohere, 3), "layer 3 (full_attention) does not rotate; layers 0-2 (sliding_attention) "
                                       "rotate");
    EXPECT_EQ(layerRefusal(cohere, 0, "full_attention"),
              "layer 0 is of the type sliding_attention, not of the type full_attention");
    EXPECT_EQ(describeLayers(readLayer(cohere, 1)), "the frequencies are those of layers 0-2 (sliding_attention); "
                                                    "layer 3 (full_attention) does not rotate");
    EXPECT_NE(refusal(R"({"model_type": "qwen3_next"})", "linear_attention").find("do not rotate"), std::string::npos);
    EXPECT_EQ(refusal(R"({"model_type": "smollm3", "num_hidden_layers": 2, "no_rope_layers": [0, 0]})"),
              "no layer of the model rotates");
    EXPECT_NE(
        refusal(R"({"model_type": "smollm3", "num_hidden_layers": 3, "no_rope_layers": [0, 1]})").find("one per layer"),
        std::string::npos);
    EXPECT_NE(refusal(R"({"model_type": "exaone4", "sliding_window_pattern": "LGLG"})").find("LGLG"),
              std::string::npos);
}

TEST(Layers, OfOneTypeMayHaveBasesOfTheirOwn) {
    for (const char* type : {"granite_swa", "granitemoe_swa"}) {
        const std::string text = std::string(R"({"model_type": ")") + type + R"(", "num_hidden_layers": 8,
            "layer_rope_theta": [10000, 10000, 0, 5000000, 10000, 5000000, 0, 10000]})";
        EXPECT_EQ(read(text).rule.base, 10000); // of the full ones, 0 and 4
        EXPECT_EQ(answered(read(text)), "0 1 4 7");
        EXPECT_EQ(refusal(text, "sliding_attention"),
                  "layers 1, 7 (sliding_attention) and layers 3, 5 (sliding_attention) rotate by other frequencies; "
                  "one layer is to be chosen by its number");
        EXPECT_EQ(readLayer(text, 3).rule.base, 5000000);
        EXPECT_EQ(answered(readLayer(text, 3)), "3 5");
        EXPECT_EQ(readLayer(text, 7).rule.base, 10000);
        EXPECT_EQ(describeLayers(readLayer(text, 3)),
                  "the frequencies are those of layers 3, 5 (sliding_attention); layers 0-1, 4, 7 have others; layers "
                  "2, 6 (sliding_attention) do not rotate");
        EXPECT_NE(layerRefusal(text, 2).find("does not rotate"), std::string::npos);
        const std::string lists =
            std::string(R"({"model_type": ")") + type + R"(", "layer_rope_theta": [7, 8, 9], "rope_theta": [7, 8, 9]})";
        EXPECT_EQ(readLayer(lists, 1).layers.size(), 3u); // the lists say how many
    }
}

TEST(Layers, OfAnotherTypeAreNamed) {
    const std::string gemma = R"({"model_type": "gemma3_text", "num_hidden_layers": 12})";
    EXPECT_EQ(answered(read(gemma)), "5 11");
    EXPECT_EQ(describeLayers(read(gemma)), "the frequencies are those of layers 5, 11 (full_attention); layers 0-4, "
                                           "6-10 (sliding_attention) have others");
    EXPECT_EQ(readLayer(gemma, 4).rule.base, 10000);
    EXPECT_EQ(readLayer(gemma, 4).layer_type, "sliding_attention");
    EXPECT_EQ(readLayer(gemma, 5).rule.base, 1000000);
    EXPECT_EQ(answered(read(R"({"model_type": "modernbert", "num_hidden_layers": 7})")), "0 3 6");
    EXPECT_EQ(describeLayers(read(R"({"model_type": "deepseek_v4", "num_hidden_layers": 2, "layer_types":
        ["compressed_sparse_attention", "heavily_compressed_attention"]})")),
              "the frequencies are those of layers of the type main; layers of other types have others: compress");
    EXPECT_NE(layerRefusal(R"({"model_type": "deepseek_v4"})", 0).find("\"main\", \"compress\""), std::string::npos);
    EXPECT_EQ(describeLayers(read(R"({"model_type": "llama", "num_hidden_layers": 32})")), "");
    EXPECT_EQ(describeLayers(read(R"({"model_type": "gpt_oss", "num_hidden_layers": 2, "layer_types":
        ["sliding_attention", "full_attention"]})")),
              "");
    const std::string olmo = R"({"model_type": "olmo3", "num_hidden_layers": 8)";
    EXPECT_EQ(describeLayers(read(olmo + "}")), "");
    EXPECT_NE(describeLayers(read(olmo + R"(, "rope_scaling": {"rope_type": "linear", "factor": 8}})")), "");
    EXPECT_NE(layerRefusal(R"({"model_type": "llama"})", 0).find("num_hidden_layers"), std::string::npos);
    EXPECT_NE(layerRefusal(R"({"model_type": "pixtral"})", 0).find("told apart"), std::string::npos);
    EXPECT_EQ(describeLayers(readLayer(R"({"model_type": "gemma3_text", "num_hidden_layers": 6})", 0)),
              "the frequencies are those of layers 0-4 (sliding_attention); layer 5 (full_attention) has others");
    EXPECT_NE(describeLayers(read(R"({"model_type": "sam3_vit_model"})")).find("window_attention"), std::string::npos);
    const std::string odd = R"({"head_dim": 8, "rope_theta": 9, "layer_types": ["a\nb"], "no_rope_layers": [0]})";
    EXPECT_EQ(layerRefusal(odd, 0), "layer 0 (a?b) does not rotate; no layer of the model does");
    EXPECT_NE(refusal(R"({"model_type": "llama", "num_hidden_layers": 70000})").find("4096"), std::string::npos);
}

// 0.1 * ln(40) + 1, squared, in bc.
TEST(Layers, LatentAttentionScalesItsSoftmax) {
    const auto notes = [](const std::string& type, const std::string& scaled) {
        return read(R"({"model_type": ")" + type +
                    R"(", "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1, )" + scaled +
                    R"("original_max_position_embeddings": 4096}})")
            .notes;
    };
    for (const char* type : {"axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite",
                             "glm_moe_dsa", "kimi_k2", "longcat_flash", "youtu"}) {
        const std::vector<std::string> plain = notes(type, ""), scaled = notes(type, R"("mscale_all_dim": 1, )");
        ASSERT_EQ(scaled.size(), plain.size() + 1) << type;
        EXPECT_NE(scaled.back().find("softmax scale by 1.873854207,"), std::string::npos) << type;
        EXPECT_TRUE(plain.empty()) << type;
    }
    EXPECT_TRUE(notes("mistral4", R"("mscale_all_dim": 1, )").empty());
}

TEST(Layers, ListsHaveAnEntryForEach) {
    for (const char* text :
         {R"({"model_type": "llama", "head_dim": 64, "num_hidden_layers": 2, "layer_types": []})",
          R"({"model_type": "llama", "head_dim": 64, "num_hidden_layers": 3, "layer_types": ["a", "b"]})",
          R"({"model_type": "gemma3_text", "layer_types": []})",
          R"({"model_type": "wat", "head_dim": 64, "rope_theta": 1e4, "layer_types": []})",
          R"({"head_dim": 64, "rope_theta": 1e4, "layer_types": [], "layer_rope_theta": [1e4]})",
          R"({"head_dim": 64, "rope_theta": 1e4, "layer_types": [], "layer_rope_theta": [1e4],
             "partial_rotary_factors": [1, 1, 1, 1, 1, 1]})",
          R"({"head_dim": 64, "num_hidden_layers": 0, "rope_theta": [1e4, 1e4], "partial_rotary_factors": [1, 1, 1]})"})
        EXPECT_NE(refusal(text).find("one per layer"), std::string::npos) << text << ": " << refusal(text);
    EXPECT_EQ(read(R"({"model_type": "llama", "num_hidden_layers": 1, "layer_types": ["full_attention",
        "sliding_attention"]})")
                  .layers.size(),
              1u);
}

TEST(Layers, HaveNamesThatTheModelTypeKnows) {
    const std::string gemma = R"({"model_type": "gemma3_text", "num_hidden_layers": 2, "layer_types": )";
    const std::string end = "\"foo\", which the model type \"gemma3_text\" does not have; it may have "
                            "\"full_attention\", \"sliding_attention\"";
    EXPECT_EQ(refusal(gemma + R"(["foo", "foo"]})"), "the configuration's layer_types has " + end);
    EXPECT_EQ(refusal(gemma + R"(["full_attention", "sliding_attention", "foo"]})"),
              "the configuration's layer_types has " + end);
    EXPECT_NE(refusal(gemma + R"(["full_attention", "chunked_attention"]})").find("chunked"), std::string::npos);
    read(gemma + R"(["full_attention", "full_attention"]})");
    read(gemma +
         R"(["full_attention", "foo"], "rope_parameters": {"full_attention": {}, "foo": {}}})"); // it has a rule
    const std::string llama = refusal(R"({"model_type": "llama", "num_hidden_layers": 1, "layer_types": ["a\nb"]})");
    EXPECT_NE(llama.find("\"a\\nb\", which the model type \"llama\" does not have"), std::string::npos) << llama;
    const char* const passing[][2] = {{"deepseek_v4", R"("sliding_attention", "heavily_compressed_attention")"},
                                      {"granitemoehybrid", R"("mamba", "attention")"},
                                      {"minimax_m3_vl_text", R"("full_attention", "minimax_m3_sparse")"},
                                      {"zaya", R"("hybrid", "hybrid_sliding")"},
                                      {"glm_moe_dsa", R"("deepseek_sparse_attention")"},
                                      {"Yi", R"("words", "of its own code")"},
                                      {"unheard-of", R"("a", "b")"}};
    for (const auto& row : passing) {
        read(std::string(R"({"model_type": ")") + row[0] + R"(", "head_dim": 64, "rope_theta": 10000,
            "position_embedding_type": "rope", "layer_types": [)" +
             row[1] + "]}");
    }
}

// A list of `count` entries, each of them `before`, its number and `after`.
std::string listOf(int count, const std::string& before, const std::string& after) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + before + std::to_string(i) + after;
    return text;
}

TEST(Layers, TypesAreFew) {
    const std::string head = R"({"head_dim": 8, "rope_theta": 10, )", few = "there may be 64";
    EXPECT_NE(refusal(head + R"("rope_parameters": {)" + listOf(40000, "\"", "\": {}") + "}}").find(few),
              std::string::npos);
    EXPECT_NE(refusal(head + R"("layer_types": [)" + listOf(65, "\"", "\"") + "]}").find(few), std::string::npos);
    EXPECT_EQ(read(head + R"("layer_types": [)" + listOf(64, "\"", "\"") + "]}", "63").layer_type, "63");
    const std::string many = refusal(head + R"("rope_parameters": {)" + listOf(64, "\"", "\": {}") + "}}");
    EXPECT_NE(many.find("\"15\" and 56 others"), std::string::npos) << many;
    EXPECT_NE(refusal(head + R"("layer_types": [)" + listOf(5000, "\"", "\"") + "]}").find("4096 layers at most"),
              std::string::npos);
    EXPECT_NE(refusal(head + R"("labels": [)" + listOf(300000, "", "") + "]}").find("262144"), std::string::npos);
}

TEST(Layers, LlamaFoursStillOnesScaleTheirQueries) {
    const std::string text = R"({"model_type": "llama4_text", "num_hidden_layers": 8)";
    const rope::ModelEncoding model = read(text + "}");
    ASSERT_EQ(model.notes.size(), 1u);
    EXPECT_NE(model.notes[0].find("the model type's default attn_temperature_tuning"), std::string::npos);
    EXPECT_NE(read(text + R"(, "attn_temperature_tuning": true})").notes.at(0).find("the configuration's attn"),
              std::string::npos);
    EXPECT_NE(model.notes[0].find("1 + 0.1 * ln(1 + floor((position + 1) / 8192))"), std::string::npos);
    EXPECT_NE(model.notes[0].find("do not rotate"), std::string::npos);
    EXPECT_EQ(model.query_scaling.beta, 0.1);
    EXPECT_EQ(model.query_scaling.interval, 8192u);
    EXPECT_EQ(model.query_scaling.offset, 1u);
    EXPECT_TRUE(model.query_scaling.of_still_layers);
    const rope::ModelEncoding other = read(text + R"(, "attn_scale": 0.25, "floor_scale": 4096})");
    EXPECT_EQ(other.query_scaling.beta, 0.25);
    EXPECT_EQ(other.query_scaling.interval, 4096u);
    for (const char* off : {R"(, "attn_temperature_tuning": false})", R"(, "attn_temperature_tuning": 0})",
                            R"(, "no_rope_layers": [1, 1, 1, 1, 1, 1, 1, 1]})"}) {
        EXPECT_TRUE(read(text + off).notes.empty()) << off;
        EXPECT_EQ(read(text + off).query_scaling.beta, 0) << off;
    }
    const rope::QueryScaling ministral = read(R"({"model_type": "ministral3"})").query_scaling;
    EXPECT_EQ(ministral.beta, 0.1);
    EXPECT_EQ(ministral.interval, 16384u);
    EXPECT_EQ(ministral.offset, 0u);
    EXPECT_FALSE(ministral.of_still_layers);
}

TEST(Heads, OfLatentAttentionAreSplitFromWholeOnes) {
    struct Row {
        const char* config;
        uint32_t nope, rope;
    };
    const Row rows[] = {
        {R"({"model_type": "deepseek_v3", "qk_nope_head_dim": 128, "qk_rope_head_dim": 64})", 128, 64},
        {R"({"model_type": "deepseek_v3"})", 128, 64},
        {R"({"model_type": "deepseek_v2"})", 128, 64},
        {R"({"model_type": "kimi_k2"})", 128, 64},
        {R"({"model_type": "glm4_moe_lite"})", 192, 64},
        {R"({"model_type": "glm_moe_dsa"})", 192, 64},
        {R"({"model_type": "minicpm3"})", 64, 32},
        {R"({"model_type": "axk2"})", 64, 32},
        {R"({"model_type": "mistral4"})", 64, 64},
        {R"({"model_type": "youtu", "qk_nope_head_dim": 96})", 96, 64},
        {R"({"rope_theta": 100, "hidden_size": 8, "num_attention_heads": 1, "qk_rope_head_dim": 4,
            "qk_nope_head_dim": 6})",
         6, 4},
        {R"({"model_type": "llama", "qk_nope_head_dim": 7})", 0, 128},
        {R"({"model_type": "deepseek_v4"})", 0, 512},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(read(row.config).nope_dim, row.nope) << row.config;
        EXPECT_EQ(read(row.config).head_dim, row.rope) << row.config;
    }
}

} // namespace
