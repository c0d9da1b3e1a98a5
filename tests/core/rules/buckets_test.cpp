// T5's buckets against whole numbers of any size, and ALiBi's slopes: no device.
#include "plan/encodings/bias_resolve.h"

#include "support/buckets.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace {

using buckets::exactBuckets;
using buckets::kFar;
using buckets::kShapes;
using buckets::Shape;
using sample::Random;

TEST(Buckets, OfSingleDistancesAreTheFormulasInExactArithmetic) {
    for (const Shape& s : kShapes) {
        const std::vector<uint32_t> wanted = exactBuckets(s);
        const uint32_t side = s.bidirectional != 0 ? s.buckets / 2 : 0;
        const uint32_t most = s.buckets > 100 ? 5000 : kFar; // each distance is decided anew
        Random random(1);
        for (uint32_t i = 0; i < 1000; ++i) {
            const uint32_t n = i < 500 ? std::min(i, most) : random.below(most + 1);
            const int32_t distance = static_cast<int32_t>(n);
            ASSERT_EQ(ropeT5Bucket(-distance, s.buckets, s.max_distance, s.bidirectional), wanted[n]) << nameOf(s) << n;
            const uint32_t after = s.bidirectional == 0 || n == 0 ? 0 : side + wanted[n];
            ASSERT_EQ(ropeT5Bucket(distance, s.buckets, s.max_distance, s.bidirectional), after) << nameOf(s) << n;
        }
    }
    EXPECT_EQ(ropeT5Bucket(INT32_MIN, 32, 128, 1), 15u);
    EXPECT_EQ(ropeT5Bucket(INT32_MAX, 32, 128, 1), 31u);
}

// The formula is that of T5's own code, in float32.
TEST(Buckets, OfT5AreThoseOfItsOwnCode) {
    const std::vector<uint32_t> causal = exactBuckets(kShapes[0]), both = exactBuckets(kShapes[1]);
    for (uint32_t n = 1; n <= kFar; ++n) {
        const float ratio = static_cast<float>(n);
        const auto bucket = [&](uint32_t own, uint32_t all) {
            const float log = std::log(ratio / static_cast<float>(own)) / static_cast<float>(std::log(128.0 / own)) *
                              static_cast<float>(all - own);
            return n < own ? n : std::min(all - 1, own + static_cast<uint32_t>(log));
        };
        ASSERT_EQ(causal[n], bucket(16, 32)) << n;
        ASSERT_EQ(both[n], bucket(8, 16)) << n;
    }
}

TEST(Buckets, AsWordsRiseToWhatNoDistanceReaches) {
    for (const Shape& s : kShapes) {
        RopeBiasDescription d = {};
        d.heads = d.queries = d.keys = 1;
        d.buckets = s.buckets;
        d.max_distance = s.max_distance;
        d.bidirectional = s.bidirectional;
        RopePlan plan;
        ASSERT_EQ(ropePlanBias(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
        const uint64_t words = plan.bytes[ROPE_SLOT_PARAMETERS] / 4;
        EXPECT_EQ(words, 4 * ropeBucketVectors(s.buckets, s.bidirectional));
        std::vector<uint32_t> thresholds(words + 1, 7);
        ASSERT_EQ(ropeWriteBuckets(&d, thresholds.data(), nullptr), ROPE_SUCCESS);
        EXPECT_EQ(thresholds[words], 7u);
        const uint32_t side = s.bidirectional != 0 ? s.buckets / 2 : s.buckets;
        EXPECT_EQ(words, std::max(16u, (side - side / 2 - 1 + 3) / 4 * 4));
        for (uint32_t i = 1; i < words; ++i) EXPECT_LE(thresholds[i - 1], thresholds[i]);
    }
}

TEST(Alibi, SlopesAreThePublishedOnes) {
    float slopes[12];
    RopeReason reason;
    ASSERT_EQ(ropeMakeAlibiSlopes(8, slopes, &reason), ROPE_SUCCESS);
    for (int h = 0; h < 8; ++h) EXPECT_EQ(slopes[h], std::ldexp(1.0f, -h - 1));
    ASSERT_EQ(ropeMakeAlibiSlopes(12, slopes, &reason), ROPE_SUCCESS); // those of 8, then every other one of 16
    for (int h = 0; h < 8; ++h) EXPECT_EQ(slopes[h], std::ldexp(1.0f, -h - 1));
    for (int h = 8; h < 12; ++h) EXPECT_EQ(slopes[h], static_cast<float>(std::exp2(-0.5 * (2 * (h - 8) + 1)))) << h;
    std::vector<float> many(112);
    ASSERT_EQ(ropeMakeAlibiSlopes(112, many.data(), &reason), ROPE_SUCCESS); // BLOOM's
    for (int h = 0; h < 112; ++h) {
        const double exponent = h < 64 ? -8.0 * (h + 1) / 64 : -8.0 * (2 * (h - 64) + 1) / 128;
        EXPECT_EQ(many[h], static_cast<float>(std::exp2(exponent))) << h;
    }
    EXPECT_EQ(ropeMakeAlibiSlopes(0, slopes, &reason), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(reason.text).find("heads is 0"), std::string::npos);
}

} // namespace
