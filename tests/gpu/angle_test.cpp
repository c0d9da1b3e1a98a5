// The shaders' integer angle, on the CPU.
#include "shaders/numbers/angle.h"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace {

float asFloat(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

double ulps(float value, double truth) { return std::fabs(value - truth) / std::ldexp(1, std::ilogb(truth) - 23); }

const double kTurn = 6.283185307179586477;

TEST(Angle, IsWithin0p51UlpAllOverTheOctant) {
    double worst = 0;
    for (uint32_t high = 0; high < 0x20000000u; high += 97) {
        const rope::RopePhase phase = {high, high * 2654435761u, 12345, 0};
        const rope::uvec2 bits = rope::cos_sin_bits(phase, 0x80000000u, 0);
        const double angle = (phase.high + phase.middle * 0x1p-32) * 0x1p-32 * kTurn;
        worst = std::fmax(worst, ulps(asFloat(bits.x), std::cos(angle)));
        worst = std::fmax(worst, ulps(asFloat(bits.y), std::sin(angle)));
    }
    EXPECT_LE(worst, 0.51);
    RecordProperty("worstUlp", std::to_string(worst));
}

TEST(Angle, HitsTheEighthsOfATurnExactly) {
    const float h = 0.70710678118654752f;
    const float wanted[8][2] = {{1, 0}, {h, h}, {0, 1}, {-h, h}, {-1, 0}, {-h, -h}, {0, -1}, {h, -h}};
    for (uint32_t i = 0; i < 8; ++i) {
        const rope::uvec2 bits = rope::cos_sin_bits({i << 29, 0, 0, 0}, 0x80000000u, 0);
        EXPECT_EQ(asFloat(bits.x), wanted[i][0]) << i;
        EXPECT_EQ(asFloat(bits.y), wanted[i][1]) << i;
        EXPECT_NE(bits.x, 0x80000000u);
        EXPECT_NE(bits.y, 0x80000000u);
    }
}

TEST(Angle, TurnsBackForNegativePositionsAndFrequencies) {
    sample::Random random(2);
    for (int i = 0; i < 100000; ++i) {
        const int32_t position = static_cast<int32_t>(random.next() >> 1);
        uint32_t words[4] = {random.next() >> 4 | ROPE_MARK_EXACT, random.next(), random.next(), random.next()};
        float plain[2], back[2], both[2];
        ropeShaderAngle(ROPE_WHOLE_POSITION(position), words, 1, ROPE_ANGLE_EXACT, plain);
        ropeShaderAngle(ROPE_WHOLE_POSITION(-position), words, 1, ROPE_ANGLE_EXACT, back);
        words[0] |= 0x80000000u;
        ropeShaderAngle(ROPE_WHOLE_POSITION(-position), words, 1, ROPE_ANGLE_EXACT, both);
        ASSERT_EQ(plain[0], back[0]);
        ASSERT_EQ(plain[1], -back[1]);
        ASSERT_EQ(plain[0], both[0]);
        ASSERT_EQ(plain[1], both[1]);
    }
}

// Any position, frequency and mode: within the promise of the reference.
TEST(Angle, IsWithinItsPromiseForAnyPositionAndFrequency) {
    sample::Random random(3);
    double worst_exact = 0, worst_compatible = 0, worst_ulp = 0;
    for (int i = 0; i < 1000000; ++i) {
        const int32_t position = static_cast<int32_t>(random.next()) >> random.below(31);
        const double sign = random.below(2) == 0 ? 1 : -1;
        const double frequency = sign * std::ldexp(1 + random.next() * 0x1p-32 + random.next() * 0x1p-60,
                                                   static_cast<int>(random.below(48)) - 24);
        for (const RopeAngle mode : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
            const std::vector<uint32_t> words = sample::words({frequency}, mode);
            float bits[2];
            double truth[2];
            ropeShaderAngle(ROPE_WHOLE_POSITION(position), words.data(), 1, mode, bits);
            ropeReferenceAngle(ROPE_WHOLE_POSITION(position), frequency, mode, truth);
            double& worst = mode == ROPE_ANGLE_EXACT ? worst_exact : worst_compatible;
            for (int k = 0; k < 2; ++k) {
                worst = std::fmax(worst, std::fabs(bits[k] - truth[k]));
                if (std::fabs(truth[k]) >= 0x1p-30) worst_ulp = std::fmax(worst_ulp, ulps(bits[k], truth[k]));
            }
        }
    }
    EXPECT_LE(worst_exact, std::exp2(-24.9));
    EXPECT_LE(worst_compatible, std::exp2(-24.9));
    EXPECT_LE(worst_ulp, 0.51);
    RecordProperty("worstUlp", std::to_string(worst_ulp));
}

TEST(Angle, IsNanByFrequenciesOfTheOtherAngleOrOfNone) {
    const std::vector<double> frequencies = {1, -0.25, 0, 0x1p-60, 1.6e9};
    const std::vector<uint32_t> unwritten(4 * frequencies.size(), 0), full(unwritten.size(), 0xFFFFFFFF);
    for (const RopeAngle angle : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
        const RopeAngle other = angle == ROPE_ANGLE_EXACT ? ROPE_ANGLE_COMPATIBLE : ROPE_ANGLE_EXACT;
        const std::vector<uint32_t> right = sample::words(frequencies, angle),
                                    wrong = sample::words(frequencies, other);
        for (const int64_t position : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{5} << 32, INT64_MAX}) {
            for (size_t pair = 0; pair < frequencies.size(); ++pair) {
                float cos_sin[2];
                ropeShaderAngle(position, &right[4 * pair], 1.5, angle, cos_sin);
                EXPECT_TRUE(std::isfinite(cos_sin[0]) && std::isfinite(cos_sin[1])) << pair << " at " << position;
                for (const auto* words : {&wrong, &unwritten, &full}) {
                    ropeShaderAngle(position, words->data() + 4 * pair, 1.5, angle, cos_sin);
                    EXPECT_TRUE(std::isnan(cos_sin[0]) && std::isnan(cos_sin[1])) << pair << " at " << position;
                }
            }
        }
    }
}

// float32(position) is a rounding of its own past 2^24, ties to even included.
TEST(Angle, OfCompatibleModeIsTheFloat32Product) {
    sample::Random random(4);
    for (int i = 0; i < 300000; ++i) {
        const int32_t position = static_cast<int32_t>(random.next()) >> random.below(8);
        const float frequency =
            std::ldexp(1 + static_cast<float>(random.next() >> 8) * 0x1p-24f, static_cast<int>(random.below(20)) - 19);
        const std::vector<uint32_t> words = sample::words({frequency}, ROPE_ANGLE_COMPATIBLE);
        volatile float product = static_cast<float>(position) * frequency;
        float bits[2];
        ropeShaderAngle(ROPE_WHOLE_POSITION(position), words.data(), 1, ROPE_ANGLE_COMPATIBLE, bits);
        // Both sides of the true value may round apart only by a tie's width.
        ASSERT_NEAR(bits[0], std::cos(static_cast<double>(product)), 0x1p-24) << position << " * " << frequency;
        ASSERT_NEAR(bits[1], std::sin(static_cast<double>(product)), 0x1p-24) << position << " * " << frequency;
    }
}

} // namespace
