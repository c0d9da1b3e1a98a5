// The layers of models in .gguf files: which rotate, and for which an encoding is.
#include "support/gguf_file.hpp"

#include <gtest/gtest.h>

using namespace gguf;

namespace {

std::string describe(const File& file, const char* type = "") { return describeLayers(read(file, {0, type})); }

GgufRequest layerRequest(uint32_t layer) {
    GgufRequest request;
    request.layer = layer;
    return request;
}

TEST(GgufLayers, ThatDoNotRotateAreNamed) {
    struct Row {
        const char* architecture;
        uint32_t window, layers;
        const char* said;
    };
    const char kLast[] = "the frequencies are those of layers 0-2, 4-6; layers 3, 7 do not rotate";
    const char kSliding[] = "the frequencies are those of layers 0-2, 4-6 (sliding_attention); layers 3, 7 "
                            "(full_attention) do not rotate";
    const Row rows[] = {
        {"smollm3", 0, 8, kLast},
        {"afmoe", 2048, 8, kLast},
        {"llama4", 8192, 8, kLast},
        {"smallthinker", 4096, 8, "the frequencies are those of layers 1-3, 5-7; layers 0, 4 do not rotate"},
        {"smallthinker", 0, 8, ""},
        {"cohere2", 4096, 8, kSliding},
        {"exaone-moe", 128, 8, kSliding},
        {"muse-glimmer", 2048, 8, kSliding},
        {"exaone4", 4096, 30, ""},
        {"llama", 0, 8, ""},
        {"gemma2", 4096, 8, ""},
    };
    for (const Row& row : rows) {
        File file = modelOf(row.architecture, 64);
        file.u32("block_count", row.layers);
        if (row.window != 0) file.u32("attention.sliding_window", row.window);
        EXPECT_EQ(describe(file), row.said) << row.architecture;
    }
    File exaone = modelOf("exaone4", 64);
    exaone.u32("block_count", 64).u32("attention.sliding_window", 4096);
    const ModelEncoding model = read(exaone);
    ASSERT_EQ(model.layers.size(), 64u);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(model.layers[i].rotates, i % 4 != 3) << i;
    File all = modelOf("llama4", 64);
    all.u32("block_count", 8).u32("attention.sliding_window", 0);
    EXPECT_EQ(describe(all), "");
}

// An EXAONE 4 of another number of layers has no windows, whatever base its file has for them.
TEST(GgufLayers, WithoutWindowsAreAlike) {
    File exaone = modelOf("exaone4", 64);
    exaone.u32("block_count", 30).f32("rope.freq_base", 1e6F).f32("rope.freq_base_swa", 10000);
    EXPECT_EQ(describe(exaone), "");
    const ModelEncoding model = read(exaone);
    EXPECT_FALSE(model.types_differ);
    EXPECT_EQ(model.rule.base, 1e6);
    EXPECT_EQ(refusal(exaone, {0, "sliding_attention"}), "the file has no layers of type sliding_attention");
}

// EXAONE 4.5 counts the block that predicts a further token behind its 64 layers.
TEST(GgufLayers, EndBeforeTheBlocksThatPredictFurtherTokens) {
    File exaone = modelOf("exaone4", 64);
    exaone.u32("block_count", 65).u32("nextn_predict_layers", 1);
    const ModelEncoding model = read(exaone);
    ASSERT_EQ(model.layers.size(), 64u);
    EXPECT_FALSE(model.layers[63].rotates);
    File moe = modelOf("exaone-moe", 64);
    moe.u32("block_count", 5).u32("nextn_predict_layers", 1);
    moe.list<uint8_t>("attention.sliding_window_pattern", 7, {1, 1, 0, 1});
    EXPECT_EQ(describe(moe), "the frequencies are those of layers 0-1, 3 (sliding_attention); layer 2 (full_attention) "
                             "does not rotate");
    File none = modelOf("exaone-moe", 64);
    none.u32("block_count", 5).u32("nextn_predict_layers", 5);
    EXPECT_EQ(refusal(none),
              "the key 'exaone-moe.nextn_predict_layers' is 5, and 'exaone-moe.block_count' 5; some blocks "
              "are the model's own layers");
}

TEST(GgufLayers, OfLinearAttentionDoNotRotate) {
    for (const char* architecture : {"qwen3next", "qwen35", "qwen35moe"}) {
        File file = modelOf(architecture, 64);
        if (architecture != std::string("qwen3next"))
            file.list<uint32_t>("rope.dimension_sections", 4, {11, 11, 10, 0});
        file.u32("block_count", 9).u32("nextn_predict_layers", 1);
        EXPECT_EQ(describe(file), "the frequencies are those of layers 3, 7; layers 0-2, 4-6 do not rotate");
        EXPECT_NE(refusal(file, layerRequest(0)).find("layer 0 does not rotate"), std::string::npos);
        File thirds = file;
        thirds.u32("full_attention_interval", 3);
        EXPECT_EQ(describe(thirds), "the frequencies are those of layers 2, 5; layers 0-1, 3-4, 6-7 do not rotate");
        file.list<uint8_t>("attention.recurrent_layers", 7, {0, 1, 1, 1, 1, 1, 1, 0, 0});
        EXPECT_EQ(describe(file), "the frequencies are those of layers 0, 7; layers 1-6 do not rotate");
    }
}

// Architectures of llama.cpp 0.5
TEST(GgufLayers, OfMinimax01HaveAPeriodOfEight) {
    File file = modelOf("minimax-01", 64);
    file.u32("block_count", 16);
    EXPECT_EQ(describe(file), "the frequencies are those of layers 7, 15; layers 0-6, 8-14 do not rotate");
}

TEST(GgufLayers, OfGraniteWithWindowsHaveAListOfThoseThatRotate) {
    File file = modelOf("granite_swa", 64);
    file.u32("block_count", 4).u32("attention.sliding_window", 4096);
    file.list<uint8_t>("attention.sliding_window_pattern", 7, {0, 1, 1, 0});
    file.list<uint32_t>("attention.rope_pattern", 4, {0, 1, 1, 1});
    EXPECT_EQ(describe(file), "the frequencies are those of layers 1-3; layer 0 (full_attention) does not rotate");
}

TEST(GgufLayers, OfMapleRotateWhereTheySlide) {
    File file = modelOf("maple", 64);
    file.u32("block_count", 3).u32("attention.sliding_window", 128).f32("rope.freq_base_swa", 500);
    file.list<uint8_t>("attention.sliding_window_pattern", 7, {1, 0, 1});
    EXPECT_EQ(describe(file), "the frequencies are those of layers 0, 2 (sliding_attention); layer 1 (full_attention) "
                              "does not rotate");
    EXPECT_EQ(read(file).rule.base, 500);
    File both = modelOf("spark2_5", 64);
    both.u32("block_count", 2).u32("attention.sliding_window", 128).f32("rope.freq_base_swa", 500);
    both.list<uint8_t>("attention.sliding_window_pattern", 7, {1, 0});
    EXPECT_EQ(describe(both), "the frequencies are those of layer 1 (full_attention); layer 0 (sliding_attention) has "
                              "others");
}

TEST(GgufLayers, WithoutHeadsOfKDoNotRotate) {
    File file = modelOf("lfm2", 64);
    file.u32("block_count", 4).list<uint32_t>("attention.head_count_kv", 4, {0, 0, 8, 0});
    EXPECT_EQ(describe(file), "the frequencies are those of layer 2; layers 0-1, 3 do not rotate");
    EXPECT_EQ(read(file, layerRequest(2)).rule.base, 10000);
    EXPECT_EQ(refusal(file, layerRequest(0)), "layer 0 does not rotate; layer 2 rotates");
    File brief = modelOf("lfm2", 64);
    brief.u32("block_count", 4).list<uint32_t>("attention.head_count_kv", 4, {0, 8});
    EXPECT_NE(refusal(brief).find("2 entries for 4 layers"), std::string::npos) << refusal(brief);
}

TEST(GgufLayers, TakeThePatternOfTheFile) {
    File period = modelOf("cohere2", 64);
    period.u32("block_count", 4).u32("attention.sliding_window", 4096).u32("attention.sliding_window_pattern", 2);
    EXPECT_EQ(describe(period), "the frequencies are those of layers 0, 2 (sliding_attention); layers 1, 3 "
                                "(full_attention) do not rotate");
    File list = modelOf("cohere2moe", 64);
    list.u32("block_count", 4).u32("attention.sliding_window", 4096).u32("leading_dense_block_count", 1);
    list.list<uint8_t>("attention.sliding_window_pattern", 7, {0, 1, 0, 1});
    EXPECT_EQ(describe(list), "the frequencies are those of layers 0-1, 3; layer 2 (full_attention) does not rotate");
    File brief = modelOf("cohere2", 64);
    brief.u32("block_count", 4).list<uint8_t>("attention.sliding_window_pattern", 7, {0, 1});
    EXPECT_NE(refusal(brief).find("2 entries for 4 layers"), std::string::npos) << refusal(brief);
}

TEST(GgufLayers, AreChosenByNumber) {
    File file = modelOf("gemma3", 256);
    file.f32("rope.freq_base", 1e6f).u32("attention.sliding_window", 1024).u32("block_count", 12);
    EXPECT_EQ(read(file, layerRequest(5)).rule.base, 1e6);
    EXPECT_EQ(read(file, layerRequest(6)).rule.base, 10000);
    EXPECT_EQ(describeLayers(read(file, layerRequest(5))),
              "the frequencies are those of layers 5, 11 (full_attention); layers 0-4, 6-10 (sliding_attention) have "
              "others");
    EXPECT_EQ(refusal(file, layerRequest(12)), "the model has 12 layers, 0 to 11, and no layer 12");
    File smollm = modelOf("smollm3", 64);
    smollm.u32("block_count", 8);
    EXPECT_EQ(refusal(smollm, layerRequest(3)), "layer 3 does not rotate; layers 0-2, 4-6 rotate");
    EXPECT_EQ(refusal(modelOf("llama", 64), layerRequest(3)),
              "the file does not say which layers there are, or of which types");
    File cohere = modelOf("cohere2", 64);
    cohere.u32("block_count", 4).u32("attention.sliding_window", 4096);
    EXPECT_EQ(refusal(cohere, {0, "full_attention"}), "the model's layers of the type full_attention do not rotate; "
                                                      "layers 0-2 (sliding_attention) rotate");
    EXPECT_EQ(read(cohere).layer_type, "sliding_attention");
    EXPECT_EQ(refusal(modelOf("smallthinker", 64).u32("block_count", 1).u32("attention.sliding_window", 9)),
              "no layer of the model rotates");
}

// The key of a pattern is all that says how Gemma 4's layers lie.
TEST(GgufLayers, OfAnUnknownOrderAreNamedByTheirTypes) {
    File file = modelOf("gemma4", 64);
    file.f32("rope.freq_base", 1e6f).u32("attention.sliding_window", 1024).u32("block_count", 3);
    EXPECT_EQ(describe(file, "full_attention"), "the frequencies are those of layers of the type full_attention; "
                                                "layers of other types have others: sliding_attention");
    file.list<uint8_t>("attention.sliding_window_pattern", 7, {1, 1, 0});
    EXPECT_EQ(describe(file, "full_attention"), "the frequencies are those of layer 2 (full_attention); layers 0-1 "
                                                "(sliding_attention) have others");
}

} // namespace
