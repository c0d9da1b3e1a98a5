#include "host_pass.hpp"
#include "sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace host_pass {

RopeFusedDescription plain(uint32_t tokens) {
    static const std::vector<double> kFrequencies = sample::frequencies(10000, kDim);
    RopeFusedDescription d = {};
    d.tokens = tokens;
    d.head_dim = kDim;
    d.rotation.frequencies = {kFrequencies.data(), kDim / 2, 1, nullptr, 1};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = 5;
    d.q.heads = kQueries;
    d.out_of_place = 1;
    return d;
}

RopeFusedDescription cached(uint32_t tokens, RopeCacheKind kind, uint32_t slots) {
    RopeFusedDescription d = plain(tokens);
    d.q.heads = 0;
    d.k.heads = d.v.heads = kKeys;
    d.cache.kind = kind;
    d.cache.map_in_positions = 1;
    d.cache.slots = slots;
    return d;
}

Outcome run(const RopeFusedDescription& d, const void* positions, size_t cache_elements) {
    Outcome r;
    const size_t tokens = size_t{d.tokens} * std::max(d.batch, 1u);
    r.q = sample::values(tokens * kQueries * kDim, 1);
    r.k = sample::values(tokens * kKeys * kDim, 2);
    r.v = sample::values(tokens * kKeys * kDim, 3);
    const size_t keys = cache_elements != 0 ? cache_elements : r.k.size();
    r.q_out.assign(r.q.size(), kUntouched);
    r.k_out.assign(keys, kUntouched);
    r.v_out = r.k_out;
    r.reference_q.assign(r.q.size(), kUntouched);
    r.reference_k.assign(keys, kUntouched);
    r.reference_v = r.reference_k;
    RopeHostFused data = {};
    data.positions = positions;
    data.q = r.q.data();
    data.k = r.k.data();
    data.v = r.v.data();
    data.q_out = r.q_out.data();
    data.k_out = r.k_out.data();
    data.v_out = r.v_out.data();
    data.reference_q = r.reference_q.data();
    data.reference_k = r.reference_k.data();
    data.reference_v = r.reference_v.data();
    RopeReason reason;
    EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    r.outside = data.outside;
    return r;
}

Head headOf(const std::vector<float>& values, size_t head) {
    return Head(values.begin() + static_cast<long>(head * kDim), values.begin() + static_cast<long>((head + 1) * kDim));
}

void turn(Head* x, double position) {
    for (uint32_t i = 0; i < kDim / 2; ++i) {
        const double angle = position * std::pow(10000.0, -2.0 * i / kDim);
        const double first = (*x)[i];
        const double second = (*x)[i + kDim / 2];
        (*x)[i] = first * std::cos(angle) - second * std::sin(angle);
        (*x)[i + kDim / 2] = first * std::sin(angle) + second * std::cos(angle);
    }
}

void expectHead(const Head& wanted, const std::vector<float>& bits, const std::vector<double>& reference, size_t at) {
    double length = 0;
    for (const double one : wanted) length = std::max(length, std::fabs(one));
    for (uint32_t i = 0; i < kDim; ++i) {
        ASSERT_NEAR(reference[at + i], wanted[i], 1e-12 * length) << at + i;
        ASSERT_NEAR(bits[at + i], wanted[i], 1e-6 * length) << at + i;
    }
}

std::vector<float> weights(size_t count) {
    std::vector<float> all = sample::values(count, 9);
    for (float& one : all) one += 1;
    return all;
}

} // namespace host_pass
