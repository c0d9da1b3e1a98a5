// Positions of several axes in the configurations of models of text.
#include "support/config_read.hpp"

#include <gtest/gtest.h>

using namespace config;

namespace {

TEST(Config, TextsAxesTakeTheirSections) {
    const struct {
        const char* config;
        std::string axes;
    } rows[] = {
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"type": "mrope", "mrope_section": [20, 22, 22]}})",
         "20*0 22*1 22*2"},
        {R"({"model_type": "qwen2_5_vl", "text_config": {"model_type": "qwen2_5_vl_text", "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1000000}}})",
         "16*0 24*1 24*2"},
        {R"({"model_type": "qwen2_5_omni", "thinker_config": {"text_config": {"model_type": "qwen2_5_omni_text", "rope_scaling": {"rope_type": "default", "mrope_section": [16, 24, 24]}}}})",
         "16*0 24*1 24*2"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768, "mrope_section": [16, 24, 24]}})",
         "16*0 24*1 24*2"},
        {R"({"model_type": "paddleocr_vl", "rope_is_neox_style": true, "use_3d_rope": true, "rope_scaling": {"type": "default", "mrope_section": [16, 24, 24]}})",
         "16*0 24*1 24*2"},
        {R"({"model_type": "glm4v_text"})", "8*0 12*1 12*2"},
        {R"({"model_type": "glm_image_text"})", "8*0 12*1 12*2"},
        {R"({"model_type": "glm_ocr_text"})", "8*0 12*1 12*2"},
        {R"({"model_type": "qwen3_vl"})", repeated(20, "1*0 1*1 1*2", "4*0")},
        {R"({"model_type": "cosmos3_edge_text"})", repeated(20, "1*0 1*1 1*2", "4*0")},
        {R"({"model_type": "qwen3_omni_moe_text", "head_dim": 128, "rope_scaling": {"interleaved": true, "mrope_interleaved": true, "mrope_section": [24, 20, 20]}})",
         repeated(20, "1*0 1*1 1*2", "4*0")},
        {R"({"model_type": "cohere_compass_text", "rope_parameters": {"full_attention": {"rope_theta": 1000000}, "sliding_attention": {}}})",
         repeated(20, "1*0 1*1 1*2", "4*0")},
        {R"({"model_type": "qwen3_5_text"})", repeated(10, "1*0 1*1 1*2", "1*0 1*1")},
        {R"({"model_type": "ernie4_5_vl_moe_text"})", repeated(22, "1*1 1*2", "20*0")},
        {R"({"model_type": "ernie4_5_moe_vl", "rope_3d": true, "freq_allocation": 24})",
         repeated(20, "1*1 1*2", "24*0")},
        {R"({"head_dim": 16, "rope_theta": 500, "rope_scaling": {"mrope_section": [2, 3, 3]}})", "2*0 3*1 3*2"},
        {R"({"head_dim": 16, "rope_theta": 500, "rope_scaling": {"mrope_section": [2, 3, 3], "mrope_interleaved": true}})",
         "1*0 1*1 1*2 1*0 1*1 1*2 1*0 1*1"},
    };
    for (const auto& row : rows) {
        const rope::ModelEncoding model = read(row.config);
        EXPECT_EQ(axisRuns(model), row.axes) << row.config;
        EXPECT_EQ(joined(model.axis_names), "t h w") << row.config;
    }
    for (const char* text : {R"({"model_type": "qwen2"})", R"({"model_type": "ernie4_5_moe_vl", "rope_3d": false})"}) {
        EXPECT_TRUE(read(text).axes.empty() && read(text).axis_names.empty()) << text;
    }
}

// The code of these types reads the key without a default.
TEST(Config, SectionsThatHaveNoDefaultAreAskedFor) {
    for (const std::string type :
         {"qwen2_vl", "qwen2_5_vl", "qwen2_5_omni_text", "qwen2_5_omni_talker", "paddleocr_vl"}) {
        const std::string head = R"({"model_type": ")" + type + "\"";
        for (const char* rest :
             {"}", R"(, "rope_scaling": {"type": "mrope"}})",
              R"(, "rope_scaling": {"type": "yarn", "factor": 4}, "max_position_embeddings": 64})"}) {
            const std::string error = refusal(head + rest);
            EXPECT_NE(error.find("has no mrope_section, which the code of the model type"), std::string::npos) << error;
        }
        read(head + R"(, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})");
    }
}

TEST(Config, SectionsThatDoNotFitAreRefusedByName) {
    const char* const cases[][2] = {
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [16, 24, 23]}})", "63 pairs, but 64 turn"},
        {R"({"model_type": "qwen3_vl", "head_dim": 64})", "32 pairs turn, and the configuration has no mrope_section"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [40, 24]}})", "three counts"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [16, 24.5, 23.5]}})", "three counts"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [72, -4, -4]}})", "three counts"},
        {R"({"model_type": "qwen2", "rope_scaling": {"mrope_section": [16, 24, 24]}})", "one axis"},
        {R"({"head_dim": 16, "rope_theta": 500, "rope_scaling": {"type": "mrope"}})", "without its mrope_section"},
        {R"({"model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [16, 24, 24], "mrope_interleaved": true}})",
         "mrope_interleaved"},
        {R"({"model_type": "qwen3_vl", "rope_scaling": {"mrope_interleaved": false}})", "mrope_interleaved"},
        {R"({"model_type": "qwen3_vl", "rope_scaling": {"mrope_interleaved": true, "interleaved": false}})",
         "interleaved"},
        {R"({"model_type": "ernie4_5_vl_moe", "rope_scaling": {"mrope_section": [24, 20, 20]}})",
         "h 24 pairs and w 20"},
        {R"({"model_type": "ernie4_5_vl_moe", "rope_scaling": {"type": "linear", "factor": 2}})", "'linear'"},
    };
    for (const auto& each : cases)
        EXPECT_NE(refusal(each[0]).find(each[1]), std::string::npos) << each[0] << ": " << refusal(each[0]);
}

} // namespace
