// The arithmetic of the rules against MPFR.
#include "rules/real.h"
#include "support/big.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace big;
using namespace rope;

namespace {

double relativeError(const Real& value, const Big& truth) {
    Big sum;
    for (int i = 0; i < kFixedLimbs; ++i) {
        sum = sum + Big(std::ldexp(value.mantissa.limbs[i], 32 * (i - kFixedFractionLimbs)));
    }
    const Big error = sum * Big(std::ldexp(1.0, value.exponent)) / truth - Big(1);
    return std::fabs(error.toDouble());
}

} // namespace

TEST(Real, LogarithmsAndExponentialsAreTrueTo260Bits) {
    std::mt19937 generator(5);
    std::uniform_real_distribution<double> unit(-1, 1);
    for (int i = 0; i < 400; ++i) {
        const double value = i < 20 ? 1 + std::ldexp(i - 10, -52) : std::exp2(1000 * unit(generator));
        const double power = std::ldexp(unit(generator), i % 40 - 30);
        const Real back = realExp(realLog(realFromDouble(value))) / realFromDouble(value) - realFromInteger(1);
        ASSERT_TRUE(realIsZero(back) || back.exponent < -260) << value;
        const Real there = realLog(realExp(realFromDouble(power))) / realFromDouble(power) - realFromInteger(1);
        ASSERT_TRUE(realIsZero(there) || there.exponent < -240) << power;
        ASSERT_EQ(realToDouble(realExp(realFromDouble(power))), Big::of(mpfr_exp, power).toDouble()) << power;
        ASSERT_EQ(realToDouble(realLog(realFromDouble(value))), logOf(value).toDouble()) << value;
    }
}

TEST(Real, PiAndLogarithmOf2AreTrueTo318Bits) {
    EXPECT_LT(relativeError(realPi(), Big::pi()), 0x1p-318);
    EXPECT_LT(relativeError(realLog(realFromInteger(2)), logOf(2)), 0x1p-318);
}

TEST(Real, FloorsAndCeils) {
    for (double value : {0.0, 0.5, 1.0, 1.5, 2.0, 1e15 + 0.25, 1e300, 0x1p-1074, 31.999999999999996}) {
        for (double a : {value, -value}) {
            EXPECT_EQ(realToDouble(realFloor(realFromDouble(a))), std::floor(a));
            EXPECT_EQ(realToDouble(realCeil(realFromDouble(a))), std::ceil(a));
        }
    }
}

TEST(Real, AddsAndComparesWithSigns) {
    const double values[] = {0, 1, 1.5, -1, -1.5, 0x1p-60, -0x1p-60, 1e300, -1e300, 3, 1 - 0x1p-53};
    for (double a : values) {
        for (double b : values) {
            EXPECT_EQ(realFromDouble(a) < realFromDouble(b), a < b) << a << " " << b;
            EXPECT_EQ(realToDouble(realFromDouble(a) + realFromDouble(b)), a + b);
            EXPECT_EQ(realToDouble(realFromDouble(a) - realFromDouble(b)), a - b);
        }
    }
}

TEST(Real, RoundsToTheNearestDoubleAndTiesToEven) {
    const auto plus = [](double a, double b) { return realToDouble(realFromDouble(a) + realFromDouble(b)); };
    EXPECT_EQ(plus(1, 0x1p-53), 1.0);
    EXPECT_EQ(plus(1, 0x1.0000000000001p-53), 1 + 0x1p-52);
    EXPECT_EQ(plus(1 + 0x1p-52, 0x1p-53), 1 + 0x1p-51);
    EXPECT_EQ(plus(1 + 0x1p-52, 0x1.fffffffffffffp-54), 1 + 0x1p-52);
    EXPECT_EQ(plus(-2 + 0x1p-52, -0x1p-53), -2.0);
    EXPECT_EQ(plus(0x1p-1000, 0x1p-1053), 0x1p-1000);
    EXPECT_EQ(plus(0x1p-1000, 0x1p-1052), 0x1.0000000000001p-1000);
    EXPECT_EQ(plus(1, 0x1p-320), 1.0);
    EXPECT_EQ(realToDouble((realFromDouble(1 + 0x1p-53) + realFromDouble(0x1p-53)) + realFromDouble(0x1p-300)),
              1 + 0x1p-52);
}
