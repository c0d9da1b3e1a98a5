// Llama 3's rotation of a prefill, and its table: what tests of plans start from.
#pragma once

#include "sample.hpp"

namespace sample {

inline RopeRotateDescription llama() {
    static const std::vector<double> kFrequencies = sample::frequencies(500000, 128);
    RopeRotateDescription d = {};
    d.tokens = 4096;
    d.head_dim = 128;
    d.rotation.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    d.q.heads = 32;
    d.k.heads = 8;
    return d;
}

inline RopeTableDescription table(uint32_t rows) {
    RopeTableDescription d = {};
    d.frequencies = llama().rotation.frequencies;
    d.tokens = rows;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    return d;
}

// A prefill whose packed projections go to one cache of float16.
inline RopeFusedDescription llamaToCache() {
    static const std::vector<double> kFrequencies = sample::frequencies(500000, 128);
    RopeFusedDescription d = {};
    d.tokens = 512;
    d.head_dim = 128;
    d.rotation.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    d.out_of_place = 1;
    d.q.heads = 32;
    d.k.heads = d.v.heads = 8;
    d.packed_qkv = 1;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.map_in_positions = 1;
    d.cache.slots = 4096;
    d.cache.page_size = 16;
    d.k.element = d.v.element = ROPE_ELEMENT_F16;
    d.cache.map_offset = 512;
    d.cache.one_buffer = 1;
    d.v.to.offset = 4096 * 8 * 128;
    return d;
}

} // namespace sample
