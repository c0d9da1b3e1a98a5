// Positions of several axes in .gguf files.
#include "support/gguf_file.hpp"

#include <gtest/gtest.h>

using namespace gguf;

namespace {

std::string axesOf(const ModelEncoding& model) {
    std::string text;
    for (const uint8_t axis : model.axes) text += static_cast<char>('0' + axis);
    return text;
}

File withSections(const char* architecture, uint32_t head_dim, const std::vector<int32_t>& sections) {
    return modelOf(architecture, head_dim).list<int32_t>("rope.dimension_sections", 5, sections);
}

TEST(Gguf, SectionsTellWhichPairIsWhichAxes) {
    const ModelEncoding together = read(withSections("qwen2vl", 16, {2, 3, 3, 0}).f32("rope.freq_base", 1e6f));
    EXPECT_EQ(axesOf(together), "00111222");
    EXPECT_EQ(together.axis_names, (std::vector<std::string>{"t", "h", "w"}));
    EXPECT_EQ(together.pairing, ROPE_PAIRING_HALF);
    expectFrequencies(together, defaultFrequencies(1e6, 16));
    EXPECT_EQ(axesOf(read(withSections("paddleocr", 16, {2, 3, 2, 1}))), "00111223");
    EXPECT_EQ(read(withSections("paddleocr", 16, {2, 3, 2, 1})).axis_names.back(), "e");
    // Qwen3-VL has 24, 20 and 20 of 64 pairs: the first axis takes the pairs that are left after the round robin.
    for (const char* name : {"qwen3vl", "qwen3vlmoe"})
        EXPECT_EQ(axesOf(read(withSections(name, 32, {8, 4, 4, 0}))), "0120120120120000");
    for (const char* name : {"qwen35", "qwen35moe"}) {
        const ModelEncoding part = read(withSections(name, 256, {3, 3, 2}).u32("rope.dimension_count", 16));
        EXPECT_EQ(axesOf(part), "01201201");
        EXPECT_EQ(part.rotary_dim, 16u);
    }
    File scaled = withSections("qwen2vl", 128, {16, 24, 24, 0});
    scaled.text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 4);
    expectFrequencies(read(scaled), yarnFrequencies(10000, 128, 4, 4096, 32, 1));
}

TEST(Gguf, Glm4HasAxesWhereItHasSections) {
    for (const char* name : {"glm4", "glm4moe"}) {
        const ModelEncoding several = read(withSections(name, 64, {8, 12, 12, 0}));
        EXPECT_EQ(axesOf(several), "00000000111111111111222222222222");
        EXPECT_EQ(several.pairing, ROPE_PAIRING_HALF);
        EXPECT_EQ(axesOf(read(withSections(name, 64, {0, 0, 0, 0}))), "");
    }
    EXPECT_EQ(read(modelOf("glm4", 64)).pairing, ROPE_PAIRING_INTERLEAVED);
    EXPECT_EQ(axesOf(read(withSections("llama", 64, {0, 0, 0, 0}))), "");
}

TEST(Gguf, RefusesSectionsByName) {
    const std::string key = "the key 'qwen2vl.rope.dimension_sections' ";
    EXPECT_EQ(refusal(modelOf("qwen2vl", 64)), "the architecture 'qwen2vl' has positions of several axes, and the "
                                               "header no 'qwen2vl.rope.dimension_sections'");
    EXPECT_EQ(refusal(withSections("qwen2vl", 64, {8, 12, 11, 0})), key + "is of 31 pairs, but 32 turn");
    for (const std::vector<int32_t>& sections : {std::vector<int32_t>{8, 12, 12, 0, 0}, {40, -4, -4}, {5000}})
        EXPECT_EQ(refusal(withSections("qwen2vl", 64, sections)), key + "must be up to four counts of pairs");
    EXPECT_EQ(refusal(modelOf("qwen2vl", 64).u32("rope.dimension_sections", 32)),
              key + "must be up to four counts of pairs");
    EXPECT_EQ(refusal(withSections("qwen3vl", 64, {8, 8, 8, 8})),
              "the key 'qwen3vl.rope.dimension_sections' has pairs of a fourth axis, and three take turns");
    EXPECT_EQ(refusal(withSections("qwen2", 64, {8, 12, 12, 0})),
              "the key 'qwen2.rope.dimension_sections' asks for positions of several axes, which are not read for the "
              "architecture 'qwen2'");
    EXPECT_EQ(refusal(withSections("qwen2vl", 64, {8, 12, 12, 0}), {0, "", 32}), key + "is of 32 pairs, but 16 turn");
}

} // namespace
