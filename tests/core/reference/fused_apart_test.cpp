// Fused passes on the CPU whose slots and norms' weights lie in arrays of their own, and what is refused of them.
#include "support/host_pass.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

using namespace host_pass;

namespace {

// Arrays of a pass of Q and K to a cache.
struct Arrays {
    std::vector<float> q, k, q_out, k_out;
    std::vector<double> reference_q, reference_k;
    RopeHostFused data = {};

    Arrays(uint32_t tokens, uint32_t slots)
        : q(sample::values(tokens * kQueries * kDim, 1)), k(sample::values(tokens * kKeys * kDim, 2)),
          q_out(q.size(), kUntouched), k_out(slots * kKeys * kDim, kUntouched), reference_q(q.size(), kUntouched),
          reference_k(k_out.size(), kUntouched) {
        data.q = q.data();
        data.k = k.data();
        data.q_out = q_out.data();
        data.k_out = k_out.data();
        data.reference_q = reference_q.data();
        data.reference_k = reference_k.data();
    }
    void run(const RopeFusedDescription& d) {
        RopeReason reason;
        EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    }
};

RopeFusedDescription normed(uint32_t tokens) {
    RopeFusedDescription d = cached(tokens, ROPE_CACHE_SLOTS, 16);
    d.v.heads = 0;
    d.q.heads = kQueries;
    d.q.norm.kind = d.k.norm.kind = ROPE_NORM_RMS;
    d.q.norm.epsilon = d.k.norm.epsilon = 1e-6f;
    return d;
}

// Each token by itself, with its weights given, is what all of them are with the weights' strides.
TEST(HostFused, WeightsOfTokensAndHeadsLieWhereTheirStridesSay) {
    constexpr uint32_t kTokens = 3, kToken = 301, kBegin = 5;
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}) {
        const std::vector<uint8_t> memory = sample::tensor(element, 2000 * ropeElementBytes(element), 9);
        std::vector<float> values(2000);
        ropeConvertElements(memory.data(), element, values.data(), ROPE_ELEMENT_F32, 2000);
        RopeFusedDescription d = normed(kTokens);
        d.batch = 2;
        d.q.norm.all_heads = d.k.norm.all_heads = 1;
        d.q.norm.weight_plus = 1;
        for (RopeNorm* norm : {&d.q.norm, &d.k.norm}) {
            norm->weights_element = element;
            norm->weights_offset = kBegin;
            norm->weights_token_stride = kToken;
        }
        d.k.norm.weights_head_stride = kDim + 1;
        Arrays all(2 * kTokens, 16);
        const int32_t slots[2 * kTokens] = {7, 3, 12, 0, 5, 1};
        all.data.slot_map = slots;
        all.data.q_weights = all.data.k_weights = memory.data();
        d.cache.map_in_positions = 0;
        all.run(d);
        for (uint32_t i = 0; i < 2 * kTokens; ++i) {
            const uint32_t token = i % kTokens;
            const float* begin = values.data() + kBegin + token * kToken;
            std::vector<float> of_k(begin, begin + kDim);
            of_k.insert(of_k.end(), begin + kDim + 1, begin + 2 * kDim + 1);
            RopeFusedDescription one = normed(1);
            one.positions.first += static_cast<int32_t>(token);
            one.q.norm.all_heads = one.k.norm.all_heads = 1;
            one.q.norm.weights = begin;
            one.q.norm.weight_plus = 1;
            one.k.norm.weights = of_k.data();
            Arrays alone(1, 16);
            alone.data.q = &all.q[i * kQueries * kDim];
            alone.data.k = &all.k[i * kKeys * kDim];
            alone.data.positions = &slots[i];
            alone.run(one);
            const size_t q = i * kQueries * kDim, k = static_cast<size_t>(slots[i]) * kKeys * kDim;
            for (size_t e = 0; e < kQueries * kDim; ++e) {
                ASSERT_EQ(all.q_out[q + e], alone.q_out[e]) << element << ", token " << i << ", element " << e;
                ASSERT_EQ(all.reference_q[q + e], alone.reference_q[e]);
            }
            for (size_t e = 0; e < kKeys * kDim; ++e) {
                ASSERT_EQ(all.k_out[k + e], alone.k_out[k + e]) << element << ", token " << i << ", element " << e;
                ASSERT_EQ(all.reference_k[k + e], alone.reference_k[k + e]);
            }
        }
    }
}

TEST(HostFused, ParametersHaveNoWeightsOfTheDevice) {
    const std::vector<float> w = weights(kDim);
    RopeFusedDescription d = normed(2);
    d.q.norm.weights = w.data();
    std::vector<float> written(2 * kDim, kUntouched);
    ASSERT_EQ(ropeWriteParameters(&d, written.data(), nullptr), ROPE_SUCCESS);
    EXPECT_EQ(std::vector<float>(written.begin(), written.begin() + kDim), w);
    EXPECT_EQ(written[kDim], kUntouched);
}

void expectRefused(const std::string& sentence, RopeResult wanted,
                   const std::function<void(RopeFusedDescription*)>& spoil) {
    RopeFusedDescription d = normed(3);
    d.cache.map_in_positions = 0;
    spoil(&d);
    RopeReason reason;
    RopeHostFused data = {};
    EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), wanted);
    EXPECT_EQ(reason.text, sentence);
    RopePlan plan;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 9;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), wanted);
    EXPECT_EQ(plan.reason.text, sentence) << "the plan says the same";
}

TEST(HostFused, RefusesWeightsThatCannotBe) {
    static const float kOne = 1;
    expectRefused("k.norm.weights is an address, and k.norm.no_weights is 1; leave one of them 0", ROPE_ERROR_INVALID,
                  [](RopeFusedDescription* d) { d->k.norm.weights = &kOne, d->k.norm.no_weights = 1; });
    for (const int element : {-1, 4, 5}) {
        expectRefused(
            "q.norm.weights_element is " + std::to_string(element) + "; weights are floats, 1 to 3", ROPE_ERROR_INVALID,
            [element](RopeFusedDescription* d) { d->q.norm.weights_element = static_cast<RopeElement>(element); });
    }
    constexpr uint64_t kFar = (uint64_t{1} << 33) + 1;
    expectRefused("q.norm.weights_offset is 8589934593; it may be at most 2^33 elements", ROPE_ERROR_TOO_LARGE,
                  [](RopeFusedDescription* d) { d->q.norm.weights_offset = kFar; });
    expectRefused("k.norm.weights_token_stride is 8589934593; it may be at most 2^33 elements", ROPE_ERROR_TOO_LARGE,
                  [](RopeFusedDescription* d) { d->k.norm.weights_token_stride = kFar; });
    expectRefused("k.norm.weights_head_stride is 8589934593; it may be at most 2^33 elements", ROPE_ERROR_TOO_LARGE,
                  [](RopeFusedDescription* d) { d->k.norm.weights_head_stride = kFar; });
    expectRefused("k.norm's weights span 4294967360 elements, more than 32 bits count; use smaller "
                  "strides",
                  ROPE_ERROR_TOO_LARGE,
                  [](RopeFusedDescription* d) { d->k.norm.weights_token_stride = uint64_t{1} << 31; });
}

TEST(HostFused, RefusesSlotsAndWeightsThatAreNull) {
    const auto said = [](bool slot_map, bool q_weights) {
        const std::vector<float> w = weights(kDim);
        const int32_t slots[3] = {0, 1, 2};
        RopeFusedDescription d = normed(3);
        d.cache.map_in_positions = 0;
        Arrays arrays(3, 16);
        if (slot_map) arrays.data.slot_map = slots;
        if (q_weights) arrays.data.q_weights = w.data();
        RopeReason reason;
        EXPECT_EQ(ropeHostRunFused(&d, &arrays.data, &reason), ROPE_ERROR_INVALID);
        return std::string(reason.text);
    };
    EXPECT_EQ(said(true, false),
              "q.norm.weights and q_weights are null; give one of them, or set q.norm.no_weights to 1");
    EXPECT_EQ(said(false, true), "the cache's slots are read from slot_map, which is null; it is an array here");
    EXPECT_EQ(said(true, true),
              "k.norm.weights and k_weights are null; give one of them, or set k.norm.no_weights to 1");
}

// Members that nothing reads are no mistake.
TEST(HostFused, TakesNoNoticeOfWeightsWithoutANorm) {
    RopeFusedDescription d = normed(3);
    d.q.norm.no_weights = 1;
    d.k.norm = {};
    d.k.norm.weights_element = ROPE_ELEMENT_Q8_0;
    const int32_t slots[3] = {0, 1, 2};
    Arrays arrays(3, 16);
    arrays.data.positions = slots;
    arrays.run(d);
    EXPECT_NE(arrays.k_out[0], kUntouched);
}

} // namespace
