// The scale as shaders of a host's own take it.
#include "support/sample.hpp"
#include <vkrope/rope.h>

#include <cmath>
#include <gtest/gtest.h>

namespace {

struct Split {
    uint32_t mantissa = 7;
    int32_t exponent = 7;
};

Split split(double scale) {
    Split s;
    RopeReason reason;
    EXPECT_EQ(ropeSplitScale(scale, &s.mantissa, &s.exponent, &reason), ROPE_SUCCESS) << reason.text;
    return s;
}

// 2^exponent of a negative scale is 2^256 times as much, which a float32's bits take for the sign.
double joined(const Split& s) {
    const int negative = s.exponent >= 128;
    const double magnitude = std::ldexp(static_cast<double>(s.mantissa), s.exponent - 31 - 256 * negative);
    return negative != 0 ? -magnitude : magnitude;
}

TEST(SplitScale, IsTheScaleTo32Bits) {
    sample::Random random(8);
    for (int i = 0; i < 1000; ++i) {
        const double magnitude = (1 + random.next() * 0x1p-32) * std::ldexp(1, static_cast<int>(random.below(40)) - 20);
        for (const double scale : {magnitude, -magnitude}) {
            const Split s = split(scale);
            EXPECT_GE(s.mantissa, 0x80000000u);
            EXPECT_LE(std::fabs(joined(s) - scale), std::fabs(scale) * 0x1p-32) << scale;
        }
    }
    for (const double scale : {1.0, -1.0, 0x1p-20, 0x1p20, -0x1p20, -0x1p-20, 1.5})
        EXPECT_EQ(joined(split(scale)), scale);
    EXPECT_EQ(joined(split(0x1.ffffffffffp0)), 2) << "rounded up";
    for (const double zero : {0.0, -0.0}) EXPECT_EQ(joined(split(zero)), 1);
}

TEST(SplitScale, RefusesWhatPlansRefuse) {
    for (const double scale :
         {0x1p21, -0x1p21, 0x1p-21, 5e-324, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
        const double frequency = 1;
        RopeTableDescription d = {};
        d.frequencies = {&frequency, 1, scale, nullptr, 1};
        d.tokens = 1;
        RopePlan plan;
        EXPECT_EQ(ropePlanTable(&d, nullptr, &plan), ROPE_ERROR_INVALID);
        Split s;
        RopeReason reason;
        EXPECT_EQ(ropeSplitScale(scale, &s.mantissa, &s.exponent, &reason), ROPE_ERROR_INVALID);
        EXPECT_STREQ(reason.text, plan.reason.text);
        EXPECT_EQ(s.mantissa, 7u);
        EXPECT_EQ(s.exponent, 7);
    }
}

} // namespace
