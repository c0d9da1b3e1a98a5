// The models whose shapes are measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace measure {

struct ModelShape {
    const char* name; // the name that options take
    const char* title;
    uint32_t q_heads, k_heads, head_dim; // the elements that turn
    double base;
    uint32_t axes;               // 1; or 2, height and width, each with half of the pairs
    double scale;                // on cos and sin
    uint32_t before_q, before_k; // elements of a head of Q, and of K, that lie before those that turn
};

const std::vector<ModelShape>& modelShapes();
const ModelShape* findModelShape(const std::string& name); // null: no model has that name

// Describes the shape: "Llama-3-8B, 32 + 8 heads of 128".
std::string describeModel(const ModelShape& model);

std::vector<double> modelFrequencies(const ModelShape& model);
std::vector<uint8_t> modelAxes(const ModelShape& model); // the axis of each pair; empty if there is one axis

} // namespace measure
