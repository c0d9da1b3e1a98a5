// Llama 3's rotation of a prefill, and its table: what tests of plans start from.
#pragma once

#include "sample.hpp"

namespace sample {

inline RopeRotateDescription llama() {
    static const std::vector<double> kFrequencies = sample::frequencies(500000, 128);
    RopeRotateDescription d = {};
    d.tokens = 4096;
    d.head_dim = 128;
    d.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    d.q.heads = 32;
    d.k.heads = 8;
    return d;
}

inline RopeTableDescription table(uint32_t rows) {
    RopeTableDescription d = {};
    d.frequencies = llama().frequencies;
    d.tokens = rows;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    return d;
}

} // namespace sample
