// Heads of other kinds in fused passes on the CPU: widths, norms of a part of the head, LayerNorm, V's norm, biases of
// the projection and the clip, each against plain double.
#include "support/host_pass.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace host_pass;

namespace {

RopeNorm normOf(RopeNormKind kind, float epsilon, const float* weights = nullptr, const float* biases = nullptr) {
    RopeNorm norm = {};
    norm.kind = kind;
    norm.epsilon = epsilon;
    norm.weights = weights;
    norm.no_weights = weights == nullptr;
    norm.biases = biases;
    return norm;
}

double meanOf(const Head& x, bool squares) {
    double sum = 0;
    for (const double one : x) sum += squares ? one * one : one;
    return sum / static_cast<double>(x.size());
}

void layerNorm(Head* x, double epsilon, const float* weights, const float* biases) {
    const double mean = meanOf(*x, false);
    for (double& one : *x) one -= mean;
    const double factor = 1 / std::sqrt(meanOf(*x, true) + epsilon);
    for (size_t i = 0; i < x->size(); ++i) {
        (*x)[i] *= factor * (weights != nullptr ? weights[i] : 1.0);
        if (biases != nullptr) (*x)[i] += biases[i];
    }
}

void rmsNorm(Head* x, double epsilon, const float* weights) {
    const double factor = 1 / std::sqrt(meanOf(*x, true) + epsilon);
    for (size_t i = 0; i < x->size(); ++i) (*x)[i] *= factor * (weights != nullptr ? weights[i] : 1.0);
}

// Cohere and StableLM: each head has weights of its own and no bias.
TEST(HostHeads, LayerNormWithWeightsOfEachHead) {
    const std::vector<float> w = weights(kDim * kQueries);
    RopeFusedDescription d = plain(2);
    d.q.norm = normOf(ROPE_NORM_LAYER, 1e-3f, w.data());
    d.q.norm.weights_head_stride = kDim;
    const Outcome r = run(d);
    for (size_t head = 0; head < 2 * kQueries; ++head) {
        Head x = headOf(r.q, head);
        layerNorm(&x, double{1e-3f}, &w[head % kQueries * kDim], nullptr);
        turn(&x, 5.0 + static_cast<double>(head / kQueries));
        expectHead(x, r.q_out, r.reference_q, head * kDim);
    }
}

// Persimmon: all heads share weights and biases. After the rotation the mean is of the turned elements.
TEST(HostHeads, LayerNormWithBiasesBeforeAndBehindTheRotation) {
    const std::vector<float> w = weights(kDim), b = sample::values(kDim, 21);
    for (const uint32_t after : {0u, 1u}) {
        RopeFusedDescription d = plain(2);
        d.k.heads = kKeys;
        d.k.norm = normOf(ROPE_NORM_LAYER, 0.25f, w.data(), b.data());
        d.k.norm.after = after;
        const Outcome r = run(d);
        for (size_t head = 0; head < 2 * kKeys; ++head) {
            Head x = headOf(r.k, head);
            if (after != 0) turn(&x, 5.0 + static_cast<double>(head / kKeys));
            layerNorm(&x, 0.25, w.data(), b.data());
            if (after == 0) turn(&x, 5.0 + static_cast<double>(head / kKeys));
            expectHead(x, r.k_out, r.reference_k, head * kDim);
        }
    }
}

// This test has the order and the roundings as rope.h says them.
TEST(HostHeads, LayerNormRoundsInThePromisedOrder) {
    const std::vector<float> w = weights(kDim), b = sample::values(kDim, 21);
    RopeFusedDescription d = plain(16);
    d.q.no_rotation = d.k.no_rotation = 1;
    d.q.norm = normOf(ROPE_NORM_LAYER, 1e-3f, w.data(), b.data());
    const Outcome r = run(d);
    for (uint32_t h = 0; h < 16 * kQueries; ++h) {
        const float* given = &r.q[h * kDim];
        float x[kDim];
        const auto sum = [&x](bool squares) {
            volatile float t[4] = {};
            for (uint32_t i = 0; i < kDim; i += 4) {
                volatile float four[4];
                for (uint32_t j = 0; j < 4; ++j) four[j] = squares ? x[i + j] * x[i + j] : x[i + j];
                const volatile float low = four[0] + four[1], high = four[2] + four[3], all = low + high;
                t[i / 4 % 4] = t[i / 4 % 4] + all;
            }
            const volatile float low = t[0] + t[1], high = t[2] + t[3], all = low + high;
            return static_cast<float>(all);
        };
        std::copy(given, given + kDim, x);
        const volatile float mean = sum(false) * (1.0f / kDim);
        for (float& one : x) one = one - mean;
        const volatile float variance = sum(true) * (1.0f / kDim);
        const volatile float shifted = variance + 1e-3f;
        const float factor = static_cast<float>(1 / std::sqrt(static_cast<double>(shifted)));
        for (uint32_t e = 0; e < kDim; ++e) {
            const volatile float normed = x[e] * factor;
            const volatile float weighed = normed * w[e];
            const volatile float wanted = weighed + b[e];
            ASSERT_EQ(r.q_out[h * kDim + e], wanted) << h << " " << e;
        }
    }
}

// Gemma 4: V is normed without weights and does not turn.
TEST(HostHeads, VHasANormOfItsOwn) {
    RopeFusedDescription d = cached(3, ROPE_CACHE_POSITIONS, 16);
    d.positions.first = 4;
    d.v.norm = normOf(ROPE_NORM_RMS, 1e-3f);
    const Outcome r = run(d, nullptr, size_t{16} * kKeys * kDim);
    for (size_t head = 0; head < 3 * kKeys; ++head) {
        Head x = headOf(r.v, head);
        rmsNorm(&x, double{1e-3f}, nullptr);
        expectHead(x, r.v_out, r.reference_v, (4 * kKeys + head) * kDim);
    }
    Head k = headOf(r.k, 0); // K has none
    turn(&k, 4);
    expectHead(k, r.k_out, r.reference_k, 4 * kKeys * kDim);
}

// DeepSeek's row of a cache: the latent is normed, the rotary part behind it turns; Q is of another width.
TEST(HostHeads, ARowOfTheLatentAndTheRotaryPart) {
    constexpr uint32_t kLatent = 96, kRow = kLatent + kDim, kHead = 32 + kDim;
    const std::vector<float> w = weights(kLatent);
    RopeFusedDescription d = plain(3);
    d.head_dim = kHead;
    d.rotation.rotary_begin = 32;
    d.rotation.rotary_dim = kDim;
    d.k.heads = 1;
    d.k.head_dim = kRow;
    d.k.rotary_begin = kLatent;
    d.k.norm = normOf(ROPE_NORM_RMS, 1e-3f, w.data());
    d.k.norm.dim = kLatent;
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.cache.slots = 16;
    const std::vector<float> q = sample::values(3 * kQueries * kHead, 1), k = sample::values(3 * kRow, 2);
    std::vector<float> q_out(q.size()), k_out(16 * kRow, kUntouched);
    std::vector<double> reference_q(q.size()), reference_k(k_out.size());
    RopeHostFused data = {};
    data.q = q.data();
    data.k = k.data();
    data.q_out = q_out.data();
    data.k_out = k_out.data();
    data.reference_q = reference_q.data();
    data.reference_k = reference_k.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    for (size_t token = 0; token < 3; ++token) {
        const double position = 5.0 + static_cast<double>(token);
        const size_t to = (5 + token) * kRow;
        Head latent(&k[token * kRow], &k[token * kRow] + kLatent);
        rmsNorm(&latent, double{1e-3f}, w.data());
        for (uint32_t e = 0; e < kLatent; ++e) {
            ASSERT_NEAR(reference_k[to + e], latent[e], 1e-12);
            ASSERT_NEAR(k_out[to + e], latent[e], 1e-6);
        }
        Head rotary(&k[token * kRow + kLatent], &k[token * kRow] + kRow);
        turn(&rotary, position);
        expectHead(rotary, k_out, reference_k, to + kLatent);
        for (size_t head = 0; head < kQueries; ++head) {
            const size_t at = (token * kQueries + head) * kHead;
            for (uint32_t e = 0; e < 32; ++e) ASSERT_EQ(q_out[at + e], q[at + e]);
            Head x(&q[at + 32], &q[at] + kHead);
            turn(&x, position);
            expectHead(x, q_out, reference_q, at + 32);
        }
    }
    EXPECT_EQ(k_out[5 * kRow - 1], kUntouched);
    EXPECT_EQ(k_out[8 * kRow], kUntouched);
}

// MiMo-V2: V is narrower than K, and narrower than the rotary part here.
TEST(HostHeads, VOfAnotherWidthMovesAsItIs) {
    constexpr uint32_t kWidth = 24;
    RopeFusedDescription d = cached(2, ROPE_CACHE_POSITIONS, 8);
    d.positions.first = 0;
    d.v.head_dim = kWidth;
    const Outcome r = run(d, nullptr, size_t{8} * kKeys * kDim);
    for (size_t i = 0; i < 2 * kKeys * kWidth; ++i) ASSERT_EQ(r.v_out[i], r.v[i]) << i;
    EXPECT_EQ(r.v_out[2 * kKeys * kWidth], kUntouched);
}

TEST(HostHeads, AClipLimitsAndLeavesNaN) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float x[] = {0.0f,  -0.0f,     1e-45f,     0.5f,  0.5000001f,    -0.5000001f,
                       -0.5f, kInfinity, -kInfinity, 3e38f, std::nanf(""), -std::nanf("")};
    const float wanted[] = {0.0f, -0.0f, 1e-45f, 0.5f, 0.5f, -0.5f, -0.5f, 0.5f, -0.5f, 0.5f};
    RopeFusedDescription d = {};
    d.tokens = 1;
    d.head_dim = 12;
    d.q.heads = 1;
    d.out_of_place = d.q.no_rotation = d.k.no_rotation = 1;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.clip = 0.5f;
    float out[12];
    double reference[12];
    RopeHostFused data = {};
    data.q = x;
    data.q_out = out;
    data.reference_q = reference;
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    for (uint32_t i = 0; i < 10; ++i) {
        EXPECT_EQ(out[i], wanted[i]) << i;
        EXPECT_EQ(std::signbit(out[i]), std::signbit(wanted[i])) << i;
        EXPECT_EQ(reference[i], double{wanted[i]}) << i;
    }
    for (uint32_t i = 10; i < 12; ++i) EXPECT_TRUE(std::isnan(out[i]) && std::isnan(reference[i])) << i;
}

// Biases come first, then the clip, then the norm and the rotation.
TEST(HostHeads, BiasesAreAddedBeforeTheClipAndTheNorm) {
    RopeFusedDescription d = plain(2);
    d.k.heads = kKeys;
    d.q.bias = d.k.bias = 1;
    d.q.bias_offset = 3;
    d.k.bias_offset = 3 + kQueries * kDim;
    d.clip = 1;
    d.k.norm = normOf(ROPE_NORM_RMS, 1e-3f);
    const std::vector<float> biases = sample::values(d.k.bias_offset + kKeys * kDim, 31);
    const std::vector<float> q = sample::values(2 * kQueries * kDim, 1), k = sample::values(2 * kKeys * kDim, 2);
    std::vector<float> q_out(q.size()), k_out(k.size());
    std::vector<double> reference_q(q.size()), reference_k(k.size());
    RopeHostFused data = {};
    data.q = q.data();
    data.k = k.data();
    data.biases = biases.data();
    data.q_out = q_out.data();
    data.k_out = k_out.data();
    data.reference_q = reference_q.data();
    data.reference_k = reference_k.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    const auto expect = [&](const std::vector<float>& from, uint64_t first, uint32_t heads, bool normed,
                            const std::vector<float>& bits, const std::vector<double>& reference) {
        for (size_t head = 0; head < 2 * heads; ++head) {
            Head x = headOf(from, head);
            for (uint32_t e = 0; e < kDim; ++e) {
                const double sum = x[e] + biases[first + head % heads * kDim + e];
                x[e] = std::fmax(-1, std::fmin(1, sum));
            }
            if (normed) rmsNorm(&x, double{1e-3f}, nullptr);
            turn(&x, 5.0 + static_cast<double>(head / heads));
            expectHead(x, bits, reference, head * kDim);
        }
    };
    expect(q, d.q.bias_offset, kQueries, false, q_out, reference_q);
    expect(k, d.k.bias_offset, kKeys, true, k_out, reference_k);
    data.biases = nullptr;
    EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "q.bias is 1 and biases is null; it is an array here");
}

} // namespace
