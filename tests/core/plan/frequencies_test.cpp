// The judge is MPFR, at 400 bits and more.
#include "plan/frequencies.h"
#include "rules/fixed.h"
#include "support/refusal.hpp"
#include <vkrope/rope.hpp>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <mpfr.h>
#include <string>
#include <vector>

using namespace rope;

namespace {

constexpr mpfr_prec_t kPrecision = 500;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoTo64 = 18446744073709551616.0;
constexpr double kMostRadians = 1686629713.0652; // a little less than 2^28 turns

const double kBases[] = {1e4, 1e5, 5e5, 1e6, 1e7, 1, 2, 1.5, 1.1e18, 4294967296.0, 18446744073709549568.0};
const uint32_t kDims[] = {2, 4, 6, 20, 64, 80, 96, 128, 256, 512, 2046, 8192};

class Number {
  public:
    Number() { mpfr_init2(value_, kPrecision); }
    explicit Number(double value) : Number() { mpfr_set_d(value_, value, MPFR_RNDN); }
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;
    ~Number() { mpfr_clear(value_); }
    operator mpfr_ptr() { return value_; }

  private:
    mpfr_t value_;
};

uint64_t bitsOf(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

RopeRule ruleOf(RopeRuleKind kind, uint32_t rotary_dim, double base, double factor) {
    RopeRule rule = {};
    rule.kind = kind;
    rule.rotary_dim = rotary_dim;
    rule.base = base;
    rule.factor = factor;
    return rule;
}

std::vector<double> made(const RopeRule& rule) {
    std::vector<double> frequencies(rule.rotary_dim / 2);
    double scale = 0;
    RopeReason reason;
    EXPECT_EQ(ropeMakeFrequencies(&rule, frequencies.data(), &scale, &reason), ROPE_SUCCESS) << reason.text;
    EXPECT_STREQ(reason.text, "");
    EXPECT_EQ(scale, 1.0);
    return frequencies;
}

std::vector<uint32_t> written(const std::vector<double>& values, RopeAngle angle) {
    const RopeFrequencies frequencies = {values.data(), static_cast<uint32_t>(values.size()), 0, nullptr, 1};
    std::vector<uint32_t> words(ropeFrequencyBytes(frequencies.count) / sizeof(uint32_t), 0xDEADBEEF);
    RopeReason reason;
    EXPECT_EQ(ropeWriteFrequencies(&frequencies, angle, words.data(), &reason), ROPE_SUCCESS) << reason.text;
    EXPECT_STREQ(reason.text, "");
    return words;
}

// base^(-i/n), to the nearest double.
double trueFrequency(double base, uint32_t i, uint32_t n) {
    Number power(base);
    mpfr_pow_ui(power, power, i, MPFR_RNDN);
    mpfr_ui_div(power, 1, power, MPFR_RNDN);
    mpfr_rootn_ui(power, power, n, MPFR_RNDN);
    return mpfr_get_d(power, MPFR_RNDN);
}

// rope.h's layout, spelled out here on purpose: hosts read it there.
constexpr uint32_t kExactMark = 1u << 29;
constexpr uint32_t kCompatibleMark = 1u << 30;

// The four words of a frequency that is not zero, from its turns rounded to a multiple of 2^-96.
std::vector<uint32_t> trueWords(double frequency) {
    Number turns(std::fabs(frequency)), tau;
    mpfr_const_pi(tau, MPFR_RNDN);
    mpfr_mul_2ui(tau, tau, 1, MPFR_RNDN);
    mpfr_div(turns, turns, tau, MPFR_RNDN);
    mpfr_mul_2ui(turns, turns, 96, MPFR_RNDN);
    mpfr_rint(turns, turns, MPFR_RNDN);
    std::vector<uint32_t> words(4);
    for (unsigned i = 0; i < 4; ++i) {
        Number high;
        mpfr_div_2ui(high, turns, 96 - 32 * i, MPFR_RNDN);
        mpfr_floor(high, high);
        words[i] = static_cast<uint32_t>(mpfr_get_ui(high, MPFR_RNDN));
        mpfr_mul_2ui(high, high, 96 - 32 * i, MPFR_RNDN);
        mpfr_sub(turns, turns, high, MPFR_RNDN);
    }
    words[0] |= static_cast<uint32_t>(bitsOf(frequency) >> 63) << 31 | kExactMark;
    return words;
}

// The bits of the nearest float32. Below 2^-126 they are the multiple of 2^-149, asked of MPFR because a program may
// run with such floats flushed to zero.
uint32_t trueFloatBits(double frequency) {
    if (std::fabs(frequency) < 0x1p-126) {
        Number steps(std::fabs(frequency));
        mpfr_mul_2ui(steps, steps, 149, MPFR_RNDN);
        mpfr_rint(steps, steps, MPFR_RNDN);
        return static_cast<uint32_t>(mpfr_get_ui(steps, MPFR_RNDN));
    }
    const float nearest = static_cast<float>(std::fabs(frequency));
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    return bits;
}

// Ordinary ones, ones on both sides of every rounding that matters, the least and the greatest.
std::vector<double> wordSamples() {
    std::vector<double> samples = made(ruleOf(ROPE_RULE_DEFAULT, 128, 1e4, 0));
    for (double value : made(ruleOf(ROPE_RULE_DEFAULT, 512, 1.1e18, 0))) {
        samples.push_back(-value);
    }
    for (int exponent = -1074; exponent <= 30; ++exponent) {
        const double power = std::ldexp(1.0, exponent);
        for (double value : {power, std::nextafter(power, 0.0), std::nextafter(power, 4e9), power * 1.3}) {
            if (value != 0) {
                samples.push_back(exponent % 3 ? value : -value);
            }
        }
    }
    for (double turns : {1.0, 2.0, 3.0, 1000.0, 1048576.0, 268435455.0}) { // near whole turns
        const double value = turns * 6.283185307179586;
        samples.insert(samples.end(), {value, std::nextafter(value, 0.0), -std::nextafter(value, 4e9)});
    }
    samples.insert(samples.end(), {kMostRadians, -kMostRadians, std::numeric_limits<double>::denorm_min()});
    return samples;
}

// The halves of float32's steps, where ties go to even, normal and not.
std::vector<double> floatSamples() {
    std::vector<double> samples = wordSamples();
    for (int exponent = -151; exponent <= 30; ++exponent) {
        for (double mantissa : {0x1.000001p0, 0x1.000003p0, 0x1.ffffffp0, 0x1.fffffefffffffp0, 0x1.8p0, 0x1.4p0}) {
            const double value = std::ldexp(mantissa, exponent);
            if (value < kMostRadians) {
                samples.insert(samples.end(), {value, -std::nextafter(value, 0.0), std::nextafter(value, 4e9)});
            }
        }
    }
    return samples;
}

std::string writeRefusal(const RopeFrequencies& frequencies, RopeAngle angle = ROPE_ANGLE_EXACT) {
    std::vector<uint32_t> words(4 * (ROPE_MAX_PAIRS + 1), 0xDEADBEEF);
    const std::vector<uint32_t> untouched = words;
    RopeReason reason;
    EXPECT_EQ(ropeWriteFrequencies(&frequencies, angle, words.data(), nullptr), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeWriteFrequencies(&frequencies, angle, words.data(), &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(words, untouched);
    return reason.text;
}

std::string valueRefusal(double value, RopeAngle angle = ROPE_ANGLE_EXACT) {
    const double values[] = {1.0, 0.5, value};
    return writeRefusal({values, 3, 1.0, nullptr, 1}, angle);
}

} // namespace

TEST(Frequencies, DefaultRuleIsCorrectlyRounded) {
    for (double base : kBases) {
        for (uint32_t dim : kDims) {
            const std::vector<double> frequencies = made(ruleOf(ROPE_RULE_DEFAULT, dim, base, 0));
            for (uint32_t i = 0; i < dim / 2; ++i) {
                ASSERT_EQ(bitsOf(frequencies[i]), bitsOf(trueFrequency(base, i, dim / 2)))
                    << "base " << base << ", rotary_dim " << dim << ", pair " << i;
            }
        }
    }
}

TEST(Frequencies, DefaultRuleIsCorrectlyRoundedForEveryDimensionUpTo256) {
    for (uint32_t dim = 2; dim <= 256; dim += 2) {
        const double base = 9973.0 + dim * 0.1;
        const std::vector<double> frequencies = made(ruleOf(ROPE_RULE_DEFAULT, dim, base, 0));
        for (uint32_t i = 0; i < dim / 2; ++i) {
            ASSERT_EQ(bitsOf(frequencies[i]), bitsOf(trueFrequency(base, i, dim / 2)))
                << "base " << base << ", rotary_dim " << dim << ", pair " << i;
        }
    }
}

TEST(Frequencies, DefaultRuleGivesPowersOfTwoExactly) {
    const std::vector<double> frequencies = made(ruleOf(ROPE_RULE_DEFAULT, 32, 65536.0, 0));
    for (int i = 0; i < 16; ++i) {
        EXPECT_EQ(frequencies[i], std::ldexp(1.0, -i));
    }
}

TEST(Frequencies, FixedPointRoundsToTheNearestDoubleAndTiesToEven) {
    const auto plus = [](double a, double b) {
        return fixedToDouble(fixedAdd(fixedFromDouble(a), fixedFromDouble(b)));
    };
    EXPECT_EQ(plus(1, 0x1p-53), 1.0);
    EXPECT_EQ(plus(1, 0x1.0000000000001p-53), 1 + 0x1p-52);
    EXPECT_EQ(plus(1 + 0x1p-52, 0x1p-53), 1 + 0x1p-51);
    EXPECT_EQ(plus(1 + 0x1p-52, 0x1.fffffffffffffp-54), 1 + 0x1p-52);
    EXPECT_EQ(plus(2 - 0x1p-52, 0x1p-53), 2.0);
    EXPECT_EQ(plus(0x1p-200, 0x1p-253), 0x1p-200);
    EXPECT_EQ(plus(0, 0), 0.0);
    Fixed least_above_tie = fixedAdd(fixedFromDouble(1), fixedFromDouble(0x1p-53));
    least_above_tie.limbs[0] = 1;
    EXPECT_EQ(fixedToDouble(least_above_tie), 1 + 0x1p-52);
}

TEST(Frequencies, DefaultRuleDoesNotHearTheRoundingMode) {
    const std::vector<double> nearest = made(ruleOf(ROPE_RULE_DEFAULT, 128, 5e5, 0));
    for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        fesetround(mode);
        const std::vector<double> other = made(ruleOf(ROPE_RULE_DEFAULT, 128, 5e5, 0));
        fesetround(FE_TONEAREST);
        EXPECT_EQ(other, nearest);
    }
}

TEST(Frequencies, LinearRuleIsCorrectlyRounded) {
    for (double factor : {1.0, 2.0, 3.0, 4.0, 8.5, 0.7, 1e-9, 1e270}) {
        const std::vector<double> linear = made(ruleOf(ROPE_RULE_LINEAR, 128, 1e4, factor));
        for (uint32_t i = 0; i < 64; ++i) {
            Number quotient(1e4), divisor(factor);
            mpfr_pow_ui(quotient, quotient, i, MPFR_RNDN);
            mpfr_rootn_ui(quotient, quotient, 64, MPFR_RNDN);
            mpfr_mul(quotient, quotient, divisor, MPFR_RNDN);
            mpfr_ui_div(quotient, 1, quotient, MPFR_RNDN);
            ASSERT_EQ(bitsOf(linear[i]), bitsOf(mpfr_get_d(quotient, MPFR_RNDN))) << factor << ", pair " << i;
        }
    }
}

TEST(Frequencies, TakeSixteenBytesAPair) {
    EXPECT_EQ(ropeFrequencyBytes(0), 0u);
    EXPECT_EQ(ropeFrequencyBytes(1), 16u);
    EXPECT_EQ(ropeFrequencyBytes(ROPE_MAX_PAIRS), 65536u);
    if (sizeof(size_t) > 4) {
        EXPECT_EQ(ropeFrequencyBytes(0xFFFFFFFFu), size_t{0xFFFFFFFFu} * 16);
    }
}

TEST(Frequencies, WordsOfSeveralSetsFollowEachOther) {
    const double values[] = {0.5, 0.25, 0.125, 0.75};
    const RopeFrequencies sets = {values, 2, 1, nullptr, 2}, second = {values + 2, 2, 1, nullptr, 0};
    const std::vector<uint32_t> both = frequencyWords(sets, ROPE_ANGLE_EXACT, nullptr);
    const std::vector<uint32_t> last = frequencyWords(second, ROPE_ANGLE_EXACT, nullptr);
    ASSERT_EQ(both.size(), 16u);
    EXPECT_EQ(std::vector<uint32_t>(both.begin() + 8, both.end()), last);
}

TEST(Frequencies, ExactWordsAreTheTurnsRoundedTo96Bits) {
    const std::vector<double> samples = wordSamples();
    for (size_t at = 0; at < samples.size(); at += ROPE_MAX_PAIRS) {
        const std::vector<double> part(samples.data() + at,
                                       samples.data() + std::min(at + ROPE_MAX_PAIRS, samples.size()));
        const std::vector<uint32_t> words = written(part, ROPE_ANGLE_EXACT);
        for (size_t i = 0; i < part.size(); ++i) {
            const std::vector<uint32_t> pair(words.data() + 4 * i, words.data() + 4 * i + 4);
            ASSERT_EQ(pair, trueWords(part[i])) << part[i];
        }
    }
}

TEST(Frequencies, CompatibleWordIsTheNearestFloat) {
    const std::vector<double> samples = floatSamples();
    for (size_t at = 0; at < samples.size(); at += ROPE_MAX_PAIRS) {
        const std::vector<double> part(samples.data() + at,
                                       samples.data() + std::min(at + ROPE_MAX_PAIRS, samples.size()));
        const std::vector<uint32_t> words = written(part, ROPE_ANGLE_COMPATIBLE);
        for (size_t i = 0; i < part.size(); ++i) {
            const uint32_t sign = static_cast<uint32_t>(bitsOf(part[i]) >> 63) << 31;
            const std::vector<uint32_t> pair(words.data() + 4 * i, words.data() + 4 * i + 4);
            ASSERT_EQ(pair, (std::vector<uint32_t>{sign | kCompatibleMark, trueFloatBits(part[i]), 0, 0})) << part[i];
        }
    }
}

TEST(Frequencies, ZeroOfEitherSignIsTheMarkAlone) {
    EXPECT_EQ(written({0.0, -0.0}, ROPE_ANGLE_EXACT),
              (std::vector<uint32_t>{kExactMark, 0, 0, 0, kExactMark, 0, 0, 0}));
    EXPECT_EQ(written({0.0, -0.0}, ROPE_ANGLE_COMPATIBLE),
              (std::vector<uint32_t>{kCompatibleMark, 0, 0, 0, kCompatibleMark, 0, 0, 0}));
}

TEST(Frequencies, AreWrittenToAnyAddress) {
    const double value = 1.0;
    const RopeFrequencies frequencies = {&value, 1, 1.0, nullptr, 1};
    unsigned char bytes[18];
    memset(bytes, 0xA5, sizeof bytes);
    ASSERT_EQ(ropeWriteFrequencies(&frequencies, ROPE_ANGLE_EXACT, bytes + 1, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(memcmp(bytes + 1, written({1.0}, ROPE_ANGLE_EXACT).data(), 16), 0);
    EXPECT_EQ(bytes[0], 0xA5);
    EXPECT_EQ(bytes[17], 0xA5);
}

TEST(Frequencies, RuleRefusesNullPointers) {
    const RopeRule rule = ruleOf(ROPE_RULE_DEFAULT, 4, 1e4, 0);
    double frequencies[2], scale;
    RopeReason reason;
    EXPECT_EQ(ropeMakeFrequencies(nullptr, frequencies, &scale, &reason), ROPE_ERROR_INVALID);
    EXPECT_SAYS(reason.text, "rule is null");
    EXPECT_EQ(ropeMakeFrequencies(&rule, nullptr, &scale, &reason), ROPE_ERROR_INVALID);
    EXPECT_SAYS(reason.text, "frequencies is null");
    EXPECT_EQ(ropeMakeFrequencies(&rule, frequencies, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_SAYS(reason.text, "scale is null");
    EXPECT_EQ(ropeMakeFrequencies(nullptr, nullptr, nullptr, nullptr), ROPE_ERROR_INVALID);
}

TEST(Frequencies, RuleRefusesAnUnknownKind) {
    int unknown = 0;
    while (ropeRuleName(static_cast<RopeRuleKind>(unknown)) != nullptr) ++unknown;
    EXPECT_SAYS(ruleRefusal(ruleOf(static_cast<RopeRuleKind>(unknown), 4, 1e4, 1)),
                "kind is " + std::to_string(unknown));
}

TEST(Frequencies, RuleRefusesAnOddOrOversizedRotaryDim) {
    EXPECT_EQ(ruleRefusal(ruleOf(ROPE_RULE_DEFAULT, 63, 1e4, 0)), "rotary_dim is 63; it must be even, from 2 to 8192");
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_DEFAULT, 0, 1e4, 0)), "rotary_dim is 0;");
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_LINEAR, 8194, 1e4, 2)), "rotary_dim is 8194;");
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_LINEAR, 0xFFFFFFFEu, 1e4, 2)), "rotary_dim is 4294967294;");
}

TEST(Frequencies, RuleRefusesABaseBelowOneOrFrom2To64OrNotFinite) {
    for (double base : {0.0, -0.0, -1e4, 0.5, std::nextafter(1.0, 0.0), kTwoTo64, 1e300, kInfinity, -kInfinity, kNan,
                        -kNan, 5e-324}) {
        EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_DEFAULT, 64, base, 0)), "it must be 1 or more and less than 2^64");
    }
    EXPECT_SAYS(ruleRefusal(ruleOf(ROPE_RULE_DEFAULT, 64, 0.5, 0)), "base is 0.5;");
}

TEST(Frequencies, DefaultRuleDoesNotReadTheFactor) {
    EXPECT_EQ(made(ruleOf(ROPE_RULE_DEFAULT, 64, 1e4, kNan)), made(ruleOf(ROPE_RULE_DEFAULT, 64, 1e4, 0)));
}

TEST(Frequencies, WriteRefusesNullPointers) {
    const double value = 1.0;
    const RopeFrequencies frequencies = {&value, 1, 1.0, nullptr, 1};
    uint32_t words[4];
    RopeReason reason;
    EXPECT_EQ(ropeWriteFrequencies(nullptr, ROPE_ANGLE_EXACT, words, &reason), ROPE_ERROR_INVALID);
    EXPECT_SAYS(reason.text, "frequencies is null");
    EXPECT_EQ(ropeWriteFrequencies(&frequencies, ROPE_ANGLE_EXACT, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_SAYS(reason.text, "destination is null");
    EXPECT_SAYS(writeRefusal({nullptr, 1, 1.0, nullptr, 1}), "frequencies.values is null");
}

TEST(Frequencies, WriteRefusesAnUnknownAngle) {
    const double value = 1.0;
    EXPECT_SAYS(writeRefusal({&value, 1, 1.0, nullptr, 1}, static_cast<RopeAngle>(2)), "angle is 2;");
}

TEST(Frequencies, WriteRefusesACountOfZeroOrAboveTheMost) {
    const std::vector<double> values(ROPE_MAX_PAIRS + 1, 1.0);
    EXPECT_EQ(writeRefusal({values.data(), 0, 1.0, nullptr, 1}), "frequencies.count is 0; it must be from 1 to 4096");
    EXPECT_SAYS(writeRefusal({values.data(), ROPE_MAX_PAIRS + 1, 1.0, nullptr, 1}), "frequencies.count is 4097;");
}

TEST(Frequencies, WriteRefusesAValueThatIsNotFinite) {
    for (double value : {kInfinity, -kInfinity, kNan}) {
        EXPECT_SAYS(valueRefusal(value), "frequencies.values[2] is ");
        EXPECT_SAYS(valueRefusal(value), "it must be finite");
    }
}

TEST(Frequencies, WriteRefusesAValueOf2To28TurnsOrMore) {
    // 2^28 turns are 1686629713.06525...: the two doubles around it.
    Number limit;
    mpfr_const_pi(limit, MPFR_RNDN);
    mpfr_mul_2ui(limit, limit, 29, MPFR_RNDN);
    const double above = mpfr_get_d(limit, MPFR_RNDU), below = mpfr_get_d(limit, MPFR_RNDD);
    for (RopeAngle angle : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
        EXPECT_EQ(written({below, -below}, angle).size(), 8u);
        for (double value : {above, 2e9, 4e9, 1e10, 1.8446744073709552e19, 1e38, 1e39, 1e308}) {
            EXPECT_SAYS(valueRefusal(value, angle), "frequencies.values[2] is ");
            EXPECT_SAYS(valueRefusal(-value, angle), "it must be finite and less than 2^28 turns");
        }
    }
    EXPECT_EQ(written({below}, ROPE_ANGLE_EXACT)[0], kExactMark | ((1u << 28) - 1));
}

TEST(Frequencies, WriteRefusesAScaleOutside2ToMinus20To2To20) {
    const double value = 1.0;
    const double least = std::ldexp(1.0, -20), most = std::ldexp(1.0, 20);
    for (double scale : {0.0, -0.0, 1.0, least, most, -1.0, -least, -most}) {
        const RopeFrequencies frequencies = {&value, 1, scale, nullptr, 1};
        EXPECT_EQ(checkFrequencies(frequencies, nullptr), ROPE_SUCCESS) << scale;
    }
    for (double scale : {std::nextafter(least, 0.0), std::nextafter(-least, 0.0), std::nextafter(most, kInfinity),
                         std::nextafter(-most, -kInfinity), 5e-324, kInfinity, -kInfinity, kNan}) {
        EXPECT_SAYS(writeRefusal({&value, 1, scale, nullptr, 1}), "it must be from 2^-20 to 2^20, either way, or 0");
    }
    EXPECT_SAYS(writeRefusal({&value, 1, -4194304.0, nullptr, 1}), "frequencies.scale is -4194304;");
}
