// The judge is MPFR, at 400 bits.
#include <vkrope/rope.h>

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <mpfr.h>
#include <string>
#include <vector>

namespace {

constexpr mpfr_prec_t kPrecision = 400;
constexpr double kBound = 0x1p-51;
constexpr double kMostRadians = 1686629713.0652; // a little less than 2^28 turns

const int32_t kPositions[] = {4095,        131071,
                              1000000,     16777215,
                              16777216,    16777217,
                              33554433,    305419896,
                              715827883,   1073741824,
                              2147483521,  2147483646,
                              2147483647,  -1,
                              -2,          -7,
                              -4095,       -131071,
                              -1000000,    -16777217,
                              -2147483647, std::numeric_limits<int32_t>::min()};

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

// The judge's cos and sin of position * frequency, or of the float32 angle.
struct Truth {
    Number cos_sin[2];

    Truth(int32_t position, double frequency, RopeAngle kind) {
        Number angle(frequency);
        if (kind == ROPE_ANGLE_COMPATIBLE) {
            const float product = static_cast<float>(position) * static_cast<float>(frequency);
            mpfr_set_flt(angle, product, MPFR_RNDN);
        } else {
            mpfr_mul_si(angle, angle, position, MPFR_RNDN);
        }
        mpfr_sin_cos(cos_sin[1], cos_sin[0], angle, MPFR_RNDN);
    }

    double errorOf(const double found[2], int which) {
        Number difference(found[which]);
        mpfr_sub(difference, difference, cos_sin[which], MPFR_RNDN);
        return std::fabs(mpfr_get_d(difference, MPFR_RNDN));
    }

    double sine() { return mpfr_get_d(cos_sin[1], MPFR_RNDN); }
};

double worstError(int32_t position, double frequency, RopeAngle kind) {
    double found[2] = {9, 9};
    ropeReferenceAngle(ROPE_WHOLE_POSITION(position), frequency, kind, found);
    Truth truth(position, frequency, kind);
    const double cos_error = truth.errorOf(found, 0), sin_error = truth.errorOf(found, 1);
    return cos_error > sin_error ? cos_error : sin_error;
}

std::vector<double> frequencies() {
    std::vector<double> values;
    for (double base : {1e4, 5e5, 1e7}) {
        for (int i = 0; i < 64; i += 3) {
            values.push_back(std::pow(base, -i / 64.0) * (i % 2 ? -1 : 1));
        }
    }
    values.insert(values.end(), {0.25, 0.5, 1.5707963267948966, 3.141592653589793, 6.283185307179586, 100.0, 1e6, 1e9,
                                 -1e9, kMostRadians, -kMostRadians, 1e-8, 1e-10, 1e-12, 2.3283064365386963e-10});
    return values;
}

void expectWithinBound(RopeAngle kind) {
    double worst = 0;
    for (double frequency : frequencies()) {
        for (int32_t position = 0; position < 4096; position += 37) {
            const double error = worstError(position, frequency, kind);
            ASSERT_LE(error, kBound) << position << " * " << frequency;
            worst = std::fmax(worst, error);
        }
        for (int32_t position : kPositions) {
            const double error = worstError(position, frequency, kind);
            ASSERT_LE(error, kBound) << position << " * " << frequency;
            worst = std::fmax(worst, error);
        }
    }
    ::testing::Test::RecordProperty("worst_error_log2", std::to_string(std::log2(worst)));
}

// Rows that are not given are made of frequencies and positions. A token of no sequence has the row of no turn.
TEST(ReferenceAngle, RowsThatAreNotGivenAreMade) {
    const double frequency = 0.5;
    const int32_t lengths[] = {0, 2}; // where the only sequence begins and ends
    const float x[6] = {3, 4, 3, 4, 3, 4};
    float out[6] = {};
    RopeRotateDescription d = {};
    d.tokens = 3;
    d.head_dim = 2;
    d.q.heads = 1;
    d.out_of_place = 1;
    d.rotation.frequencies = {&frequency, 1, 1, nullptr, 1};
    d.rotation.source = ROPE_SOURCE_ROWS;
    d.positions.kind = ROPE_POSITIONS_PACKED;
    d.positions.sequences = 1;
    RopeHostRotate host = {};
    host.positions = lengths;
    host.q = x;
    host.q_out = out;
    RopeReason reason;
    ASSERT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_SUCCESS) << reason.text;
    for (const int token : {0, 2}) {
        EXPECT_EQ(out[2 * token], 3) << token;
        EXPECT_EQ(out[2 * token + 1], 4) << token;
    }
    EXPECT_NEAR(out[2], 3 * std::cos(0.5) - 4 * std::sin(0.5), 1e-6);
}

} // namespace

TEST(ReferenceAngle, IsTheTrueAngleWithin2ToMinus51) { expectWithinBound(ROPE_ANGLE_EXACT); }

TEST(ReferenceAngle, CompatibleIsTheFloatAngleWithin2ToMinus51) { expectWithinBound(ROPE_ANGLE_COMPATIBLE); }

// A plain double product is off by 2^-23 here.
TEST(ReferenceAngle, LosesNothingAtTheFarthestPositions) {
    for (int32_t i = 0; i < 20000; ++i) {
        const double frequency = 1.0 - i * 4.7e-5;
        for (int32_t position : {std::numeric_limits<int32_t>::max() - i, std::numeric_limits<int32_t>::min() + i}) {
            ASSERT_LE(worstError(position, frequency, ROPE_ANGLE_EXACT), kBound) << position << " * " << frequency;
        }
    }
}

TEST(ReferenceAngle, SinesOfTinyAnglesKeepTheirRelativeAccuracy) {
    for (double frequency = 0.4; frequency > 1e-300; frequency *= 0.137) {
        for (int32_t position : {1, -1, 3, 1000, 2147483647}) {
            if (std::fabs(position * frequency) < 0.5) {
                double found[2];
                ropeReferenceAngle(ROPE_WHOLE_POSITION(position), frequency, ROPE_ANGLE_EXACT, found);
                Truth truth(position, frequency, ROPE_ANGLE_EXACT);
                EXPECT_LE(truth.errorOf(found, 1), std::fabs(truth.sine()) * 0x1p-51) << position << " * " << frequency;
            }
        }
    }
}

// Frequencies that are multiples of a quarter turn but for a rounding: what is left of the sine or cosine is small.
TEST(ReferenceAngle, SinesNearWholeTurnsKeepTheirFirstThirtyBits) {
    for (int32_t position : {1, 2, 3, 5, 1000, 65536, 2147483647, -2147483647}) {
        double found[2];
        ropeReferenceAngle(ROPE_WHOLE_POSITION(position), 6.283185307179586, ROPE_ANGLE_EXACT, found);
        Truth truth(position, 6.283185307179586, ROPE_ANGLE_EXACT);
        EXPECT_LE(truth.errorOf(found, 1), std::fabs(truth.sine()) * 0x1p-30) << position;
    }
}

TEST(ReferenceAngle, PositionZeroIsExactlyOneAndPlusZero) {
    for (RopeAngle kind : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
        for (double frequency : {1.0, -1.0, 0.0, -0.0, 1e-300, kMostRadians, -kMostRadians}) {
            double found[2] = {9, 9};
            ropeReferenceAngle(ROPE_WHOLE_POSITION(0), frequency, kind, found);
            EXPECT_EQ(found[0], 1.0);
            EXPECT_EQ(found[1], 0.0);
            EXPECT_FALSE(std::signbit(found[1]));
        }
    }
}

TEST(ReferenceAngle, FrequencyZeroLeavesEveryPositionUnturned) {
    for (RopeAngle kind : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
        for (int32_t position : kPositions) {
            double found[2] = {9, 9};
            ropeReferenceAngle(ROPE_WHOLE_POSITION(position), -0.0, kind, found);
            EXPECT_EQ(found[0], 1.0);
            EXPECT_EQ(found[1], 0.0);
            EXPECT_FALSE(std::signbit(found[1]));
        }
    }
}

TEST(ReferenceAngle, NegativeFrequenciesAndPositionsTurnTheOtherWay) {
    for (RopeAngle kind : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
        double forward[2], backward[2], twice[2];
        ropeReferenceAngle(ROPE_WHOLE_POSITION(1000), 0.7, kind, forward);
        ropeReferenceAngle(ROPE_WHOLE_POSITION(-1000), 0.7, kind, backward);
        ropeReferenceAngle(ROPE_WHOLE_POSITION(-1000), -0.7, kind, twice);
        EXPECT_EQ(backward[0], forward[0]);
        EXPECT_EQ(backward[1], -forward[1]);
        EXPECT_EQ(twice[0], forward[0]);
        EXPECT_EQ(twice[1], forward[1]);
    }
}

TEST(ReferenceAngle, CompatibleRoundsPositionAndProductToFloat) {
    double a[2], b[2], exact[2];
    ropeReferenceAngle(ROPE_WHOLE_POSITION(16777217), 0.1, ROPE_ANGLE_COMPATIBLE, a);
    ropeReferenceAngle(ROPE_WHOLE_POSITION(16777216), 0.1, ROPE_ANGLE_COMPATIBLE, b);
    ropeReferenceAngle(ROPE_WHOLE_POSITION(16777217), 0.1, ROPE_ANGLE_EXACT, exact);
    EXPECT_EQ(a[0], b[0]);
    EXPECT_EQ(a[1], b[1]);
    EXPECT_GT(std::fabs(a[0] - exact[0]), 1e-3);
}

TEST(ReferenceAngle, IsNotANumberWhereTheFrequencyIsNotAllowed) {
    for (double frequency :
         {1e10, -1e10, 1e308, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        for (RopeAngle kind : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
            double found[2] = {9, 9};
            ropeReferenceAngle(ROPE_WHOLE_POSITION(7), frequency, kind, found);
            EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1])) << frequency;
        }
    }
}
