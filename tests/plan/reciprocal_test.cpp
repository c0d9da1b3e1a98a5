// 1/sqrt(x), 1/x and x/127 in integers: the nearest float32 for every significand.
#include "../shaders/reciprocal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace {

float valueOf(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

uint32_t bitsOf(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Both parities of the exponent, and the largest and smallest whose results are normal.
TEST(Reciprocal, IsTheNearestForEverySignificand) {
    for (const uint32_t exponent : {127u, 128u}) {
        for (uint32_t rest = 0; rest < 1u << 23; ++rest) {
            const uint32_t bits = exponent << 23 | rest;
            const float x = valueOf(bits);
            ASSERT_EQ(rope::reciprocal_root_bits(bits), bitsOf(static_cast<float>(1.0L / std::sqrt((long double)x))));
            ASSERT_EQ(rope::reciprocal_bits(bits), bitsOf(1.0f / x));
            ASSERT_EQ(rope::share_127_bits(bits), bitsOf(x / 127.0f));
        }
    }
}

TEST(Reciprocal, IsTheNearestOverAllExponents) {
    for (uint32_t exponent = 0; exponent < 255; ++exponent) {
        for (uint32_t i = 0; i < 20000; ++i) {
            const uint32_t bits = exponent << 23 | (i * 0x9E3779B9u >> 9);
            if (bits == 0) continue;
            const float x = valueOf(bits);
            ASSERT_EQ(rope::reciprocal_root_bits(bits), bitsOf(static_cast<float>(1.0L / std::sqrt((long double)x))));
            ASSERT_EQ(rope::share_127_bits(bits), bitsOf(x / 127.0f));
            if (exponent >= 252) continue; // its reciprocal is a denormal
            ASSERT_EQ(rope::reciprocal_bits(bits), bitsOf(1.0f / x)) << x;
        }
    }
    EXPECT_EQ(rope::reciprocal_root_bits(0), 0x7F800000u);
    EXPECT_EQ(rope::reciprocal_root_bits(0x7F800000u), 0u);
    EXPECT_TRUE(std::isnan(valueOf(rope::reciprocal_root_bits(0x7FC00000u))));
}

} // namespace
