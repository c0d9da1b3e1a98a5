// The models whose shapes are measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace measure {

struct Model {
    const char* name; // as options have it
    const char* title;
    uint32_t q_heads, k_heads, head_dim; // all of the head turns
    double base;
    uint32_t axes; // 1; or 2, height and width, each with half of the pairs
    double scale;  // on cos and sin
};

const std::vector<Model>& models();
const Model* findModel(const std::string& name); // null: there is none of that name

// "Llama-3-8B, 32 + 8 heads of 128"
std::string describe(const Model& model);

std::vector<double> frequenciesOf(const Model& model);
std::vector<uint8_t> axesOf(const Model& model); // of each pair; empty where there is one

} // namespace measure
