// Norms of fused passes on the CPU: where they stand, over what, and how they round.
#include "support/host_pass.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace host_pass;

namespace {

double sumOfSquares(const Head& x) {
    double sum = 0;
    for (const double one : x) sum += one * one;
    return sum;
}

void scaleBy(Head* x, double factor, const float* weights, double offset) {
    for (uint32_t i = 0; i < kDim; ++i) (*x)[i] *= factor * (weights != nullptr ? weights[i] + offset : 1.0);
}

TEST(HostFused, RmsNormStandsBeforeTheRotationAsInQwen3) {
    const std::vector<float> w = weights(kDim);
    RopeFusedDescription d = plain(3);
    d.q.norm = {ROPE_NORM_RMS, 1e-3f, 0, 0, 0, 0, 0, w.data(), nullptr, {}, 0, 0, 0, 0};
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
    d.k.heads = kKeys;
    d.k.norm = {ROPE_NORM_RMS, 1e-6f, 0, 0, 0, 0, 0, w.data(), nullptr, {}, 0, 0, 0, 1};
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
        d.q.norm = {kind, 0.5f, 1, 0, 0, 0, 0, w.data(), nullptr, {}, 0, 0, 0, 0};
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
        d.q.norm = {ROPE_NORM_RMS, 1e-5f, after, 1, 0, 0, 0, w.data(), nullptr, {}, 0, 0, 0, 0};
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

// This test has the order and the roundings as rope.h says them.
TEST(HostFused, NormsRoundInThePromisedOrder) {
    constexpr uint32_t kTokens = 64;
    const std::vector<float> w = weights(kDim * kQueries);
    for (const uint32_t all_heads : {0u, 1u}) {
        RopeFusedDescription d = plain(kTokens);
        d.q.no_rotation = d.k.no_rotation = 1;
        d.q.norm = {ROPE_NORM_RMS, 1e-3f, 0, all_heads, 0, 0, 0, w.data(), nullptr, {}, 0, 0, 0, 0.25f};
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

TEST(HostFused, TokensWithoutATurnAreStillNormedInTheOutputsPairing) {
    RopeFusedDescription d = plain(2);
    d.rotation.pairing_out = ROPE_PAIRING_INTERLEAVED;
    d.rotation.skip_first = 1;
    d.q.norm = {ROPE_NORM_L2, 0, 1, 0, 0, 0, 1, nullptr, nullptr, {}, 0, 0, 0, 0};
    const Outcome r = run(d);
    const Head x = headOf(r.q, 0);
    const double length = std::sqrt(sumOfSquares(x));
    for (uint32_t i = 0; i < kDim / 2; ++i) {
        EXPECT_NEAR(r.reference_q[2 * i], x[i] / length, 1e-12);
        EXPECT_NEAR(r.reference_q[2 * i + 1], x[i + kDim / 2] / length, 1e-12);
    }
}

} // namespace
