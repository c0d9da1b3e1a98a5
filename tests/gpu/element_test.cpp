// 16-bit elements: conversions against arithmetic of another kind, and results that are the float32 result rounded
// once.
#include "support/combinations.hpp"
#include "support/gpu.hpp"
#include "support/rotation.hpp"
#include "support/sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

struct Format {
    RopeElement element;
    int mantissa, least; // bits behind the point, exponent of the smallest normal number
    double largest;
};
const Format kFormats[] = {{ROPE_ELEMENT_F16, 10, -14, 65504}, {ROPE_ELEMENT_BF16, 7, -126, 0x1.FEp127}};

double decode(const Format& f, uint16_t bits) {
    const int exponent_bits = 15 - f.mantissa;
    const int mantissa = bits & ((1 << f.mantissa) - 1);
    const int exponent = (bits >> f.mantissa) & ((1 << exponent_bits) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(mantissa, f.least - f.mantissa);
    return sign * std::ldexp((1 << f.mantissa) + mantissa, exponent - 1 + f.least - f.mantissa);
}

// The nearest number of the format, ties to even, as a double.
double nearest(const Format& f, double value) {
    if (std::isnan(value) || std::isinf(value)) return value;
    const int exponent = value == 0 ? f.least : std::max(std::ilogb(value), f.least);
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, f.mantissa - exponent)), exponent - f.mantissa);
    return std::fabs(rounded) > f.largest ? std::copysign(INFINITY, value) : rounded;
}

bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

uint16_t narrow(const Format& f, float value) {
    uint16_t bits;
    ropeConvertElements(&value, ROPE_ELEMENT_F32, &bits, f.element, 1);
    return bits;
}

TEST(Element, WidensEveryValueExactlyAndBackUnchanged) {
    for (const Format& f : kFormats) {
        for (uint32_t bits = 0; bits < 65536; ++bits) {
            const uint16_t half = static_cast<uint16_t>(bits);
            float wide;
            ropeConvertElements(&half, f.element, &wide, ROPE_ELEMENT_F32, 1);
            ASSERT_TRUE(same(wide, decode(f, half))) << bits;
            ASSERT_TRUE(std::isnan(wide) || narrow(f, wide) == half);
            uint16_t copy = 0;
            ropeConvertElements(&half, f.element, &copy, f.element, 1);
            ASSERT_EQ(copy, half);
        }
    }
}

TEST(Element, RoundsToNearestEvenFromZeroToBeyondTheLargest) {
    sample::Random random(1);
    for (const Format& f : kFormats) {
        for (int i = 0; i < 3000000; ++i) {
            uint32_t bits = random.next();
            if (i % 3 == 0) bits &= f.element == ROPE_ELEMENT_F16 ? 0xFFFFF000u : 0xFFFF8000u; // ties
            if (i % 2 == 0 && f.element == ROPE_ELEMENT_F16) bits = (bits & 0x8FFFFFFFu) + 0x30000000u;
            float value;
            std::memcpy(&value, &bits, 4);
            ASSERT_TRUE(same(decode(f, narrow(f, value)), nearest(f, value))) << std::hexfloat << value;
        }
    }
}

TEST(Element, RoundsEveryMiddleOfTwoHalvesToTheEvenOne) {
    for (uint32_t sign = 0; sign < 2; ++sign) {
        for (uint16_t half = 0; half < 0x7C00; ++half) {
            const uint16_t negative = static_cast<uint16_t>(sign << 15);
            const double next = half == 0x7BFF ? 65536 : decode(kFormats[0], static_cast<uint16_t>(half + 1));
            const float middle = static_cast<float>((decode(kFormats[0], half) + next) / 2);
            const float below = std::nextafter(middle, 0.0f), above = std::nextafter(middle, INFINITY);
            const float sides[3] = {below, middle, above};
            const int wanted[3] = {half, half + half % 2, half + 1};
            for (int i = 0; i < 3; ++i)
                ASSERT_EQ(narrow(kFormats[0], sign != 0 ? -sides[i] : sides[i]), wanted[i] | negative) << sides[i];
        }
    }
}

TEST(Element, KeepsANanANan) {
    uint32_t bits = 0x7F800001u; // a payload that 16 bits lose
    float value;
    std::memcpy(&value, &bits, 4);
    EXPECT_EQ(narrow(kFormats[0], value), 0x7E00u);
    EXPECT_EQ(narrow(kFormats[1], value), 0x7FC0u);
}

class Elements : public gpu::OnDevice {
  protected:
    // The rotation of a whole set of slots, elsewhere, elements as given.
    std::vector<uint8_t> rotate(RopeRotateDescription d, RopeElement in, RopeElement out, const std::vector<uint8_t>& q,
                                const std::vector<double>& frequencies) {
        d.element = in;
        d.element_out = out;
        d.rotation.frequencies = {frequencies.data(), static_cast<uint32_t>(frequencies.size()), 1, nullptr, 1};
        RopePlan plan;
        EXPECT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots slots;
        slots.bytes[ROPE_SLOT_Q] = q;
        slots.bytes[ROPE_SLOT_Q_OUT].resize(plan.bytes[ROPE_SLOT_Q_OUT]);
        slots.set(ROPE_SLOT_FREQUENCIES, sample::words(frequencies, ROPE_ANGLE_EXACT));
        EXPECT_TRUE(gpu::run(&device(), plan, &slots));
        return slots.bytes[ROPE_SLOT_Q_OUT];
    }
};

// Every 16-bit value as the first element of a pair and as the second, at 64 positions.
TEST_P(Elements, AreTheFloat32ResultRoundedOnceForAllInputsAndSixtyFourAngles) {
    RopeRotateDescription d = {};
    d.tokens = 64;
    d.head_dim = 8;
    d.q.heads = 16384;
    d.out_of_place = 1;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    const std::vector<double> frequencies = {0.1, 0.37, 1, 2.2};
    const size_t row = d.q.heads * 8, count = row * d.tokens;
    for (const Format& f : kFormats) {
        for (const RopePairing pairing : {ROPE_PAIRING_HALF, ROPE_PAIRING_INTERLEAVED}) {
            d.rotation.pairing = pairing;
            std::vector<uint16_t> q(count);
            for (size_t i = 0; i < count; ++i) {
                const size_t element = i % 8, first = pairing == ROPE_PAIRING_HALF ? element < 4 : element % 2 == 0;
                const size_t pair = pairing == ROPE_PAIRING_HALF ? element % 4 : element / 2;
                const size_t value = (i / 8 % d.q.heads) * 4 + pair;
                q[i] = static_cast<uint16_t>(first ? value : value * 40503 + 977);
            }
            std::vector<uint8_t> halves(count * 2), floats(count * 4);
            std::memcpy(halves.data(), q.data(), halves.size());
            ropeConvertElements(q.data(), f.element, floats.data(), ROPE_ELEMENT_F32, count);
            const std::vector<uint8_t> result = rotate(d, f.element, f.element, halves, frequencies);
            const std::vector<uint8_t> full = rotate(d, ROPE_ELEMENT_F32, ROPE_ELEMENT_F32, floats, frequencies);
            size_t wrong = 0;
            for (size_t i = 0; i < count; ++i) {
                uint16_t got;
                float exact;
                std::memcpy(&got, &result[2 * i], 2);
                std::memcpy(&exact, &full[4 * i], 4);
                wrong += !same(decode(f, got), nearest(f, exact));
            }
            EXPECT_EQ(wrong, 0u) << "of " << count << ", element " << f.element << ", pairing " << pairing;
        }
    }
}

struct Geometry {
    const char* name;
    uint32_t head_dim, begin, dim;
    uint64_t gap; // elements between tokens, and before the first
};
const Geometry kGeometries[] = {{"wide", 128, 0, 0, 0},     {"partial", 80, 0, 32, 4}, {"even", 20, 2, 12, 2},
                                {"oddPairs", 22, 4, 10, 0}, {"oddHead", 33, 5, 6, 0},  {"oddGap", 64, 0, 0, 1}};

// Every pair of elements, in place where they are the same, however lanes lie. 16-bit elements at odd places are
// refused in words that say so.
TEST_P(Elements, HaveTheCpusBitsInEveryGeometryAndCombination) {
    const auto mayMove = [](const combinations::Choices& c) { return c[3] > 1 || c[1] == c[2]; }; // in place the same
    uint64_t seed = 100;
    for (const combinations::Choices& c :
         share(combinations::of({std::size(kGeometries), 3, 3, 5, 2}, strength(), mayMove))) {
        const Geometry& g = kGeometries[c[0]];
        RopeRotateDescription d = {};
        d.batch = 2;
        d.tokens = 5;
        d.head_dim = g.head_dim;
        d.rotation.rotary_begin = g.begin;
        d.rotation.rotary_dim = g.dim;
        d.out_of_place = c[3] > 1;
        d.element = static_cast<RopeElement>(1 + c[1]);
        d.element_out = static_cast<RopeElement>(1 + c[2]);
        d.rotation.pairing = c[3] % 2 == 0 ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
        d.rotation.pairing_out = c[3] == 4 ? ROPE_PAIRING_INTERLEAVED : d.rotation.pairing;
        d.q.heads = 9;
        const uint64_t row = 9 * g.head_dim + g.gap;
        d.q.from = {g.gap, 5 * row, row, g.head_dim};
        d.q.to = {g.gap, 5 * row, row, g.head_dim};
        d.rotation.source = static_cast<RopeSource>(c[4]);
        d.rotation.rows.first_position = -3;
        d.rotation.rows.count = 12;
        double worst = 0;
        const testing::AssertionResult result = rotation::check(&device(), d, seed++, &worst);
        const bool refused = std::strstr(result.message(), "and they move in twos") != nullptr;
        const bool floats = d.element == ROPE_ELEMENT_F32 && d.element_out == ROPE_ELEMENT_F32;
        SCOPED_TRACE(std::string(g.name) + ", elements " + std::to_string(d.element) + " and " +
                     std::to_string(d.element_out) + ", place " + std::to_string(c[3]));
        EXPECT_TRUE(result || (refused && !floats && c[0] > 2)) << result.message();
        EXPECT_LE(worst, 2);
    }
}

// A token outside the table moves as it lies, whatever elements and pairings are on either side.
TEST_P(Elements, OutsideATableMoveAsTheyLie) {
    const uint32_t dims[] = {6, 8, 20, 64};
    uint64_t seed = 300;
    for (const combinations::Choices& c : share(combinations::of({std::size(dims), 3, 3, 2, 2}, strength()))) {
        RopeRotateDescription d = {};
        d.tokens = 3;
        d.head_dim = dims[c[0]];
        d.element = static_cast<RopeElement>(1 + c[1]);
        d.element_out = static_cast<RopeElement>(1 + c[2]);
        d.rotation.pairing = static_cast<RopePairing>(1 + c[3]);
        d.rotation.pairing_out = static_cast<RopePairing>(1 + c[4]);
        d.out_of_place = 1;
        d.q.heads = 3;
        d.rotation.source = ROPE_SOURCE_TABLE;
        d.rotation.rows.count = 1;
        d.rotation.rows.first_position = INT32_MAX; // which the made-up positions seldom hit
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.count_outside = 1;
        double worst = 0;
        const testing::AssertionResult result = rotation::check(&device(), d, seed++, &worst);
        const bool refused = std::strstr(result.message(), "in halves of 3, an odd number") != nullptr;
        EXPECT_TRUE(result || (refused && d.head_dim == 6))
            << result.message() << ": dim " << d.head_dim << ", elements " << d.element << " and " << d.element_out;
    }
}

// Rows in every format, element and alignment, made on the CPU as another program would.
TEST_P(Elements, OfRowsAreReadInEveryFormat) {
    uint64_t seed = 500;
    const uint32_t dims[] = {64, 20}, offsets[] = {0, 3, 4};
    for (const combinations::Choices& c :
         share(combinations::of({5, 3, 2, std::size(dims), std::size(offsets)}, strength()))) {
        RopeRotateDescription d = {};
        d.tokens = 9;
        d.head_dim = 64;
        d.rotation.rotary_dim = dims[c[3]];
        d.q.heads = 3;
        d.rotation.source = c[2] == 0 ? ROPE_SOURCE_TABLE : ROPE_SOURCE_ROWS;
        ropeSetRows(static_cast<RopeRowsFormat>(c[0]), d.rotation.rotary_dim / 2, 9, &d.rotation.rows);
        d.rotation.rows.offset = offsets[c[4]];
        d.rotation.rows.element = static_cast<RopeElement>(1 + c[1]);
        d.rotation.rows.first_position = -2;
        double worst = 0;
        EXPECT_TRUE(rotation::check(&device(), d, seed++, &worst))
            << "format " << int{c[0]} << ", element " << d.rotation.rows.element << ", dim " << d.rotation.rotary_dim
            << ", offset " << d.rotation.rows.offset;
    }
}

TEST_P(Elements, OfRowsMayHaveTheSinesFirst) {
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}) {
        RopeRotateDescription d = {};
        d.tokens = 9;
        d.head_dim = 64;
        d.q.heads = 3;
        d.rotation.source = ROPE_SOURCE_ROWS;
        d.rotation.rows.element = element;
        d.rotation.rows.offset = 36;
        d.rotation.rows.sin_offset = -32;
        double worst = 0;
        EXPECT_TRUE(rotation::check(&device(), d, 900, &worst)) << "element " << element;
        if (element == ROPE_ELEMENT_F32) {
            EXPECT_LE(worst, 2); // rows in 16 bits are themselves further off
        }
    }
}

ROPE_ON_EVERY_DEVICE(Elements);

TEST(Permutation, TurnsOnePairingIntoTheOther) {
    std::vector<uint32_t> to_half(12), to_interleaved(12);
    ASSERT_EQ(ropePairPermutation(12, 2, 6, ROPE_PAIRING_HALF, to_half.data(), nullptr), ROPE_SUCCESS);
    ASSERT_EQ(ropePairPermutation(12, 2, 6, ROPE_PAIRING_INTERLEAVED, to_interleaved.data(), nullptr), ROPE_SUCCESS);
    EXPECT_EQ(to_half, (std::vector<uint32_t>{0, 1, 2, 4, 6, 3, 5, 7, 8, 9, 10, 11}));
    for (uint32_t i = 0; i < 12; ++i) EXPECT_EQ(to_half[to_interleaved[i]], i);
    RopeReason reason;
    EXPECT_EQ(ropePairPermutation(12, 2, 11, ROPE_PAIRING_HALF, to_half.data(), &reason), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(reason.text).find("11 elements from 2"), std::string::npos) << reason.text;
    EXPECT_EQ(ropePairPermutation(12, 0, 12, ROPE_PAIRING_DEFAULT, to_half.data(), &reason), ROPE_ERROR_INVALID);
}

} // namespace
