// Fused passes on the CPU, whole: the bits of the passes that they replace, packed rows, counted tokens, parameters.
#include "plan/description.h"
#include "support/host_pass.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace host_pass;

namespace {

TEST(HostFused, WithNothingBesideItRotatesAsTheRotationItself) {
    RopeFusedDescription d = plain(7);
    d.k.heads = kKeys;
    d.rotation.rotary_begin = 8;
    d.rotation.rotary_dim = 48;
    d.rotation.frequencies.count = 24;
    d.rotation.pairing_out = ROPE_PAIRING_INTERLEAVED;
    d.rotation.skip_first = 2;
    const Outcome r = run(d);
    std::vector<float> q_out(r.q.size()), k_out(r.k.size());
    RopeHostRotate data = {};
    data.q = r.q.data();
    data.k = r.k.data();
    data.q_out = q_out.data();
    data.k_out = k_out.data();
    const RopeRotateDescription turned = rope::rotationOf(d);
    ASSERT_EQ(ropeHostRunRotate(&turned, &data, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(r.q_out, q_out);
    EXPECT_EQ(r.k_out, k_out);
}

TEST(HostFused, WhatNothingIsDoneToMovesBitForBit) {
    RopeFusedDescription d = cached(1, ROPE_CACHE_POSITIONS, 8);
    d.k.heads = 0;
    d.v.heads = 1;
    std::vector<uint32_t> v(kDim), out(8 * kDim, 7);
    for (uint32_t i = 0; i < kDim; ++i) v[i] = 0x7F800001u + i; // NaNs of every kind
    RopeHostFused data = {};
    data.v = v.data();
    data.v_out = out.data();
    ASSERT_EQ(ropeHostRunFused(&d, &data, nullptr), ROPE_SUCCESS);
    EXPECT_TRUE(std::equal(v.begin(), v.end(), out.begin() + 5 * kDim));
    EXPECT_EQ(std::count(out.begin(), out.end(), 7u), 7 * kDim);
}

// Q through one pass, float32 from any element.
template <typename Element> std::vector<float> runQ(const RopeFusedDescription& d, const std::vector<Element>& in) {
    std::vector<float> out(in.size());
    RopeHostFused data = {};
    data.q = in.data();
    data.q_out = out.data();
    RopeReason reason;
    EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    return out;
}

TEST(HostFused, GivesTheBitsOfThePassesThatItReplaces) {
    const std::vector<float> w = weights(kDim);
    const float values[] = {1.25f};
    for (const uint32_t after : {0u, 1u}) {
        RopeFusedDescription all = plain(5);
        all.element = ROPE_ELEMENT_BF16;
        all.q.element = all.k.element = all.v.element = ROPE_ELEMENT_F32;
        all.q.norm = {ROPE_NORM_RMS, 1e-6f, after, 0, 0, 0, 0, w.data(), nullptr, {}, 0, 0, 0, 1};
        all.query_scale = {values, 1, 1, 0};
        RopeFusedDescription norm = plain(5);
        norm.q.no_rotation = norm.k.no_rotation = 1;
        norm.q.norm = all.q.norm;
        RopeFusedDescription scale = plain(5);
        scale.q.no_rotation = scale.k.no_rotation = 1;
        scale.query_scale = all.query_scale;
        const size_t count = 5 * kQueries * kDim;
        const std::vector<float> wide = sample::values(count, 11);
        std::vector<uint16_t> in(count);
        ropeConvertElements(wide.data(), ROPE_ELEMENT_F32, in.data(), ROPE_ELEMENT_BF16, count);
        std::vector<float> x(count);
        ropeConvertElements(in.data(), ROPE_ELEMENT_BF16, x.data(), ROPE_ELEMENT_F32, count);
        x = after != 0 ? runQ(norm, runQ(plain(5), x)) : runQ(plain(5), runQ(norm, x));
        x = runQ(scale, x);
        EXPECT_EQ(runQ(all, in), x);
    }
}

TEST(HostFused, ChangesQInPlace) {
    const std::vector<float> w = weights(kDim);
    for (const RopePairing pairing : {ROPE_PAIRING_HALF, ROPE_PAIRING_INTERLEAVED}) {
        RopeFusedDescription d = plain(3);
        d.rotation.pairing = pairing;
        d.q.norm = {ROPE_NORM_RMS, 0, 1, 1, 0, 0, 1, nullptr, nullptr, {}, 0, 0, 0, 0};
        std::vector<float> q = sample::values(3 * kQueries * kDim, 12);
        const std::vector<float> wanted = runQ(d, q);
        d.out_of_place = 0;
        RopeHostFused data = {};
        data.q = q.data();
        data.q_out = q.data();
        ASSERT_EQ(ropeHostRunFused(&d, &data, nullptr), ROPE_SUCCESS);
        EXPECT_EQ(q, wanted);
    }
}

TEST(HostFused, TakesHeadsOfAnySizeWhereNothingIsNormed) {
    const std::vector<double> frequencies = sample::frequencies(10000, 2050);
    RopeFusedDescription d = plain(1);
    d.head_dim = 2051;
    d.rotation.rotary_dim = 2050;
    d.q.heads = 2;
    d.rotation.frequencies = {frequencies.data(), 1025, 1, nullptr, 1};
    const std::vector<float> q = sample::values(2 * 2051, 13);
    std::vector<float> wanted(q.size());
    RopeHostRotate data = {};
    data.q = q.data();
    data.q_out = wanted.data();
    const RopeRotateDescription turned = rope::rotationOf(d);
    ASSERT_EQ(ropeHostRunRotate(&turned, &data, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(runQ(d, q), wanted);
}

TEST(HostFused, TokensBeyondTheCountAreNeitherTouchedNorCounted) {
    for (const int32_t count : {-1, 0, 2, 9}) {
        const std::vector<int32_t> all = {1, 2, -5, -6, 7, count};
        RopeFusedDescription d = cached(4, ROPE_CACHE_POSITIONS, 16);
        d.q.heads = kQueries;
        d.positions = {};
        d.tokens_counted = 1;
        d.tokens_offset = 5;
        const Outcome r = run(d, all.data(), 16 * kKeys * kDim);
        const size_t taken = static_cast<size_t>(std::min(std::max(count, 0), 4));
        EXPECT_EQ(r.outside, count == 9 ? 2u : 0u);
        for (size_t e = 0; e < r.q_out.size(); ++e)
            ASSERT_EQ(r.q_out[e] != kUntouched, e < taken * kQueries * kDim) << e;
    }
}

TEST(HostFused, PackedRowsHoldQKAndV) {
    RopeFusedDescription d = cached(2, ROPE_CACHE_POSITIONS, 8);
    d.q.heads = kQueries;
    d.packed_qkv = 1;
    d.q.no_rotation = d.k.no_rotation = 1;
    d.cache.one_buffer = 1;
    d.v.to.offset = 8 * kKeys * kDim;
    constexpr uint32_t kRow = (kQueries + 2 * kKeys) * kDim;
    const std::vector<float> rows = sample::values(2 * kRow, 6);
    std::vector<float> q_out(2 * kQueries * kDim), k_out(2 * 8 * kKeys * kDim);
    RopeHostFused data = {};
    data.q = rows.data();
    data.q_out = q_out.data();
    data.k_out = k_out.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    for (uint32_t t = 0; t < 2; ++t) {
        const float* row = &rows[t * kRow];
        EXPECT_TRUE(std::equal(row, row + kQueries * kDim, &q_out[t * kQueries * kDim]));
        const float* k = row + kQueries * kDim;
        const float* v = k + kKeys * kDim;
        EXPECT_TRUE(std::equal(k, v, &k_out[(5 + t) * kKeys * kDim]));
        EXPECT_TRUE(std::equal(v, v + kKeys * kDim, &k_out[(8 + 5 + t) * kKeys * kDim]));
    }
}

TEST(HostFused, ParametersAreWeightsAndScalesPaddedToFour) {
    const std::vector<float> w = weights(kDim * kKeys);
    const float values[] = {1, 2, 3, 4, 5};
    RopeFusedDescription d = cached(1, ROPE_CACHE_POSITIONS, 8);
    d.q.heads = kQueries;
    d.q.norm = {ROPE_NORM_RMS, 0, 0, 0, 0, 0, 0, w.data(), nullptr, {}, 0, 0, 0, 0};
    d.k.norm = {ROPE_NORM_RMS, 0, 0, 1, 0, 0, 0, w.data(), nullptr, {}, 0, 0, 0, 0};
    d.query_scale = {values, 5, 1, 0};
    std::vector<float> got(kDim + kDim * kKeys + 8 + 1, kUntouched);
    std::vector<float> wanted = {1, 2, 3, 4, 5, 0, 0, 0};
    wanted.insert(wanted.end(), w.begin(), w.begin() + kDim);
    wanted.insert(wanted.end(), w.begin(), w.end());
    wanted.push_back(kUntouched);
    ASSERT_EQ(ropeWriteParameters(&d, got.data(), nullptr), ROPE_SUCCESS);
    EXPECT_EQ(got, wanted);
}

} // namespace
