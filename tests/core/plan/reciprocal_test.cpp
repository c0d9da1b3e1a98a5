// 1/sqrt(x), 1/x and x/127 in integers: the nearest float32 for every significand.
#include "shaders/numbers/reciprocal.h"
#include "support/sample.hpp"

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
            ASSERT_EQ(rope::share_bits(bits, 127), bitsOf(x / 127.0f));
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
            ASSERT_EQ(rope::share_bits(bits, 127), bitsOf(x / 127.0f));
            for (const uint32_t divisor : {2u, 7u, 8u, 15u, 16u, 31u})
                ASSERT_EQ(rope::share_bits(bits, divisor), bitsOf(x / static_cast<float>(divisor))) << divisor;
            if (exponent >= 252) continue; // its reciprocal is a denormal
            ASSERT_EQ(rope::reciprocal_bits(bits), bitsOf(1.0f / x)) << x;
        }
    }
    EXPECT_EQ(rope::reciprocal_root_bits(0), 0x7F800000u);
    EXPECT_EQ(rope::reciprocal_root_bits(0x7F800000u), 0u);
    EXPECT_TRUE(std::isnan(valueOf(rope::reciprocal_root_bits(0x7FC00000u))));
}

// Any significands, equal ones, and the first and the last; of every sign and exponent.
TEST(Reciprocal, QuotientsAreTheNearestOfNormalNumbers) {
    sample::Random random(5);
    const auto draw = [&random] {
        const uint32_t choice = random.below(4), rest = random.next() & 0x7FFFFFu;
        return choice == 0 ? random.below(4) : choice == 1 ? 0x7FFFFFu - random.below(4) : rest;
    };
    for (uint32_t i = 0; i < 4000000; ++i) {
        const uint32_t y_bits = (1 + random.below(252)) << 23 | draw();
        const uint32_t x_rest = i % 8 == 0 ? y_bits & 0x7FFFFFu : draw();
        const uint32_t x_bits = (i % 16 == 0 ? 0 : random.below(255) << 23) | random.below(2) << 31 | x_rest;
        const float quotient = valueOf(x_bits) / valueOf(y_bits);
        const bool normal =
            (x_bits & 0x7F800000u) != 0 && std::fabs(double{valueOf(x_bits)} / double{valueOf(y_bits)}) >= 0x1p-126;
        ASSERT_EQ(rope::quotient_bits(x_bits, y_bits, rope::reciprocal_bits(y_bits)),
                  normal ? bitsOf(quotient) : x_bits & 0x80000000u)
            << valueOf(x_bits) << " / " << valueOf(y_bits);
    }
    EXPECT_EQ(rope::quotient_bits(0xFF800000u, 0x40000000u, rope::reciprocal_bits(0x40000000u)), 0xFF800000u);
    EXPECT_EQ(rope::quotient_bits(0x7FC00000u, 0x40000000u, rope::reciprocal_bits(0x40000000u)), 0x7FC00000u);
}

} // namespace
