// Frequencies divided by factors on the CPU. The judge is GMP, in exact fractions, and MPFR.
#include "support/sample.hpp"
#include <vkrope/rope.h>

#include <array>
#include <cmath>
#include <cstring>
#include <gmp.h>
#include <gtest/gtest.h>
#include <limits>
#include <mpfr.h>
#include <vector>

namespace {

using Words = std::array<uint32_t, 4>;

constexpr uint32_t kExactMark = 0x20000000, kCompatibleMark = 0x40000000, kMarks = 0x70000000, kSign = 0x80000000;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr RopeAngle kAngles[] = {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE};

float fromBits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

uint32_t bitsOf(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

Words divided(const Words& words, float factor, RopeAngle angle) {
    Words result = {7, 7, 7, 7};
    EXPECT_EQ(ropeDivideFrequencies(words.data(), &factor, 1, angle, result.data(), nullptr), ROPE_SUCCESS);
    return result;
}

class Fraction {
  public:
    Fraction() { mpq_init(value_); }
    Fraction(const Fraction&) = delete;
    Fraction& operator=(const Fraction&) = delete;
    ~Fraction() { mpq_clear(value_); }
    operator mpq_ptr() { return value_; }

  private:
    mpq_t value_;
};

// The turns of the words over |factor|, in 2^-96ths, rounded with halves up. False from 2^124 on.
bool trueTurns(const Words& words, float factor, Words* quotient) {
    const Words turns = {words[0] & 0x0FFFFFFF, words[1], words[2], words[3]};
    Fraction exact, divisor, half;
    mpz_import(mpq_numref(static_cast<mpq_ptr>(exact)), 4, 1, sizeof(uint32_t), 0, 0, turns.data());
    mpq_set_d(divisor, std::fabs(static_cast<double>(factor)));
    mpq_div(exact, exact, divisor);
    mpq_set_ui(half, 1, 2);
    mpq_add(exact, exact, half);
    mpz_t whole;
    mpz_init(whole);
    mpz_fdiv_q(whole, mpq_numref(static_cast<mpq_ptr>(exact)), mpq_denref(static_cast<mpq_ptr>(exact)));
    *quotient = {};
    const bool fits = mpz_sizeinbase(whole, 2) <= 124;
    if (fits) {
        for (int i = 3; i >= 0; --i) {
            (*quotient)[static_cast<size_t>(i)] = static_cast<uint32_t>(mpz_get_ui(whole) & 0xFFFFFFFFu);
            mpz_fdiv_q_2exp(whole, whole, 32);
        }
    }
    mpz_clear(whole);
    return fits;
}

bool trueRadians(uint32_t bits, float factor, uint32_t* quotient) {
    mpfr_t exact;
    mpfr_init2(exact, 400);
    mpfr_set_flt(exact, fromBits(bits), MPFR_RNDN);
    mpfr_div_d(exact, exact, std::fabs(static_cast<double>(factor)), MPFR_RNDN);
    const float value = mpfr_get_flt(exact, MPFR_RNDN);
    mpfr_clear(exact);
    *quotient = bitsOf(value);
    return value < 0x1p96f;
}

Words expected(const Words& words, float factor, RopeAngle angle) {
    const uint32_t mark = angle == ROPE_ANGLE_EXACT ? kExactMark : kCompatibleMark;
    if ((words[0] & kMarks) != mark || std::isnan(factor) || factor == 0) return {};
    if (words == Words{mark} || std::isinf(factor)) return {mark}; // 0, without a sign
    const uint32_t sign = (words[0] ^ bitsOf(factor)) & kSign;
    Words quotient = {};
    const bool fits =
        angle == ROPE_ANGLE_EXACT ? trueTurns(words, factor, &quotient) : trueRadians(words[1], factor, &quotient[1]);
    quotient[0] |= mark | sign;
    return fits ? quotient : Words{};
}

// Divisors as models have them, and at every border.
std::vector<float> factors() {
    std::vector<float> all = {1,
                              -1,
                              2,
                              0.5f,
                              -4,
                              3,
                              0x1.fffffep0f,
                              0x1.000002p0f,
                              64,
                              -0.75f,
                              0,
                              -0.0f,
                              NAN,
                              kInfinity,
                              -kInfinity,
                              0x1p-149f,
                              0x1p-126f,
                              0x1.fffffcp-127f,
                              0x1.fffffep127f,
                              0x1p127f,
                              0x1p-28f,
                              0x1p-29f,
                              0x1p-27f,
                              0x1p96f,
                              0x1p97f,
                              0x1p123f,
                              0x1p124f,
                              0x1p-96f,
                              0x1p-68f,
                              0x1p-69f,
                              0x1.8p-150f,
                              8388609.0f};
    sample::Random random(3);
    for (int i = 0; i < 60; ++i) {
        all.push_back(0.9f + 0.2f * std::fabs(random.value()) / 2); // as ggml's own tests draw them
        all.push_back(1 + 63 * std::fabs(random.value()) / 2);      // LongRoPE's
        all.push_back(fromBits(random.next()));
        all.push_back(fromBits(random.next() & 0x807FFFFF)); // denormal
        all.push_back(std::ldexp(random.value(), static_cast<int>(random.below(160)) - 80));
    }
    return all;
}

std::vector<Words> bases(RopeAngle angle) {
    std::vector<double> frequencies = sample::frequencies(10000, 128);
    for (const double one :
         {0.0, -1.0, 1e9, -1.6e9, 1e-20, 1e-28, 1e-29, 2e-30, 6.283185307179586, 1e-39, 1e-45, 1e-50})
        frequencies.push_back(one);
    const std::vector<uint32_t> words = sample::words(frequencies, angle);
    std::vector<Words> all(frequencies.size());
    std::memcpy(all.data(), words.data(), words.size() * sizeof words[0]);
    const bool exact = angle == ROPE_ANGLE_EXACT;
    const uint32_t mark = exact ? kExactMark : kCompatibleMark;
    sample::Random random(4);
    for (int i = 0; i < 100; ++i) {
        Words made = {};
        if (exact) {
            made = {random.next(), random.next(), random.next(), random.next()};
            for (uint32_t word = 0; word < random.below(4); ++word) made[word] &= kSign; // leading zeros
            if (random.below(3) == 0) made[3] = 0;
        } else {
            made[1] = random.next() % 0x4F000000;
            made[0] = random.next() & kSign;
        }
        made[0] = (made[0] & ~kMarks) | mark;
        all.push_back(made);
    }
    if (exact) {
        all.push_back({0x2FFFFFFF, UINT32_MAX, UINT32_MAX, UINT32_MAX});
        all.push_back({kExactMark, 0, 0, 1});
        all.push_back({kExactMark, 0, 0, 3}); // halves in the middle
        all.push_back({kExactMark, 1, 0, 0});
        all.push_back({kExactMark | 1, 0, 0, 0});
    } else {
        for (const uint32_t bits : {1u, 2u, 3u, 0x7FFFFFu, 0x800000u, 0x800001u, 0xFFFFFFu, 0x4EC90FDBu, 0x7F7FFFFFu})
            all.push_back({kCompatibleMark, bits, 0, 0});
    }
    return all;
}

TEST(Divide, IsTheNearestQuotientOfEveryFactor) {
    size_t marked = 0, zeros = 0;
    for (const RopeAngle angle : kAngles) {
        for (const Words& base : bases(angle)) {
            for (const float factor : factors()) {
                const Words got = divided(base, factor, angle), wanted = expected(base, factor, angle);
                ASSERT_EQ(got, wanted) << angle << ": " << std::hex << base[0] << " " << base[1] << " " << base[2]
                                       << " " << base[3] << " by " << std::hexfloat << factor;
                (got == Words{} ? zeros : marked)++;
            }
        }
    }
    EXPECT_GT(marked, 50000u);
    EXPECT_GT(zeros, 5000u);
}

TEST(Divide, ByOneChangesNothingAndByMinusOneTheSign) {
    for (const RopeAngle angle : kAngles) {
        for (Words base : bases(angle)) {
            if (angle == ROPE_ANGLE_COMPATIBLE && base[1] >= 0x6F800000) continue;
            EXPECT_EQ(divided(base, 1, angle), base);
            Words turned = base;
            if (base != Words{base[0] & kMarks}) turned[0] ^= kSign;
            EXPECT_EQ(divided(base, -1, angle), turned);
        }
    }
}

// ropeWriteFrequencies writes no sign for 0 and -0 either.
TEST(Divide, GivesZeroNoSign) {
    for (const RopeAngle angle : kAngles) {
        const std::vector<uint32_t> words = sample::words({0.0, -0.0, -2.0}, angle);
        const Words zero = {words[0], words[1], words[2], words[3]}, two = {words[8], words[9], words[10], words[11]};
        EXPECT_EQ((Words{words[4], words[5], words[6], words[7]}), zero);
        for (const float factor : {-1.0f, 1.0f, -0x1p-149f, -0x1p100f, -kInfinity, kInfinity})
            EXPECT_EQ(divided(zero, factor, angle), zero) << factor;
        for (const float factor : {kInfinity, -kInfinity}) EXPECT_EQ(divided(two, factor, angle), zero);
    }
}

// Halves of a denormal go to the even one.
TEST(Divide, RoundsDenormalsToEven) {
    const auto half = [](uint32_t bits) { return divided({kCompatibleMark, bits, 0, 0}, 2, ROPE_ANGLE_COMPATIBLE)[1]; };
    EXPECT_EQ(half(1), 0u);
    EXPECT_EQ(half(2), 1u);
    EXPECT_EQ(half(3), 2u);
    EXPECT_EQ(half(5), 2u);
    EXPECT_EQ(half(0x800000), 0x400000u);
    EXPECT_EQ(half(0x800001), 0x400000u);
    EXPECT_EQ(half(0x800003), 0x400002u);
    // Bits that lie far below the half decide too.
    const auto shortened = [](uint32_t bits) {
        return divided({kCompatibleMark, bits, 0, 0}, 512, ROPE_ANGLE_COMPATIBLE)[1];
    };
    EXPECT_EQ(shortened(0x8000FF), 0x4000u);
    EXPECT_EQ(shortened(0x800100), 0x4000u);
    EXPECT_EQ(shortened(0x800101), 0x4001u);
    EXPECT_EQ(shortened(0x800300), 0x4002u);
}

TEST(Divide, GivesZerosWhereNoWordsAre) {
    const Words base = {kExactMark | 1, 2, 3, 4}, radians = {kCompatibleMark, bitsOf(1), 0, 0};
    for (const float factor : {0.0f, -0.0f, NAN, -NAN, 0x1p-28f})
        EXPECT_EQ(divided(base, factor, ROPE_ANGLE_EXACT), Words{});
    EXPECT_NE(divided(base, 0x1p-27f, ROPE_ANGLE_EXACT), Words{});
    for (const float factor : {0.0f, -0.0f, NAN, 0x1p-96f, 0x1p-149f})
        EXPECT_EQ(divided(radians, factor, ROPE_ANGLE_COMPATIBLE), Words{});
    EXPECT_NE(divided(radians, 0x1.000002p-96f, ROPE_ANGLE_COMPATIBLE), Words{});
    EXPECT_EQ(divided(base, 1, ROPE_ANGLE_COMPATIBLE), Words{}) << "words of the other angle";
    EXPECT_EQ(divided(radians, 1, ROPE_ANGLE_EXACT), Words{});
    for (const uint32_t bits : {0x7F800000u, 0x7FC00000u, 0xBF800000u})
        EXPECT_EQ(divided({kCompatibleMark, bits, 0, 0}, 2, ROPE_ANGLE_COMPATIBLE), Words{}) << bits;
    EXPECT_EQ(divided({0, 0, 0, 0}, 2, ROPE_ANGLE_EXACT), Words{});
    EXPECT_EQ(divided({kMarks, 0, 0, 0}, 2, ROPE_ANGLE_EXACT), Words{});
}

// The words are off by 2^-97 turns at most, which the factor divides too.
TEST(Divide, IsWithinTheErrorThatIsPromised) {
    mpfr_t turns, truth, most;
    for (mpfr_ptr one : {turns, truth, most}) mpfr_init2(one, 500);
    for (const double frequency : sample::frequencies(500000, 128)) {
        const std::vector<uint32_t> words = sample::words({frequency}, ROPE_ANGLE_EXACT);
        for (const float factor : {1.0f, 0.93f, 1.07f, 33.125f, 1e-3f, 0x1p-20f}) {
            const Words got = divided({words[0], words[1], words[2], words[3]}, factor, ROPE_ANGLE_EXACT);
            mpfr_set_ui(turns, got[0] & 0x0FFFFFFF, MPFR_RNDN);
            for (size_t i = 1; i < 4; ++i) {
                mpfr_mul_2ui(turns, turns, 32, MPFR_RNDN);
                mpfr_add_ui(turns, turns, got[i], MPFR_RNDN);
            }
            mpfr_const_pi(truth, MPFR_RNDN);
            mpfr_d_div(truth, frequency / 2, truth, MPFR_RNDN);
            mpfr_div_d(truth, truth, static_cast<double>(factor), MPFR_RNDN);
            mpfr_mul_2ui(truth, truth, 96, MPFR_RNDN);
            mpfr_sub(truth, truth, turns, MPFR_RNDN);
            EXPECT_LE(std::fabs(mpfr_get_d(truth, MPFR_RNDN)), 0.5 / static_cast<double>(factor) + 0.5);
        }
    }
    for (mpfr_ptr one : {turns, truth, most}) mpfr_clear(one);
}

TEST(Divide, TakesManyPairsInPlaceAndRefusesAnAngleThatThereIsNot) {
    std::vector<uint32_t> words = sample::words({1, 2, 3}, ROPE_ANGLE_EXACT);
    const std::vector<uint32_t> wanted = sample::words({-1, 2, -3}, ROPE_ANGLE_EXACT), before = words;
    const float factors[] = {-1, 1, -1};
    RopeReason reason;
    EXPECT_EQ(ropeDivideFrequencies(words.data(), factors, 3, static_cast<RopeAngle>(2), words.data(), &reason),
              ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "angle is 2; it must be from 0 to 1");
    EXPECT_EQ(words, before);
    EXPECT_EQ(ropeDivideFrequencies(words.data(), factors, 3, ROPE_ANGLE_EXACT, words.data(), &reason), ROPE_SUCCESS);
    EXPECT_EQ(words, wanted);
    EXPECT_STREQ(reason.text, "");
}

} // namespace
