// One fused pass on the CPU with made-up inputs, and the same in plain double.
#pragma once

#include <vkrope/rope.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace host_pass {

constexpr uint32_t kDim = 64;
constexpr uint32_t kQueries = 4; // heads
constexpr uint32_t kKeys = 2;

// Floats elsewhere, positions 5, 6, ...
RopeFusedDescription plain(uint32_t tokens);

// K and V to a cache of float32.
RopeFusedDescription cached(uint32_t tokens, RopeCacheKind kind, uint32_t slots);

// An Outcome has the results of one run. Untouched elements stay at kUntouched.
constexpr float kUntouched = -77;
struct Outcome {
    std::vector<float> q, k, v; // inputs
    std::vector<float> q_out, k_out, v_out;
    std::vector<double> reference_q, reference_k, reference_v;
    uint32_t outside = 0;
};

Outcome run(const RopeFusedDescription& d, const void* positions = nullptr, size_t cache_elements = 0);

using Head = std::vector<double>;

Head headOf(const std::vector<float>& values, size_t head);
void turn(Head* x, double position);
void expectHead(const Head& wanted, const std::vector<float>& bits, const std::vector<double>& reference, size_t at);

std::vector<float> weights(size_t count);

} // namespace host_pass
