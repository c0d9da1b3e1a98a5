// Fused passes on the CPU against plain code of their own in double, and what is refused and in which words.
#include "rope.h"
#include "sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kDim = 64;
constexpr uint32_t kQueries = 4; // heads
constexpr uint32_t kKeys = 2;

// Floats elsewhere, positions 5, 6, ...
RopeFusedDescription plain(uint32_t tokens) {
    static const std::vector<double> kFrequencies = sample::frequencies(10000, kDim);
    RopeFusedDescription d = {};
    d.rotate.tokens = tokens;
    d.rotate.head_dim = kDim;
    d.rotate.frequencies = {kFrequencies.data(), kDim / 2, 1, nullptr, 1};
    d.rotate.positions.kind = ROPE_POSITIONS_COUNTED;
    d.rotate.positions.first = 5;
    d.rotate.q.heads = kQueries;
    d.rotate.elsewhere = 1;
    return d;
}

// K and V to a cache of float32.
RopeFusedDescription cached(uint32_t tokens, RopeCacheKind kind, uint32_t slots) {
    RopeFusedDescription d = plain(tokens);
    d.rotate.q.heads = 0;
    d.rotate.k.heads = d.v.heads = kKeys;
    d.cache.kind = kind;
    d.cache.slots = slots;
    return d;
}

// What one run gave; untouched elements stay at kUntouched.
constexpr float kUntouched = -77;
struct Outcome {
    std::vector<float> q, k, v; // inputs
    std::vector<float> q_out, k_out, v_out;
    std::vector<double> reference_q, reference_k, reference_v;
    uint32_t outside = 0;
};

Outcome run(const RopeFusedDescription& d, const void* positions = nullptr, size_t cache_elements = 0) {
    Outcome r;
    const size_t tokens = size_t{d.rotate.tokens} * std::max(d.rotate.batch, 1u);
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

// ---- The same in plain double

using Head = std::vector<double>;

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

double sumOfSquares(const Head& x) {
    double sum = 0;
    for (const double one : x) sum += one * one;
    return sum;
}

void scaleBy(Head* x, double factor, const float* weights, double offset) {
    for (uint32_t i = 0; i < kDim; ++i) (*x)[i] *= factor * (weights != nullptr ? weights[i] + offset : 1.0);
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

TEST(HostFused, RmsNormStandsBeforeTheRotationAsInQwen3) {
    const std::vector<float> w = weights(kDim);
    RopeFusedDescription d = plain(3);
    d.q_norm = {ROPE_NORM_RMS, 0, 0, 1e-3f, w.data(), 0};
    const Outcome r = run(d);
    for (size_t head = 0; head < 3 * kQueries; ++head) {
        Head x = headOf(r.q, head);
        scaleBy(&x, 1 / std::sqrt(sumOfSquares(x) / kDim + double{1e-3f}), w.data(), 0);
        turn(&x, 5.0 + static_cast<double>(head / kQueries));
        expectHead(x, r.q_out, r.reference_q, head * kDim);
    }
}

TEST(HostFused, WeightsAreAddedToOneAsInGemma) {
    const std::vector<float> w = weights(kDim);
    RopeFusedDescription d = plain(2);
    d.rotate.k.heads = kKeys;
    d.k_norm = {ROPE_NORM_RMS, 0, 0, 1e-6f, w.data(), 1};
    const Outcome r = run(d);
    for (size_t head = 0; head < 2 * kKeys; ++head) {
        Head x = headOf(r.k, head);
        scaleBy(&x, 1 / std::sqrt(sumOfSquares(x) / kDim + double{1e-6f}), w.data(), 1);
        turn(&x, 5.0 + static_cast<double>(head / kKeys));
        expectHead(x, r.k_out, r.reference_k, head * kDim);
    }
    Head unnormed = headOf(r.q, 0); // Q has none
    turn(&unnormed, 5);
    expectHead(unnormed, r.q_out, r.reference_q, 0);
}

TEST(HostFused, NormsStandBehindTheRotationAsInHunYuan) {
    const std::vector<float> w = weights(kDim);
    for (const RopeNormKind kind : {ROPE_NORM_RMS, ROPE_NORM_L2}) {
        RopeFusedDescription d = plain(2);
        d.q_norm = {kind, 1, 0, 0.5f, w.data(), 0};
        const Outcome r = run(d);
        for (size_t head = 0; head < 2 * kQueries; ++head) {
            Head x = headOf(r.q, head);
            turn(&x, 5.0 + static_cast<double>(head / kQueries));
            const double sum = sumOfSquares(x);
            scaleBy(&x, 1 / std::sqrt((kind == ROPE_NORM_L2 ? sum : sum / kDim) + 0.5), w.data(), 0);
            expectHead(x, r.q_out, r.reference_q, head * kDim);
        }
    }
}

TEST(HostFused, AllHeadsAreNormedTogetherAsInOlmo2) {
    const std::vector<float> w = weights(kDim * kQueries);
    for (const uint32_t after : {0u, 1u}) {
        RopeFusedDescription d = plain(2);
        d.q_norm = {ROPE_NORM_RMS, after, 1, 1e-5f, w.data(), 0};
        const Outcome r = run(d);
        for (size_t token = 0; token < 2; ++token) {
            double sum = 0; // a rotation leaves it
            for (size_t h = 0; h < kQueries; ++h) sum += sumOfSquares(headOf(r.q, token * kQueries + h));
            const double factor = 1 / std::sqrt(sum / (kDim * kQueries) + double{1e-5f});
            for (size_t h = 0; h < kQueries; ++h) {
                Head x = headOf(r.q, token * kQueries + h);
                if (after != 0) turn(&x, 5.0 + static_cast<double>(token));
                scaleBy(&x, factor, &w[h * kDim], 0);
                if (after == 0) turn(&x, 5.0 + static_cast<double>(token));
                expectHead(x, r.q_out, r.reference_q, (token * kQueries + h) * kDim);
            }
        }
    }
}

// What rope.h says about the order and the roundings, in its own words.
TEST(HostFused, NormsRoundInThePromisedOrder) {
    constexpr uint32_t kTokens = 64;
    const std::vector<float> w = weights(kDim * kQueries);
    for (const uint32_t all_heads : {0u, 1u}) {
        RopeFusedDescription d = plain(kTokens);
        d.unturned = 1;
        d.q_norm = {ROPE_NORM_RMS, 0, all_heads, 1e-3f, w.data(), 0.25f};
        const Outcome r = run(d);
        const uint32_t together = all_heads != 0 ? kQueries : 1;
        for (uint32_t first = 0; first < kTokens * kQueries; first += together) {
            volatile float sum = 0;
            for (uint32_t h = first; h < first + together; ++h) {
                volatile float t[4] = {};
                for (uint32_t i = 0; i < kDim; i += 4) {
                    const float* x = &r.q[h * kDim + i];
                    const volatile float a = x[0] * x[0], b = x[1] * x[1], c = x[2] * x[2], e = x[3] * x[3];
                    const volatile float ab = a + b, ce = c + e;
                    const volatile float run_of_four = ab + ce;
                    t[i / 4 % 4] = t[i / 4 % 4] + run_of_four;
                }
                const volatile float low = t[0] + t[1], high = t[2] + t[3];
                sum = sum + (low + high);
            }
            const volatile float mean = sum * static_cast<float>(1.0 / (together * kDim));
            const volatile float shifted = mean + 1e-3f;
            const float factor = static_cast<float>(1 / std::sqrt(static_cast<double>(shifted)));
            for (uint32_t e = first * kDim; e < (first + together) * kDim; ++e) {
                const volatile float normed = r.q[e] * factor;
                const volatile float weight = w[e % (together * kDim)] + 0.25f;
                const volatile float wanted = normed * weight;
                ASSERT_EQ(r.q_out[e], wanted) << e;
            }
        }
    }
}

TEST(HostFused, WithNothingBesideItRotatesAsTheRotationItself) {
    RopeFusedDescription d = plain(7);
    d.rotate.k.heads = kKeys;
    d.rotate.rotary_begin = 8;
    d.rotate.rotary_dim = 48;
    d.rotate.frequencies.count = 24;
    d.rotate.pairing_out = ROPE_PAIRING_INTERLEAVED;
    d.rotate.skip_first = 2;
    const Outcome r = run(d);
    std::vector<float> q_out(r.q.size()), k_out(r.k.size());
    RopeHostRotate data = {};
    data.q = r.q.data();
    data.k = r.k.data();
    data.q_out = q_out.data();
    data.k_out = k_out.data();
    ASSERT_EQ(ropeHostRunRotate(&d.rotate, &data, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(r.q_out, q_out);
    EXPECT_EQ(r.k_out, k_out);
}

TEST(HostFused, WhatNothingIsDoneToMovesBitForBit) {
    RopeFusedDescription d = cached(1, ROPE_CACHE_POSITIONS, 8);
    d.rotate.k.heads = 0;
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

TEST(HostFused, TokensWithoutATurnAreStillNormedInTheOutputsPairing) {
    RopeFusedDescription d = plain(2);
    d.rotate.pairing_out = ROPE_PAIRING_INTERLEAVED;
    d.rotate.skip_first = 1;
    d.q_norm = {ROPE_NORM_L2, 1, 0, 0, nullptr, 0};
    const Outcome r = run(d);
    const Head x = headOf(r.q, 0);
    const double length = std::sqrt(sumOfSquares(x));
    for (uint32_t i = 0; i < kDim / 2; ++i) {
        EXPECT_NEAR(r.reference_q[2 * i], x[i] / length, 1e-12);
        EXPECT_NEAR(r.reference_q[2 * i + 1], x[i + kDim / 2] / length, 1e-12);
    }
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
        all.rotate.element_in = ROPE_ELEMENT_BF16;
        all.rotate.element_out = ROPE_ELEMENT_F32;
        all.q_norm = {ROPE_NORM_RMS, after, 0, 1e-6f, w.data(), 1};
        all.query_scale = {values, 1, 1, 0};
        RopeFusedDescription norm = plain(5);
        norm.unturned = 1;
        norm.q_norm = all.q_norm;
        RopeFusedDescription scale = plain(5);
        scale.unturned = 1;
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
        d.rotate.pairing_in = pairing;
        d.q_norm = {ROPE_NORM_RMS, 1, 1, 0, nullptr, 0};
        std::vector<float> q = sample::values(3 * kQueries * kDim, 12);
        const std::vector<float> wanted = runQ(d, q);
        d.rotate.elsewhere = 0;
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
    d.rotate.head_dim = 2051;
    d.rotate.rotary_dim = 2050;
    d.rotate.q.heads = 2;
    d.rotate.frequencies = {frequencies.data(), 1025, 1, nullptr, 1};
    const std::vector<float> q = sample::values(2 * 2051, 13);
    std::vector<float> wanted(q.size());
    RopeHostRotate data = {};
    data.q = q.data();
    data.q_out = wanted.data();
    ASSERT_EQ(ropeHostRunRotate(&d.rotate, &data, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(runQ(d, q), wanted);
}

// ---- Quantizers

// llama.cpp's quantize_row_q8_0_ref, of one block.
void quantizeAsLlama(const float* x, uint8_t* block) {
    float amax = 0;
    for (int i = 0; i < 32; ++i) amax = std::max(amax, std::fabs(x[i]));
    const float d = amax / 127;
    const float id = d != 0 ? 1.0f / d : 0.0f;
    ropeConvertElements(&d, ROPE_ELEMENT_F32, block, ROPE_ELEMENT_F16, 1);
    for (int i = 0; i < 32; ++i) {
        const float scaled = x[i] * id;
        block[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(scaled)));
    }
}

TEST(HostFused, BlocksOfQ8AreLlamaCpps) {
    constexpr uint32_t kTokens = 50;
    RopeFusedDescription d = cached(kTokens, ROPE_CACHE_POSITIONS, 64);
    d.rotate.k.heads = 0;
    d.cache.element = ROPE_ELEMENT_Q8_0;
    std::vector<float> v = sample::values(kTokens * kKeys * kDim, 4);
    sample::Random random(8);
    for (size_t i = 0; i < v.size(); i += 32) { // of all sizes, some of zeros, some with halves
        const float size = std::ldexp(1.0f, static_cast<int>(random.below(40)) - 30);
        const uint32_t kind = random.below(4);
        for (size_t j = i; j < i + 32; ++j) v[j] = kind == 0 ? 0 : kind == 1 ? std::floor(v[j] * 100) / 2 : v[j] * size;
        if (kind == 1) v[i] = 127;
    }
    std::vector<uint8_t> out(64 * kKeys * kDim / 32 * 34, 0xEE);
    std::vector<double> reference(64 * kKeys * kDim);
    RopeHostFused data = {};
    data.v = v.data();
    data.v_out = out.data();
    data.reference_v = reference.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    for (size_t block = 0; block < v.size() / 32; ++block) {
        const size_t place = 5 * kKeys * kDim / 32 + block; // slots go by position
        uint8_t wanted[34];
        quantizeAsLlama(&v[block * 32], wanted);
        ASSERT_EQ(std::memcmp(wanted, &out[place * 34], 34), 0) << block;
        ASSERT_EQ(reference[place * 32 + 7], v[block * 32 + 7]);
    }
    EXPECT_EQ(out[5 * kKeys * kDim / 32 * 34 - 1], 0xEE);
    EXPECT_EQ(out[55 * kKeys * kDim / 32 * 34], 0xEE);
}

TEST(HostFused, Int8HasAScaleForEachSlotAndHead) {
    RopeFusedDescription d = cached(3, ROPE_CACHE_POSITIONS, 16);
    d.rotate.k.heads = 0;
    d.cache.element = ROPE_ELEMENT_I8;
    d.cache.order = ROPE_CACHE_HND;
    d.cache.v_scales.offset = 16 * kKeys * kDim / 4;
    std::vector<float> v = sample::values(3 * kKeys * kDim, 5);
    std::vector<int8_t> out(16 * kKeys * (kDim + 4), 99);
    RopeHostFused data = {};
    data.v = v.data();
    data.v_out = out.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    for (size_t head = 0; head < 3 * kKeys; ++head) {
        const float* x = &v[head * kDim];
        float amax = 0;
        for (uint32_t i = 0; i < kDim; ++i) amax = std::max(amax, std::fabs(x[i]));
        const size_t slot = head % kKeys * 16 + 5 + head / kKeys;
        float scale;
        std::memcpy(&scale, &out[16 * kKeys * kDim + slot * 4], 4);
        EXPECT_EQ(scale, amax / 127);
        const float inverse = 1 / scale;
        for (uint32_t i = 0; i < kDim; ++i) {
            const float scaled = x[i] * inverse;
            ASSERT_EQ(out[slot * kDim + i], static_cast<int8_t>(std::round(scaled))) << head << " " << i;
        }
    }
    EXPECT_EQ(std::count(out.begin(), out.begin() + 5 * kDim, 99), 5 * kDim);
}

// ---- The scale of queries

TEST(HostFused, QueryScalesAreBothModelsFormula) {
    for (const double beta : {0.1, -0.25, 1.0, 1048576.0, 0.0}) {
        std::vector<float> values(3000);
        ASSERT_EQ(ropeMakeQueryScale(beta, 3000, values.data(), nullptr), ROPE_SUCCESS);
        EXPECT_EQ(values[0], 1.0f);
        for (size_t i = 0; i < values.size(); ++i) {
            const double truth = 1 + beta * std::log(1.0 + static_cast<double>(i));
            const double ulp = std::ldexp(1.0, std::ilogb(truth) - 23);
            ASSERT_NEAR(values[i], truth, 0.5000001 * ulp + 1e-15 * std::fabs(beta) * 8) << beta << " " << i;
        }
    }
}

TEST(HostFused, QueriesAreScaledByTheirPositions) {
    std::vector<float> values(4);
    ASSERT_EQ(ropeMakeQueryScale(0.1, 4, values.data(), nullptr), ROPE_SUCCESS);
    const std::vector<int32_t> positions = {-3, 0, 8190, 8191, 16382, 16383, 40000, INT32_MAX, INT32_MIN};
    for (const uint32_t offset : {0u, 1u}) {
        RopeFusedDescription d = plain(static_cast<uint32_t>(positions.size()));
        d.unturned = 1;
        d.rotate.positions = {};
        d.query_scale = {values.data(), 4, 8192, offset};
        const Outcome r = run(d, positions.data());
        for (size_t t = 0; t < positions.size(); ++t) {
            const double p = std::max<double>(positions[t], 0);
            const double step = std::min(std::floor((p + offset) / 8192.0), 3.0);
            const double scale = 0.1 * std::log(step + 1) + 1;
            for (size_t e = t * kQueries * kDim; e < (t + 1) * kQueries * kDim; ++e)
                ASSERT_NEAR(r.q_out[e], r.q[e] * scale, 3e-7) << positions[t];
        }
    }
}

TEST(HostFused, QueriesWithoutAPositionTakeTheFirstScale) {
    const float values[] = {3, 5};
    const int64_t positions[] = {1, (int64_t{1} << 40) + 1};
    RopeFusedDescription d = plain(2);
    d.unturned = 1;
    d.rotate.positions = {};
    d.rotate.positions.element = ROPE_POSITION_INT64;
    d.query_scale = {values, 2, 1, 0};
    const Outcome r = run(d, positions);
    EXPECT_EQ(r.q_out[0], r.q[0] * 5);
    EXPECT_EQ(r.q_out.back(), r.q.back() * 3);
}

// ---- Caches

// Where each token's K lies: -1 for nowhere.
void expectSlots(const RopeFusedDescription& d, const Outcome& r, const std::vector<int64_t>& slots) {
    std::vector<float> wanted(r.v_out.size(), kUntouched);
    for (size_t t = 0; t < slots.size(); ++t) {
        for (size_t h = 0; h < kKeys && slots[t] >= 0; ++h) {
            const size_t slot = static_cast<size_t>(slots[t]);
            const size_t size = d.cache.page_size != 0 ? d.cache.page_size : d.cache.slots;
            const size_t to =
                d.cache.order == ROPE_CACHE_NHD ? slot * kKeys + h : (slot / size * kKeys + h) * size + slot % size;
            std::copy_n(r.v.begin() + static_cast<long>((t * kKeys + h) * kDim), kDim,
                        wanted.begin() + static_cast<long>(to * kDim));
        }
    }
    EXPECT_EQ(r.v_out, wanted);
    for (size_t e = 0; e < wanted.size(); ++e) { // K goes where V does
        ASSERT_EQ(r.k_out[e] == kUntouched, wanted[e] == kUntouched) << e;
    }
}

TEST(HostFused, SlotsAreTakenAsGivenAndMinusOneSkips) {
    for (const RopeCacheOrder order : {ROPE_CACHE_NHD, ROPE_CACHE_HND}) {
        const std::vector<int64_t> steps = {99, 3, -1, 0, 11, 12, -2, int64_t{1} << 32};
        RopeFusedDescription d = cached(7, ROPE_CACHE_SLOTS, 12);
        d.cache.order = order;
        d.cache.page_size = 4;
        d.cache.steps_element = ROPE_POSITION_INT64;
        d.cache.steps_offset = 1;
        const Outcome r = run(d, steps.data(), 12 * kKeys * kDim);
        expectSlots(d, r, {3, -1, 0, 11, -1, -1, -1});
        EXPECT_EQ(r.outside, 3u);
    }
}

TEST(HostFused, KeysInTheCacheAreTurnedByTheirPosition) {
    RopeFusedDescription d = cached(4, ROPE_CACHE_POSITIONS, 16);
    const Outcome r = run(d, nullptr, 16 * kKeys * kDim);
    for (size_t head = 0; head < 4 * kKeys; ++head) {
        Head x = headOf(r.k, head);
        turn(&x, 5.0 + static_cast<double>(head / kKeys));
        expectHead(x, r.k_out, r.reference_k, (5 * kKeys + head) * kDim);
    }
}

TEST(HostFused, APositionIsASlotOrIsCounted) {
    const std::vector<int32_t> positions = {3, -1, 15, 16, INT32_MIN};
    RopeFusedDescription d = cached(5, ROPE_CACHE_POSITIONS, 16);
    d.rotate.positions = {};
    const Outcome r = run(d, positions.data(), 16 * kKeys * kDim);
    expectSlots(d, r, {3, -1, 15, -1, -1});
    EXPECT_EQ(r.outside, 3u);
}

TEST(HostFused, EverySequenceHasACacheOfItsOwn) {
    RopeFusedDescription d = cached(2, ROPE_CACHE_POSITIONS, 8);
    d.rotate.batch = 2;
    const Outcome r = run(d, nullptr, 2 * 8 * kKeys * kDim);
    expectSlots(d, r, {5, 6, 13, 14});
}

TEST(HostFused, ARingTakesPositionsModuloItsSlots) {
    const std::vector<int32_t> positions = {7, 8, 18, -16, INT32_MAX - 2};
    RopeFusedDescription d = cached(5, ROPE_CACHE_RING, 8);
    d.rotate.positions = {};
    const Outcome r = run(d, positions.data(), 8 * kKeys * kDim);
    expectSlots(d, r, {7, 0, 2, -1, 5});
    EXPECT_EQ(r.outside, 1u);
}

TEST(HostFused, ABlockTableNamesThePage) {
    for (const RopeCacheOrder order : {ROPE_CACHE_NHD, ROPE_CACHE_HND}) {
        // Positions of two tokens for each of two sequences, then a table of three pages for each.
        const std::vector<int32_t> all = {0, 12, 9, 5, 2, 0, 9, 1, 0, -1};
        RopeFusedDescription d = cached(2, ROPE_CACHE_BLOCK_TABLE, 16);
        d.rotate.batch = 2;
        d.rotate.positions = {};
        d.cache.order = order;
        d.cache.page_size = 4;
        d.cache.table_pages = 3;
        d.cache.steps_offset = 4;
        const Outcome r = run(d, all.data(), 16 * kKeys * kDim);
        expectSlots(d, r, {8, -1, -1, 1}); // position 12 is beyond the table, and entry -1 is no page
        EXPECT_EQ(r.outside, 2u);
    }
}

TEST(HostFused, PackedSequencesHaveTheirRowsOfTheTable) {
    // Lengths of two sequences that leave the last token out, then a table of two pages for each.
    const std::vector<int32_t> all = {0, 3, 5, 1, 0, 3, 2};
    RopeFusedDescription d = cached(6, ROPE_CACHE_BLOCK_TABLE, 8);
    d.rotate.positions = {};
    d.rotate.positions.kind = ROPE_POSITIONS_PACKED;
    d.rotate.positions.sequences = 2;
    d.cache.page_size = 2;
    d.cache.table_pages = 2;
    d.cache.steps_offset = 3;
    const Outcome r = run(d, all.data(), 8 * kKeys * kDim);
    expectSlots(d, r, {2, 3, 0, 6, 7, -1});
    EXPECT_EQ(r.outside, 0u);
}

TEST(HostFused, RowsByTokenTurnQueriesWithoutAPosition) {
    const float values[] = {2, 3};
    const std::vector<float> rows(kDim, 1.0f);
    const int64_t position = int64_t{1} << 40;
    RopeFusedDescription d = plain(1);
    d.rotate.source = ROPE_SOURCE_ROWS;
    d.rotate.frequencies.values = nullptr;
    d.rotate.positions = {};
    d.rotate.positions.element = ROPE_POSITION_INT64;
    d.query_scale = {values, 2, 1, 0};
    const std::vector<float> q = sample::values(kQueries * kDim, 1);
    std::vector<float> out(q.size());
    RopeHostFused data = {};
    data.positions = &position;
    data.rows = rows.data();
    data.q = q.data();
    data.q_out = out.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    EXPECT_EQ(out[0], 2 * (q[0] - q[kDim / 2]));
    EXPECT_EQ(data.outside, 0u);
}

// The buffer may then hold nothing else.
TEST(HostFused, ReadsNoPositionsThatItDoesNotNeed) {
    const std::vector<int32_t> slots = {1, 0};
    for (const bool by_delta : {false, true}) {
        RopeFusedDescription d = cached(2, ROPE_CACHE_SLOTS, 2);
        d.rotate.positions = {};
        d.rotate.positions.offset = 1 << 20;
        if (by_delta) {
            d.v.heads = 0;
            d.rotate.operation = ROPE_OPERATION_SHIFT;
            d.cache.shift = 1;
            d.cache.delta = 4;
        } else {
            d.unturned = 1;
        }
        run(d, slots.data(), 2 * kKeys * kDim);
    }
}

// Three axes and two sets: the slot goes by axis 0 alone, whatever the others say.
TEST(HostFused, SlotsGoByTheFirstAxis) {
    std::vector<uint8_t> axes(kDim / 2);
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = i % 3;
    std::vector<double> frequencies = sample::frequencies(10000, kDim);
    frequencies.resize(kDim, 0.0); // the second set does not turn
    constexpr int64_t kNone = int64_t{1} << 40;
    const std::vector<int64_t> all = {2, 4, 6, kNone, 9, kNone, 9, 9, 9, 9, 9, 9, 1, 0, 5, 1};
    RopeFusedDescription d = cached(4, ROPE_CACHE_POSITIONS, 8);
    d.rotate.positions = {};
    d.rotate.positions.element = ROPE_POSITION_INT64;
    d.rotate.frequencies = {frequencies.data(), kDim / 2, 1, axes.data(), 2};
    const Outcome r = run(d, all.data(), 8 * kKeys * kDim);
    expectSlots(d, r, {2, 4, 6, -1});
    EXPECT_EQ(r.outside, 3u); // the second has no position on axis 1, the third no set, the last no slot
    const size_t slot = kKeys * kDim;
    for (size_t t = 0; t < 3; ++t) { // none of them turns
        EXPECT_TRUE(std::equal(&r.k[t * slot], &r.k[t * slot] + slot, &r.k_out[(2 + 2 * t) * slot])) << t;
    }
}

TEST(HostFused, RowsByTokenStillLeaveSlotsToPositions) {
    RopeFusedDescription d = cached(2, ROPE_CACHE_RING, 4);
    d.rotate.source = ROPE_SOURCE_ROWS;
    d.rotate.frequencies.values = nullptr;
    std::vector<float> rows(2 * kDim, 0.0f); // a quarter turn
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = i % kDim < kDim / 2 ? 0.0f : 1.0f;
    const std::vector<float> k = sample::values(2 * kKeys * kDim, 2);
    std::vector<float> out(4 * kKeys * kDim, kUntouched), v_out = out;
    RopeHostFused data = {};
    data.rows = rows.data();
    data.k = data.v = k.data();
    data.k_out = out.data();
    data.v_out = v_out.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    for (size_t t = 0; t < 2; ++t) {
        EXPECT_EQ(out[(t + 1) * kKeys * kDim], -k[t * kKeys * kDim + kDim / 2]); // positions 5 and 6
        EXPECT_EQ(v_out[(t + 1) * kKeys * kDim], k[t * kKeys * kDim]);
    }
    EXPECT_EQ(std::count(out.begin(), out.end(), kUntouched), 2 * kKeys * kDim);
}

TEST(HostFused, PackedSequencesHaveTheirCaches) {
    const std::vector<int32_t> lengths = {0, 3, 5};
    RopeFusedDescription d = cached(5, ROPE_CACHE_POSITIONS, 4);
    d.rotate.positions = {};
    d.rotate.positions.kind = ROPE_POSITIONS_PACKED;
    d.rotate.positions.sequences = 2;
    const Outcome r = run(d, lengths.data(), 2 * 4 * kKeys * kDim);
    expectSlots(d, r, {0, 1, 2, 4, 5});
}

TEST(HostFused, ATokenOfNoSequenceHasNoSlot) {
    const std::vector<int32_t> all = {0, 2, 3, 2, 1}; // the length of one sequence, then slots
    RopeFusedDescription d = cached(3, ROPE_CACHE_SLOTS, 4);
    d.unturned = 1;
    d.rotate.positions = {};
    d.rotate.positions.kind = ROPE_POSITIONS_PACKED;
    d.rotate.positions.sequences = 1;
    d.cache.steps_offset = 2;
    const Outcome r = run(d, all.data(), 4 * kKeys * kDim);
    expectSlots(d, r, {3, 2, -1});
    EXPECT_EQ(r.outside, 0u);
}

TEST(HostFused, ATokenIsCountedOnce) {
    const std::vector<int32_t> positions = {1, 50, 100};
    RopeFusedDescription d = cached(3, ROPE_CACHE_POSITIONS, 10);
    d.rotate.positions = {};
    d.rotate.source = ROPE_SOURCE_TABLE;
    d.rotate.rows.count = 60;
    const Outcome r = run(d, positions.data(), 10 * kKeys * kDim);
    EXPECT_EQ(r.outside, 2u); // 50 has no slot, 100 no row either
}

TEST(HostFused, TokensBeyondTheCountAreNeitherTouchedNorCounted) {
    for (const int32_t count : {-1, 0, 2, 9}) {
        const std::vector<int32_t> all = {1, 2, -5, -6, 7, count};
        RopeFusedDescription d = cached(4, ROPE_CACHE_POSITIONS, 16);
        d.rotate.q.heads = kQueries;
        d.rotate.positions = {};
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
    d.rotate.q.heads = kQueries;
    d.packed = 1;
    d.unturned = 1;
    d.cache.together = 1;
    d.cache.v.offset = 8 * kKeys * kDim;
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

TEST(HostFused, AShiftTurnsKeysWhereTheyLie) {
    for (const int32_t delta : {-3, 0}) {
        const std::vector<int32_t> all = {10, 20, 4, 6}; // positions, then slots
        RopeFusedDescription d = cached(2, ROPE_CACHE_SLOTS, 8);
        d.v.heads = 0;
        d.rotate.positions = {};
        d.rotate.operation = ROPE_OPERATION_SHIFT;
        d.rotate.frequencies.scale = 1.5; // a shift has none
        d.cache.steps_offset = 2;
        d.cache.shift = 1;
        d.cache.delta = delta;
        const std::vector<float> before = sample::values(8 * kKeys * kDim, 7);
        std::vector<float> k = before;
        std::vector<double> reference(k.size());
        RopeHostFused data = {};
        data.positions = all.data();
        data.k_out = k.data();
        data.reference_k = reference.data();
        RopeReason reason;
        ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
        for (size_t head = 0; head < 8 * kKeys; ++head) {
            const size_t slot = head / kKeys;
            Head x = headOf(before, head);
            if (slot != 4 && slot != 6) {
                EXPECT_EQ(headOf(k, head), x);
                continue;
            }
            turn(&x, delta != 0 ? delta : slot == 4 ? 10 : 20);
            expectHead(x, k, reference, head * kDim);
        }
    }
}

TEST(HostFused, ParametersAreWeightsAndScalesPaddedToFour) {
    const std::vector<float> w = weights(kDim * kKeys);
    const float values[] = {1, 2, 3, 4, 5};
    RopeFusedDescription d = cached(1, ROPE_CACHE_POSITIONS, 8);
    d.rotate.q.heads = kQueries;
    d.q_norm = {ROPE_NORM_RMS, 0, 0, 0, w.data(), 0};
    d.k_norm = {ROPE_NORM_RMS, 0, 1, 0, w.data(), 0};
    d.query_scale = {values, 5, 1, 0};
    std::vector<float> got(kDim + kDim * kKeys + 8 + 1, kUntouched);
    std::vector<float> wanted(w.begin(), w.begin() + kDim);
    wanted.insert(wanted.end(), w.begin(), w.end());
    wanted.insert(wanted.end(), {1, 2, 3, 4, 5, 0, 0, 0, kUntouched});
    ASSERT_EQ(ropeWriteParameters(&d, got.data(), nullptr), ROPE_SUCCESS);
    EXPECT_EQ(got, wanted);
}

// ---- Refusals

void expectRefused(const std::string& piece, const std::function<void(RopeFusedDescription*)>& spoil,
                   RopeResult wanted = ROPE_ERROR_INVALID) {
    static const float kWeights[kDim] = {};
    RopeFusedDescription d = cached(16, ROPE_CACHE_SLOTS, 64);
    d.rotate.q.heads = kQueries;
    d.q_norm.weights = d.k_norm.weights = kWeights;
    RopeReason reason;
    RopeHostFused data = {};
    spoil(&d);
    EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), wanted) << piece << ": " << reason.text;
    EXPECT_NE(std::string(reason.text).find(piece), std::string::npos) << piece << " is not in: " << reason.text;
    EXPECT_LT(std::strlen(reason.text), sizeof reason.text - 1) << "cut off: " << reason.text;
    EXPECT_EQ(ropeHostRunFused(&d, &data, nullptr), wanted);
}

TEST(HostFused, RefusesNoTensorsAndAVInPlace) {
    expectRefused("all 0", [](RopeFusedDescription* d) { d->rotate.q.heads = d->rotate.k.heads = d->v.heads = 0; });
    expectRefused("v.heads is 2 in place", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_NONE;
        d->rotate.elsewhere = 0;
    });
    expectRefused(
        "heads is 4294967295", [](RopeFusedDescription* d) { d->v.heads = UINT32_MAX; }, ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesGradientsByName) {
    expectRefused("gradients with respect to frequencies are not computed",
                  [](RopeFusedDescription* d) { d->frequency_gradient = 1; });
    expectRefused("operation transpose with q_norm: the gradient through a norm is not computed",
                  [](RopeFusedDescription* d) {
                      d->rotate.operation = ROPE_OPERATION_TRANSPOSE;
                      d->q_norm.kind = ROPE_NORM_RMS;
                  });
    for (const RopeOperation operation : {ROPE_OPERATION_INVERSE, ROPE_OPERATION_SHIFT}) {
        const char* name =
            operation == ROPE_OPERATION_INVERSE ? "operation inverse with k_norm" : "operation shift with k_norm";
        expectRefused(name, [operation](RopeFusedDescription* d) {
            d->rotate.operation = operation;
            d->k_norm.kind = ROPE_NORM_L2;
        });
    }
}

TEST(HostFused, RefusesNormsThatAreNone) {
    expectRefused("q_norm.kind is 3", [](RopeFusedDescription* d) { d->q_norm.kind = static_cast<RopeNormKind>(3); });
    expectRefused("k_norm.kind is 1, and k has no heads", [](RopeFusedDescription* d) {
        d->rotate.k.heads = 0;
        d->k_norm.kind = ROPE_NORM_RMS;
    });
    for (const float epsilon : {-1.0f, NAN, INFINITY}) {
        expectRefused("q_norm.epsilon is ", [epsilon](RopeFusedDescription* d) {
            d->q_norm.kind = ROPE_NORM_RMS;
            d->q_norm.epsilon = epsilon;
        });
    }
    expectRefused(
        "q_norm.all_heads of 32768 heads of 64 elements",
        [](RopeFusedDescription* d) {
            d->rotate.q.heads = 32768;
            d->q_norm.kind = ROPE_NORM_RMS;
            d->q_norm.all_heads = 1;
        },
        ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesQueryScales) {
    static const float kOne = 1;
    expectRefused("query_scale.count is 1, and q has no heads", [](RopeFusedDescription* d) {
        d->rotate.q.heads = 0;
        d->query_scale = {&kOne, 1, 1, 0};
    });
    expectRefused("query_scale has 1 values at null", [](RopeFusedDescription* d) {
        d->query_scale = {nullptr, 1, 1, 0};
    });
    expectRefused("query_scale has 65537 values", [](RopeFusedDescription* d) {
        d->query_scale = {&kOne, 65537, 1, 0};
    });
    expectRefused("query_scale.interval is 0", [](RopeFusedDescription* d) { d->query_scale = {&kOne, 1, 0, 0}; });
    expectRefused("query_scale.offset is 2147483648", [](RopeFusedDescription* d) {
        d->query_scale = {&kOne, 1, 1, 1u << 31};
    });
    RopeReason reason;
    float value = 7;
    EXPECT_EQ(ropeMakeQueryScale(NAN, 1, &value, &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeMakeQueryScale(-1048577, 1, &value, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "beta is -1048577; it must be from -2^20 to 2^20");
    EXPECT_EQ(ropeMakeQueryScale(1, 65537, &value, &reason), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(reason.text).find("count is 65537"), std::string::npos) << reason.text;
    EXPECT_EQ(ropeMakeQueryScale(1, 1, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(value, 7);
}

TEST(HostFused, RefusesCachesThatAreNone) {
    expectRefused("cache.kind is 5", [](RopeFusedDescription* d) { d->cache.kind = static_cast<RopeCacheKind>(5); });
    expectRefused("cache.order is 2", [](RopeFusedDescription* d) { d->cache.order = static_cast<RopeCacheOrder>(2); });
    expectRefused("cache.element is 6",
                  [](RopeFusedDescription* d) { d->cache.element = static_cast<RopeElement>(6); });
    expectRefused("cache.slots is 0", [](RopeFusedDescription* d) { d->cache.slots = 0; });
    expectRefused("cache.slots is 1073741825", [](RopeFusedDescription* d) { d->cache.slots = (1u << 30) + 1; });
    expectRefused("cache.slots is 64; it must be a multiple of cache.page_size, 48",
                  [](RopeFusedDescription* d) { d->cache.page_size = 48; });
    expectRefused("cache.page_size is 0 and cache.table_pages is 1", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_BLOCK_TABLE;
        d->cache.table_pages = 1;
    });
    expectRefused("cache.table_pages is 0", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_BLOCK_TABLE;
        d->cache.page_size = 16;
    });
    expectRefused(
        "cache.table_pages is 1073741825",
        [](RopeFusedDescription* d) {
            d->cache.kind = ROPE_CACHE_BLOCK_TABLE;
            d->cache.page_size = 16;
            d->cache.table_pages = (1u << 30) + 1;
        },
        ROPE_ERROR_TOO_LARGE);
    expectRefused("cache.steps_element is 2",
                  [](RopeFusedDescription* d) { d->cache.steps_element = ROPE_POSITION_FLOAT32; });
    expectRefused(
        "cache.steps_offset is 8589934593", [](RopeFusedDescription* d) { d->cache.steps_offset = (1ull << 33) + 1; },
        ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesCachesThatOverlap) {
    expectRefused("cache.k.slot_stride is 100 and lets elements overlap; it must be at least 128",
                  [](RopeFusedDescription* d) {
                      d->cache.k = {0, 0, 0, 100, 64};
                  });
    expectRefused("cache.v.page_stride is 100", [](RopeFusedDescription* d) {
        d->cache.page_size = 16;
        d->cache.v = {0, 0, 100, 128, 64};
    });
    expectRefused("cache.k takes bytes 0 to 32767, and cache.v bytes 32764 to 65531", [](RopeFusedDescription* d) {
        d->cache.together = 1;
        d->cache.v.offset = 64 * 2 * kDim - 1;
    });
    expectRefused("cache.k takes bytes 0 to 32767, and cache.v bytes 4096 to ", [](RopeFusedDescription* d) {
        d->cache.together = 1;
        d->cache.v = {1024, 0, 0, 1920, 64};
    });
    expectRefused("cache.k takes bytes 0 to ", [](RopeFusedDescription* d) { // woven, but from one place on
        d->cache.together = 1;
        d->cache.k = d->cache.v = {0, 0, 0, 256, 64};
    });
    expectRefused("cache.k takes bytes 0 to 8191, and cache.k_scales bytes 0 to 511",
                  [](RopeFusedDescription* d) { d->cache.element = ROPE_ELEMENT_I8; });
    expectRefused(
        "more than 64 bits count",
        [](RopeFusedDescription* d) {
            d->cache.slots = 1u << 30;
            d->rotate.k.heads = d->v.heads = 1u << 30;
        },
        ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesGeometryThatRunsOfFourCannotTake) {
    expectRefused("k: head_dim is 96; with Q8_0", [](RopeFusedDescription* d) {
        d->rotate.head_dim = 96;
        d->rotate.rotary_dim = 64;
        d->cache.element = ROPE_ELEMENT_Q8_0;
    });
    expectRefused("k: the cache's slot_stride is 160; with Q8_0", [](RopeFusedDescription* d) {
        d->cache.k = {0, 0, 0, 160, 64};
        d->cache.element = ROPE_ELEMENT_Q8_0;
    });
    expectRefused("k: the cache's offset is 2; with a norm, a scale of queries or int8 it must be a multiple of 4",
                  [](RopeFusedDescription* d) {
                      d->cache.k.offset = 2;
                      d->k_norm.kind = ROPE_NORM_RMS;
                  });
    expectRefused("q: source.token_stride is 258", [](RopeFusedDescription* d) {
        d->rotate.q.source = {0, 0, 258, 64};
        d->q_norm.kind = ROPE_NORM_RMS;
    });
    expectRefused("q: rotary_dim is 60", [](RopeFusedDescription* d) {
        d->rotate.rotary_dim = 60;
        d->rotate.frequencies.count = 30;
        d->q_norm.kind = ROPE_NORM_RMS;
    });
    expectRefused("q: chunk_dim is 4", [](RopeFusedDescription* d) {
        d->rotate.chunk_dim = 4;
        d->q_norm.kind = ROPE_NORM_RMS;
    });
    expectRefused(
        "head_dim is 1028; with a norm, a scale of queries or int8 it may be at most 1024",
        [](RopeFusedDescription* d) {
            d->rotate.head_dim = 1028;
            d->rotate.rotary_dim = 64;
            d->q_norm.kind = ROPE_NORM_RMS;
        },
        ROPE_ERROR_TOO_LARGE);
    // One dispatch with K, which is normed.
    expectRefused("v: the cache's offset is 2", [](RopeFusedDescription* d) {
        d->cache.v.offset = 2;
        d->k_norm.kind = ROPE_NORM_RMS;
    });
}

TEST(HostFused, RefusesUnlikeKAndVInOneDispatch) {
    expectRefused("K's heads is 2 and V's 1", [](RopeFusedDescription* d) { d->v.heads = 1; });
    expectRefused("K's source.token_stride is 128 and V's 256", [](RopeFusedDescription* d) {
        d->v.source = {0, 0, 256, 64};
    });
    expectRefused("set apart to 1", [](RopeFusedDescription* d) { d->cache.v = {0, 0, 0, 192, 64}; });
    RopeFusedDescription d = cached(2, ROPE_CACHE_POSITIONS, 16);
    d.cache.v = {0, 0, 0, 192, 64};
    d.apart = 1;
    run(d, nullptr, 16 * 192);
}

TEST(HostFused, RefusesCountsOfPackedSequences) {
    expectRefused("tokens_counted with positions.kind 3", [](RopeFusedDescription* d) {
        d->tokens_counted = 1;
        d->rotate.positions.kind = ROPE_POSITIONS_PACKED;
    });
    expectRefused(
        "tokens_offset is 8589934593", [](RopeFusedDescription* d) { d->tokens_offset = (1ull << 33) + 1; },
        ROPE_ERROR_TOO_LARGE);
}

void expectShiftRefused(const std::string& piece, const std::function<void(RopeFusedDescription*)>& spoil) {
    expectRefused(piece, [&spoil](RopeFusedDescription* d) {
        d->rotate.q.heads = d->v.heads = 0;
        d->rotate.operation = ROPE_OPERATION_SHIFT;
        d->cache.shift = 1;
        d->cache.delta = 2;
        spoil(d);
    });
}

TEST(HostFused, RefusesShiftsThatAreNone) {
    expectShiftRefused("but q has heads", [](RopeFusedDescription* d) { d->rotate.q.heads = 1; });
    expectShiftRefused("but v has heads", [](RopeFusedDescription* d) { d->v.heads = 1; });
    expectShiftRefused("but k_norm is set", [](RopeFusedDescription* d) { d->k_norm.kind = ROPE_NORM_RMS; });
    expectShiftRefused("but unturned is 1", [](RopeFusedDescription* d) { d->unturned = 1; });
    expectShiftRefused("but packed is 1", [](RopeFusedDescription* d) { d->packed = 1; });
    expectShiftRefused("but pairing_out",
                       [](RopeFusedDescription* d) { d->rotate.pairing_out = ROPE_PAIRING_INTERLEAVED; });
    expectShiftRefused("cache.kind 0", [](RopeFusedDescription* d) { d->cache.kind = ROPE_CACHE_NONE; });
    expectShiftRefused("with operation 0",
                       [](RopeFusedDescription* d) { d->rotate.operation = ROPE_OPERATION_FORWARD; });
    expectShiftRefused("cache.element 5", [](RopeFusedDescription* d) { d->cache.element = ROPE_ELEMENT_Q8_0; });
    expectShiftRefused("cache.delta is 0 with cache.kind 3", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_RING;
        d->cache.delta = 0;
    });
    for (const RopeSource source : {ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
        expectShiftRefused("cache.delta is 2 with source", [source](RopeFusedDescription* d) {
            d->rotate.source = source;
            d->rotate.rows.count = 8;
        });
    }
}

TEST(HostFused, RefusesArraysThatAreNull) {
    expectRefused("positions is null", [](RopeFusedDescription* d) { d->rotate.q.heads = 0; }); // slots are read
    expectRefused("q is read from q, which is null", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_NONE;
        d->rotate.positions.kind = ROPE_POSITIONS_COUNTED;
    });
}

} // namespace
