// Rotations whose cos and sin hold a scale that is no power of two: their products are as good as exact.
#include "plan/pass.h"
#include "plan/resolve.h"
#include "shaders/interface.h"
#include "support/gpu.hpp"
#include "support/rotation.hpp"
#include "support/sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

// In ulps of the pair's length. Cos and sin: 0.515 ulp each, together 0.515 * 2^-23 of their binades' hypotenuse, which
// the scale is no less than; so 0.515 * 2^-23 of the length at most, 1.03 ulp of it. With x from 2^e up and the scale
// from 2^f up, the leading parts are multiples of 2^(e - 11) and 2^(f - 10): their products' sum, at most sqrt(2) *
// 2^(e + f + 2), has 24 bits and is exact. The rest is (x - xh) * ch - ..., sqrt(2) * 2^(e - 12) * 2^(f + 1), and
// x * (c - ch) - ..., sqrt(2) * 2^(e + 1) * sqrt(2) * 2^(f - 11), together 0.0027 * 2^(e + f) where the length's ulp is
// 2^(e + f - 23) or more: rounded three times, 0.004 ulp. The last sum 0.5. In all 1.54.
constexpr double kBound = 1.54;
// Where the leading part is less than 2^-46, of a pair brought to 2, or nothing, the products are rounded, 0.75; the
// result is 0.0027 of the length at most then, and its rounding as little of 0.5: 1.8. In rotate_test.cpp is what a
// power of two has.
constexpr double kPlainBound = 1.97;

// YaRN of factors 4 and 40, beside the binades' and sqrt(2)'s borders, and what inverses take.
const double kScales[] = {1.1386294361119891,
                          1.3688879454113936,
                          1.41421,
                          1.41422,
                          1.43,
                          1.9999,
                          1.0001,
                          1.118,
                          1.25,
                          0.7,
                          0.6,
                          3.3,
                          1 / 1.1386294361119891,
                          -1.1386294361119891,
                          -0.7,
                          -3.3,
                          -1.4142135};
constexpr uint32_t kPairs = 32, kHeads = 64;

bool isPowerOfTwo(double scale) {
    int exponent;
    return std::fabs(std::frexp(scale, &exponent)) == 0.5;
}

RopeRotateDescription describe(const std::vector<double>& frequencies, double scale, uint32_t tokens) {
    RopeRotateDescription d = {};
    d.tokens = tokens;
    d.head_dim = 2 * kPairs;
    d.q.heads = kHeads;
    d.out_of_place = 1;
    d.rotation.frequencies = {frequencies.data(), kPairs, scale, nullptr, 1};
    return d;
}

// Every second head's pairs are, turned, just shorter than a power of two, where an ulp is least beside the length.
std::vector<float> hardValues(uint32_t tokens, double scale, int magnitude, sample::Random* random) {
    std::vector<float> q(size_t{tokens} * kHeads * 2 * kPairs);
    for (size_t i = 0; i < q.size(); ++i) {
        const size_t at = i % (2 * kPairs), head = i / (2 * kPairs);
        if (head % 2 == 0) q[i] = random->value();
        if (head % 2 == 0 || at >= kPairs) continue;
        const double angle = random->next() * 0x1p-32 * 6.283185307179586, length = 2 * (1 - 0x1p-20) / scale;
        q[i] = static_cast<float>(length * std::cos(angle));
        q[i + kPairs] = static_cast<float>(length * std::sin(angle));
    }
    for (float& value : q) value = std::ldexp(value, magnitude);
    return q;
}

// The pairs are of about 2^magnitude.
double worstOnHost(double scale, int magnitude, sample::Random* random) {
    const uint32_t tokens = 4;
    const std::vector<double> frequencies = sample::frequencies(10000, 2 * kPairs);
    RopeRotateDescription d = describe(frequencies, scale, tokens);
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = static_cast<int32_t>(random->next());
    const std::vector<float> q = hardValues(tokens, scale, magnitude, random);
    std::vector<float> out(q.size());
    std::vector<double> reference(q.size());
    RopeHostRotate data = {};
    data.q = q.data();
    data.q_out = out.data();
    data.reference_q = reference.data();
    EXPECT_EQ(ropeHostRunRotate(&d, &data, nullptr), ROPE_SUCCESS);
    RopeRotateDescription filled;
    rope::resolveRotate(d, &filled, nullptr);
    return rotation::worstError(filled, filled.q, reference, out);
}

TEST(Scale, NoneTakesAPairPastTwoUlpsOfItsLength) {
    sample::Random random(1);
    for (const double scale : kScales) {
        double worst = 0;
        for (int round = 0; round < 32; ++round) worst = std::fmax(worst, worstOnHost(scale, 0, &random));
        EXPECT_LE(worst, kBound) << scale;
        RecordProperty("worstUlps" + std::to_string(scale), std::to_string(worst));
    }
    for (const double scale : {0.25, 1.0, 2.0, -1.0, -0.25})
        EXPECT_LE(worstOnHost(scale, 0, &random), kPlainBound) << scale;
}

TEST(Scale, NorDoesAPairsMagnitude) {
    sample::Random random(2);
    for (const int magnitude : {-115, -100, -60, -41, -20, 20, 60, 96, 110, 123}) {
        for (const double scale : kScales) {
            const double worst = worstOnHost(scale, magnitude, &random);
            EXPECT_LE(worst, kBound) << scale << ", 2^" << magnitude;
            EXPECT_GT(worst, 0.9) << scale << ", 2^" << magnitude;
        }
    }
}

uint32_t gridOf(RopeRotateDescription d) {
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    return rope::passAt(plan, 0).constants[ROPE_ID_SCALE_GRID];
}

TEST(Scale, APowerOfTwoCostsNothing) {
    const std::vector<double> frequencies = sample::frequencies(10000, 2 * kPairs);
    for (const RopeSource source : {ROPE_SOURCE_INLINE, ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
        for (const double scale : {0.0, 1.0, 0.125, 16.0, 1 + 1e-12, 1.1386, 0.7, -1.0, -0.125, -1.1386}) {
            RopeRotateDescription d = describe(frequencies, scale, 1);
            d.rotation.source = source;
            d.rotation.rows.count = 1;
            const bool plain = isPowerOfTwo(scale) || scale == 0 || scale == 1 + 1e-12; // as 32 bits keep it
            EXPECT_EQ(gridOf(d) == 0, plain) << source << ", scale " << scale;
            d.rotation.operation = ROPE_OPERATION_TRANSPOSE;
            EXPECT_EQ(gridOf(d) == 0, plain) << source << ", scale " << scale;
            if (source != ROPE_SOURCE_INLINE) continue;
            d.rotation.operation = ROPE_OPERATION_INVERSE;
            EXPECT_EQ(gridOf(d) == 0, plain) << "inverse, scale " << scale;
            d.rotation.operation = ROPE_OPERATION_SHIFT;
            EXPECT_EQ(gridOf(d), 0u) << "shift, scale " << scale;
        }
    }
}

// ---- Far from 1: rows and elements of every magnitude

constexpr double kScale = 1.1386294361119891;

struct Far {
    RopeRotateDescription d = {};
    std::vector<float> rows, q;
};

float signedPower(float mantissa, int exponent, sample::Random* random) {
    return std::ldexp(random->below(2) == 0 ? mantissa : -mantissa, exponent);
}

// Zeros, and normal numbers of which the one is often much less than the other.
void putTwo(int exponent, float* a, float* b, sample::Random* random) {
    float two[2];
    for (float& one : two) {
        const float mantissa = 1 + static_cast<float>(random->next() >> 9) * 0x1p-23f;
        one = signedPower(mantissa, std::max(exponent, -126), random);
        if (random->below(16) == 0) one = signedPower(0, 0, random);
        exponent -= static_cast<int>(random->below(random->below(4) == 0 ? 200 : 30));
    }
    const uint32_t first = random->below(2);
    *a = two[first];
    *b = two[1 - first];
}

// Every second token's sine repeats its cosine, and elements too: leading parts that cancel.
Far makeFar(uint64_t seed) {
    static const float kOdd[] = {INFINITY, -INFINITY, NAN,      0.0f,       -0.0f,    3.4e38f, -2.9e38f, 0x1p97f,
                                 0x1p96f,  -0x1p-46f, 0x1p-47f, 0x1.8p-46f, 0x1p-90f, 1.0f,    -1.5f,    0x1p-126f};
    sample::Random random(seed);
    Far far;
    far.d = describe({}, kScale, 64);
    far.d.rotation.frequencies.values = nullptr;
    far.d.rotation.source = ROPE_SOURCE_ROWS;
    far.rows.resize(size_t{far.d.tokens} * 2 * kPairs);
    far.q.resize(far.rows.size() * kHeads);
    for (size_t i = 0; i < far.rows.size(); ++i) {
        if (i % (2 * kPairs) >= kPairs) continue;
        putTwo(0, &far.rows[i], &far.rows[i + kPairs], &random);
        if (i / (2 * kPairs) % 2 == 0) far.rows[i + kPairs] = far.rows[i];
        if (random.below(64) == 0) far.rows[i] = random.below(2) == 0 ? INFINITY : NAN;
    }
    for (size_t i = 0; i < far.q.size(); ++i) {
        if (i % (2 * kPairs) >= kPairs) continue;
        float* x = &far.q[i];
        float* y = x + kPairs;
        putTwo(static_cast<int>(random.below(254)) - 126, x, y, &random);
        if (random.below(4) == 0) *y = signedPower(*x, 0, &random);
        if (random.below(4) != 0) continue;
        *x = kOdd[random.below(16)];
        if (random.below(2) == 0) *y = kOdd[random.below(16)];
    }
    return far;
}

std::vector<float> onHost(const Far& far) {
    std::vector<float> out(far.q.size());
    RopeHostRotate data = {};
    data.rows = far.rows.data();
    data.q = far.q.data();
    data.q_out = out.data();
    EXPECT_EQ(ropeHostRunRotate(&far.d, &data, nullptr), ROPE_SUCCESS);
    return out;
}

// Four products of one pair and the plain sums of two, each rounded.
struct Plain {
    float products[4], sums[2];
    bool promised; // neither products nor results are denormal or lost
};

Plain plainOf(const Far& far, size_t at, const std::vector<float>& out) {
    const size_t row = at / (2 * kPairs * kHeads) * 2 * kPairs + at % kPairs;
    const float c = far.rows[row], s = far.rows[row + kPairs], x = far.q[at], y = far.q[at + kPairs];
    volatile float products[4] = {x * c, y * s, x * s, y * c};
    Plain plain = {{products[0], products[1], products[2], products[3]}, {}, true};
    plain.sums[0] = plain.products[0] - plain.products[1];
    plain.sums[1] = plain.products[2] + plain.products[3];
    const bool zeros[4] = {x == 0 || c == 0, y == 0 || s == 0, x == 0 || s == 0, y == 0 || c == 0};
    for (int i = 0; i < 4; ++i) plain.promised &= zeros[i] || !(std::fabs(plain.products[i]) < 0x1p-126f);
    for (const float result : {out[at], out[at + kPairs]})
        plain.promised &= result == 0 || !(std::fabs(result) < 0x1p-126f);
    return plain;
}

bool isSame(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

// Counts the pairs that the promise is about, and expects them to be alike.
uint32_t expectPromised(const Far& far, const std::vector<float>& out, const std::vector<float>& other) {
    uint32_t promised = 0, unlike = 0;
    for (size_t at = 0; at < out.size(); ++at) {
        if (at % (2 * kPairs) >= kPairs || !plainOf(far, at, out).promised) continue;
        ++promised;
        unlike += !isSame(out[at], other[at]) || !isSame(out[at + kPairs], other[at + kPairs]);
    }
    EXPECT_EQ(unlike, 0u);
    return promised;
}

// How far a pair's result may be from x * c - y * s in double: 0.75 ulp where products are rounded, otherwise 0.51; and
// half the least denormal.
double farFrom(const Far& far, size_t at, size_t which, const std::vector<float>& out) {
    const size_t row = at / (2 * kPairs * kHeads) * 2 * kPairs + at % kPairs;
    const double c = far.rows[row], s = far.rows[row + kPairs], x = far.q[at], y = far.q[at + kPairs];
    const double exact = which == 0 ? x * c - y * s : x * s + y * c;
    const double length = std::hypot(x, y) * std::hypot(c, s);
    const bool small = std::fabs(exact) < length * 0x1p-40;
    const double ulp = std::ldexp(1, std::max(std::ilogb(length), -126) - 23);
    return (std::fabs(out[at + which * kPairs] - exact) - 0x1p-149) / ulp / (small ? 0.755 : 0.51);
}

TEST(Scale, WhatIsInfiniteOrNoNumberStaysSoAndNothingElse) {
    const Far far = makeFar(1);
    const std::vector<float> out = onHost(far);
    uint32_t lost = 0, large = 0, tiny = 0, short_rows = 0;
    for (size_t at = 0; at < out.size(); ++at) {
        if (at % (2 * kPairs) >= kPairs) continue;
        const Plain plain = plainOf(far, at, out);
        const size_t row = at / (2 * kPairs * kHeads) * 2 * kPairs + at % kPairs;
        const double scale = std::hypot(far.rows[row], far.rows[row + kPairs]);
        const double length = std::hypot(double{far.q[at]}, double{far.q[at + kPairs]}) * scale;
        for (size_t i = 0; i < 2; ++i) {
            if (!std::isfinite(length) || std::isnan(length)) {
                ASSERT_TRUE(isSame(out[at + i * kPairs], plain.sums[i])) << at;
                ++lost;
            } else if (scale < 1 && scale != 0) {
                ++short_rows; // of no such scale
            } else if (length < 0x1.fffffep127) {
                ASSERT_LE(farFrom(far, at, i, out), 1) << at;
                large += length > 0x1p97;
                tiny += length < 0x1p-40;
            }
        }
    }
    EXPECT_GT(lost, 10000u);
    EXPECT_GT(large, 10000u);
    EXPECT_GT(tiny, 10000u);
    EXPECT_LT(short_rows, 80000u);
}

#if defined(__SSE2__)
TEST(Scale, DenormalsThatADeviceFlushesChangeNothingPromised) {
    for (uint64_t seed = 2; seed < 10; ++seed) {
        const Far far = makeFar(seed);
        const std::vector<float> kept = onHost(far);
        const uint32_t before = _mm_getcsr();
        _mm_setcsr(before | 0x8040); // results and operands to zero
        const std::vector<float> flushed = onHost(far);
        _mm_setcsr(before);
        EXPECT_NE(std::memcmp(kept.data(), flushed.data(), kept.size() * sizeof(float)), 0); // there are such
        EXPECT_GT(expectPromised(far, kept, flushed), 50000u);
    }
}
#endif

// ---- On devices

class Scaled : public gpu::OnDevice {};

TEST_P(Scaled, RotationsHaveTheCpusBitsAtEveryMagnitude) {
    const Far far = makeFar(20);
    gpu::Slots slots;
    slots.set(ROPE_SLOT_ROWS, far.rows);
    slots.set(ROPE_SLOT_Q, far.q);
    slots.set(ROPE_SLOT_Q_OUT, std::vector<float>(far.q.size()));
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&far.d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_TRUE(gpu::run(&device(), plan, &slots));
    EXPECT_GT(expectPromised(far, onHost(far), slots.get<float>(ROPE_SLOT_Q_OUT)), 50000u);
}

TEST_P(Scaled, ANegativeScaleNegatesEveryElementOfTheRotaryPart) {
    const std::vector<double> frequencies = sample::frequencies(10000, 2 * kPairs);
    const std::vector<float> q = sample::values(size_t{8} * kHeads * 2 * kPairs, 3);
    for (const double scale : {1.0, 0.5, 1.1386294361119891, 0x1p20, 0x1p-20}) {
        std::vector<float> turned[2];
        for (const bool negative : {false, true}) {
            RopeRotateDescription d = describe(frequencies, negative ? -scale : scale, 8);
            d.positions.kind = ROPE_POSITIONS_COUNTED;
            d.positions.first = 1234567;
            RopePlan plan;
            ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
            gpu::Slots slots;
            slots.set(ROPE_SLOT_FREQUENCIES, sample::words(frequencies, ROPE_ANGLE_EXACT));
            slots.set(ROPE_SLOT_Q, q);
            slots.set(ROPE_SLOT_Q_OUT, std::vector<float>(q.size()));
            ASSERT_TRUE(gpu::run(&device(), plan, &slots));
            turned[negative] = slots.get<float>(ROPE_SLOT_Q_OUT);
        }
        for (float& value : turned[1]) value = -value;
        EXPECT_EQ(turned[0], turned[1]) << scale;
    }
}

TEST_P(Scaled, RotationsHaveTheCpusBitsForEveryScale) {
    struct Shape {
        uint32_t dim;
        RopeElement element;
    };
    const Shape shapes[] = {{64, ROPE_ELEMENT_F32}, {20, ROPE_ELEMENT_F32}, {20, ROPE_ELEMENT_BF16}}; // of every lane
    uint64_t seed = 1;
    for (const double scale : kScales) {
        for (const Shape& shape : shapes) {
            RopeRotateDescription d = {};
            d.tokens = 40;
            d.head_dim = shape.dim;
            d.q.heads = 5;
            d.element = shape.element;
            d.rotation.frequencies.scale = scale;
            d.rotation.rows.count = 300;
            d.rotation.source = static_cast<RopeSource>(seed % 3);
            d.rotation.operation = static_cast<RopeOperation>(seed % (d.rotation.source == ROPE_SOURCE_INLINE ? 4 : 2));
            double worst = 0;
            const testing::AssertionResult result = rotation::check(&device(), d, seed++, &worst);
            EXPECT_TRUE(result) << result.message() << ": scale " << scale << ", dim " << shape.dim;
            EXPECT_LE(worst, d.rotation.operation == ROPE_OPERATION_SHIFT ? kPlainBound : kBound)
                << scale << ", " << shape.dim;
        }
    }
}

ROPE_ON_EVERY_DEVICE(Scaled);

} // namespace
