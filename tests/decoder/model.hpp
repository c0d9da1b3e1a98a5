// A small decoder with random weights, and the same in double on the CPU, which knows nothing of vkrope.
#pragma once

#include "shape.h"

#include <cstdint>
#include <vector>

namespace decoder {

constexpr double kBase = 10000;
constexpr float kEpsilon = 1e-6f;
constexpr double kScale = SCALE_MANTISSA * 0x1p-31; // SCALE_EXPONENT is 0

// Matrices are [outputs][inputs].
struct Layer {
    std::vector<float> qkv, out;
    std::vector<float> q_norm, k_norm; // a weight for each element of a head
};
struct Model {
    std::vector<float> embedding; // [VOCABULARY][HIDDEN]
    std::vector<float> logits;
    Layer layers[LAYERS];
};
Model makeModel(uint64_t seed);

class Reference {
  public:
    explicit Reference(const Model& model) : model_(model) {}
    std::vector<double> step(uint32_t token); // the logits
    // Forgets `count` tokens; those behind move up to their positions.
    void drop(uint32_t first, uint32_t count);

  private:
    using Row = std::vector<double>;
    struct Token {
        Row k, v; // of all heads, K normed and not turned: its position may yet change
    };
    Row attend(const std::vector<Token>& tokens, Row q) const;

    const Model& model_;
    std::vector<Token> tokens_[LAYERS];
};

} // namespace decoder
