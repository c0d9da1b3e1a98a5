// Where tokens stand: every kind and element of positions, axes, sets and windows, on every device.
#include "support/combinations.hpp"
#include "support/rotation.hpp"
#include "support/sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

const std::vector<uint8_t> kThreeAxes = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 0, 0};

RopeRotateDescription describe() {
    RopeRotateDescription d = {};
    d.batch = 2;
    d.tokens = 32; // so that sequences begin at any alignment
    d.head_dim = 40;
    d.rotation.rotary_begin = 4;
    d.rotation.rotary_dim = 32;
    d.q.heads = 3;
    d.k.heads = 2;
    d.count_outside = 1;
    return d;
}

class Positions : public gpu::OnDevice {
  protected:
    // The case number also chooses the other options, so that in time each of them meets all the rest.
    void checkCase(uint32_t kind, uint32_t element, uint32_t source, bool axes, bool sets) {
        RopeRotateDescription d = describe();
        d.positions.kind = static_cast<RopePositionKind>(kind);
        d.positions.element = static_cast<RopePositionElement>(element);
        d.positions.offset = 2;
        d.rotation.source = static_cast<RopeSource>(source);
        d.rotation.frequencies.axes = axes ? kThreeAxes.data() : nullptr;
        d.rotation.frequencies.sets = sets ? 3 : 0;
        d.rotation.frequencies.scale = 1.25;
        d.rotation.rows.first_position = -7;
        d.rotation.rows.count = 30;
        if (kind >= ROPE_POSITIONS_PACKED) {
            d.batch = 1;
            d.positions.sequences = 4;
        }
        const uint32_t number = seed_++;
        d.rotation.angle = static_cast<RopeAngle>(number % 2);
        d.rotation.skip_first = number % 3;
        d.rotation.skip_last = number % 4 / 2;
        d.out_of_place = number % 5 % 2;
        d.element = d.element_out = static_cast<RopeElement>(1 + number % 3);
        d.rotation.pairing = static_cast<RopePairing>(1 + number % 7 % 2);
        // Every second one in parts of one sequence or, where such parts bind nothing of their neighbours', of a few
        // tokens, for which everything must be moved along.
        RopeLimits narrow = device().limits();
        narrow.group_count[narrow.storage_alignment <= 16 ? number / 2 % 2 : 1] = 1;
        double worst = 0;
        EXPECT_TRUE(rotation::check(&device(), d, number, &worst, number % 2 != 0 ? &narrow : nullptr));
        const double in_float = d.element_out == ROPE_ELEMENT_F32 ? 2 : 0.501;
        EXPECT_LE(worst, in_float);
    }

  private:
    uint32_t seed_ = 1;
};

TEST_P(Positions, OfEveryKindAndElementTurnAsOnTheCpu) {
    const auto cases = share(combinations::of({5, 4, 3, 2, 2}, strength(), [](const combinations::Choices& c) {
        const bool packed = c[0] >= ROPE_POSITIONS_PACKED, fraction = c[1] > ROPE_POSITION_INT64;
        if (fraction && (packed || c[2] == ROPE_SOURCE_TABLE)) return false; // refused
        const bool counted = c[0] == ROPE_POSITIONS_COUNTED;
        return !counted || (c[1] == 0 && c[4] == 0); // elements are the same again, and no buffer names a set
    }));
    for (const combinations::Choices& c : cases) {
        SCOPED_TRACE("kind " + std::to_string(c[0]) + ", element " + std::to_string(c[1]) + ", source " +
                     std::to_string(c[2]) + ", axes " + std::to_string(c[3]) + ", sets " + std::to_string(c[4]));
        checkCase(c[0], c[1], c[2], c[3] != 0, c[4] != 0);
    }
}

// ---- Tables of a position each -----------------------------------------------------------------------------------

template <typename Position>
std::vector<float> rowsOf(rope::Device* device, RopeTableDescription d, RopePositionElement element,
                          const std::vector<Position>& positions) {
    RopePlan plan;
    d.positions.element = element;
    EXPECT_EQ(ropePlanTable(&d, &device->limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots slots;
    const size_t values = size_t{d.frequencies.count} * std::max(d.frequencies.sets, 1u);
    slots.set(ROPE_SLOT_FREQUENCIES,
              sample::words(std::vector<double>(d.frequencies.values, d.frequencies.values + values), d.angle));
    slots.set(ROPE_SLOT_POSITIONS, positions);
    slots.bytes[ROPE_SLOT_ROWS].resize(plan.bytes[ROPE_SLOT_ROWS]);
    EXPECT_TRUE(gpu::run(device, plan, &slots));
    return slots.get<float>(ROPE_SLOT_ROWS);
}

RopeTableDescription tableOf(const std::vector<double>& frequencies, size_t tokens) {
    RopeTableDescription d = {};
    d.frequencies.values = frequencies.data();
    d.frequencies.count = static_cast<uint32_t>(frequencies.size());
    d.tokens = static_cast<uint32_t>(tokens);
    return d;
}

// Float32 positions from 2^-8 to 2^30 either way, a few hundred in each binade.
std::vector<float> fractions() {
    sample::Random random(5);
    std::vector<float> positions;
    for (int exponent = -8; exponent <= 30; ++exponent) {
        for (int i = 0; i < 40; ++i) {
            const float mantissa = 1 + static_cast<float>(random.below(1u << 23)) * 0x1p-23f;
            positions.push_back(std::ldexp(i % 2 == 0 ? mantissa : -mantissa, exponent));
        }
    }
    return positions;
}

TEST_P(Positions, WithFractionsAreAsExactAsWholeOnes) {
    const std::vector<float> positions = fractions();
    double worst = 0;
    for (const double base : {100.0, 10000.0, 1e7}) {
        std::vector<double> frequencies = sample::frequencies(base, 32);
        frequencies[1] = -base; // more than a turn, and the other way
        const std::vector<float> rows =
            rowsOf(&device(), tableOf(frequencies, positions.size()), ROPE_POSITION_FLOAT32, positions);
        for (size_t i = 0; i < positions.size(); ++i) {
            const int64_t position = static_cast<int64_t>(static_cast<double>(positions[i]) * 0x1p32); // exact
            for (size_t pair = 0; pair < 16; ++pair) {
                double truth[2];
                ropeReferenceAngle(position, frequencies[pair], ROPE_ANGLE_EXACT, truth);
                for (size_t which = 0; which < 2; ++which) {
                    worst = std::fmax(worst, std::fabs(rows[i * 32 + which * 16 + pair] - truth[which]));
                }
            }
        }
    }
    RecordProperty("worstLog2", std::to_string(std::log2(worst)));
    EXPECT_LE(std::log2(worst), -24.9);
}

// Positions as near as 2^-32 to where the sine or the cosine vanishes, which is where a lost bit shows.
TEST_P(Positions, NearTheZerosOfSineAndCosineAreWithinHalfAnUlp) {
    const std::vector<double> frequencies = {1, 0.1, 7.5, 1e-3, 100, 0.0123};
    std::vector<int64_t> positions;
    sample::Random random(7);
    for (const double frequency : frequencies) {
        for (int i = 0; i < 300; ++i) {
            const double quarters = 1 + random.below(1u << (1 + i % 20));
            const double near = quarters * 1.5707963267948966 / frequency * 0x1p32;
            if (near < 0x1p62) positions.push_back((i % 2 == 0 ? 1 : -1) * static_cast<int64_t>(near));
        }
    }
    const std::vector<float> rows =
        rowsOf(&device(), tableOf(frequencies, positions.size()), ROPE_POSITION_FIXED64, positions);
    double worst = 0;
    for (size_t i = 0; i < positions.size(); ++i) {
        for (size_t pair = 0; pair < 6; ++pair) {
            double truth[2];
            ropeReferenceAngle(positions[i], frequencies[pair], ROPE_ANGLE_EXACT, truth);
            for (size_t which = 0; which < 2; ++which) {
                if (std::fabs(truth[which]) < 0x1p-30) continue;
                const double ulp = std::ldexp(1, std::ilogb(truth[which]) - 23);
                worst = std::fmax(worst, std::fabs(rows[i * 12 + which * 6 + pair] - truth[which]) / ulp);
            }
        }
    }
    RecordProperty("worstUlps", std::to_string(worst));
    EXPECT_LE(worst, 0.51);
}

TEST_P(Positions, HaveTheCpusBitsInEveryElement) {
    const std::vector<double> frequencies = {1, -0.5, 3.25, 1e-9, 1.6e9, 0x1p-40, 6.283185307179586};
    const std::vector<int64_t> fixed = {
        0, 1, -1, 1ll << 32, -(1ll << 32), 0x123456789ABCDEF, 1ll << 62, INT64_MIN, INT64_MAX, -0x7FFFFFFF00000001};
    for (const RopeAngle angle : {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE}) {
        RopeTableDescription d = tableOf(frequencies, fixed.size());
        d.angle = angle;
        const std::vector<float> rows = rowsOf(&device(), d, ROPE_POSITION_FIXED64, fixed);
        const std::vector<uint32_t> words = sample::words(frequencies, angle);
        for (size_t i = 0; i < fixed.size(); ++i) {
            for (size_t pair = 0; pair < 7; ++pair) {
                float wanted[2];
                ropeShaderAngle(fixed[i], &words[4 * pair], 1, angle, wanted);
                EXPECT_EQ(std::memcmp(&rows[i * 14 + pair], &wanted[0], 4), 0) << fixed[i] << " pair " << pair;
                EXPECT_EQ(std::memcmp(&rows[i * 14 + 7 + pair], &wanted[1], 4), 0) << fixed[i] << " pair " << pair;
            }
        }
    }
}

// The same whole positions in each element, and their rows.
TEST_P(Positions, AreTheSameInEveryElementThatHoldsThem) {
    const std::vector<int32_t> whole = {0, 1, -1, 4095, 1 << 24, -(1 << 24), 1 << 30, INT32_MIN / 2};
    const std::vector<double> frequencies = sample::frequencies(500000, 64);
    const RopeTableDescription d = tableOf(frequencies, whole.size());
    const std::vector<float> wanted = rowsOf(&device(), d, ROPE_POSITION_INT32, whole);
    const std::vector<int64_t> wide(whole.begin(), whole.end());
    std::vector<int64_t> fixed;
    for (const int32_t position : whole) fixed.push_back(ROPE_WHOLE_POSITION(position));
    EXPECT_EQ(rowsOf(&device(), d, ROPE_POSITION_INT64, wide), wanted);
    EXPECT_EQ(rowsOf(&device(), d, ROPE_POSITION_FLOAT32, std::vector<float>(whole.begin(), whole.end())), wanted);
    EXPECT_EQ(rowsOf(&device(), d, ROPE_POSITION_FIXED64, fixed), wanted);
}

TEST_P(Positions, ThatAreNoneMakeRowsThatChangeNothing) {
    const std::vector<double> frequencies = {1, 0.5};
    const std::vector<float> unchanged = {1, 1, 0, 0};
    const float infinite = HUGE_VALF;
    for (const float none : {infinite, -infinite, std::nanf(""), 2147483648.0f, -2147483648.0f, 1e30f})
        EXPECT_EQ(rowsOf(&device(), tableOf(frequencies, 1), ROPE_POSITION_FLOAT32, std::vector<float>{none}),
                  unchanged)
            << none;
    for (const int64_t none : {int64_t{1} << 31, -(int64_t{1} << 31) - 1, INT64_MAX, INT64_MIN})
        EXPECT_EQ(rowsOf(&device(), tableOf(frequencies, 1), ROPE_POSITION_INT64, std::vector<int64_t>{none}),
                  unchanged)
            << none;
}

// ---- Axes, packed sequences and sets, each by what they stand for -------------------------------------------------

TEST_P(Positions, OfSeveralAxesTurnEachPairByItsOwn) {
    const std::vector<double> frequencies = sample::frequencies(10000, 32);
    const std::vector<std::vector<int32_t>> axes = {{3, 1000, -5}, {70000, 2, 9}, {8, -8, 123456}};
    std::vector<int32_t> all;
    for (const std::vector<int32_t>& axis : axes) all.insert(all.end(), axis.begin(), axis.end());
    RopeTableDescription d = tableOf(frequencies, 3);
    d.frequencies.axes = kThreeAxes.data();
    const std::vector<float> rows = rowsOf(&device(), d, ROPE_POSITION_INT32, all);
    d.frequencies.axes = nullptr;
    for (uint32_t axis = 0; axis < 3; ++axis) {
        const std::vector<float> alone = rowsOf(&device(), d, ROPE_POSITION_INT32, axes[axis]);
        for (size_t token = 0; token < 3; ++token) {
            for (size_t pair = 0; pair < 16; ++pair) {
                if (kThreeAxes[pair] != axis) continue;
                EXPECT_EQ(rows[token * 32 + pair], alone[token * 32 + pair]) << "token " << token << " pair " << pair;
                EXPECT_EQ(rows[token * 32 + 16 + pair], alone[token * 32 + 16 + pair]);
            }
        }
    }
}

TEST_P(Positions, OfPackedSequencesStartAgainWithEach) {
    const std::vector<double> frequencies = sample::frequencies(10000, 8);
    const std::vector<int32_t> lengths = {0, 3, 3, 4, 9}, later = {2, 3, 3, 4, 9}, starts = {100, 7, -2, 0};
    const std::vector<int32_t> counted = {0, 1, 2, 0, 0, 1, 2, 3, 4};
    const std::vector<int32_t> started = {100, 101, 102, -2, 0, 1, 2, 3, 4};
    RopeTableDescription d = tableOf(frequencies, 11); // two more tokens than there are in sequences
    RopeTableDescription plain = tableOf(frequencies, 9);
    d.positions.kind = ROPE_POSITIONS_PACKED;
    d.positions.sequences = 4;
    std::vector<float> wanted = rowsOf(&device(), plain, ROPE_POSITION_INT32, counted);
    const std::vector<float> unchanged = {1, 1, 1, 1, 0, 0, 0, 0};
    for (int i = 0; i < 2; ++i) wanted.insert(wanted.end(), unchanged.begin(), unchanged.end());
    EXPECT_EQ(rowsOf(&device(), d, ROPE_POSITION_INT32, lengths), wanted);
    const std::vector<float> late = rowsOf(&device(), d, ROPE_POSITION_INT32, later); // two tokens before any sequence
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(std::vector<float>(late.begin() + 8 * i, late.begin() + 8 * i + 8), unchanged);
    EXPECT_EQ(std::vector<float>(late.begin() + 24, late.end()), std::vector<float>(wanted.begin() + 24, wanted.end()));

    d.positions.kind = ROPE_POSITIONS_PACKED_STARTS;
    std::vector<int64_t> both(lengths.begin(), lengths.end());
    both.insert(both.end(), starts.begin(), starts.end());
    wanted = rowsOf(&device(), plain, ROPE_POSITION_INT32, started);
    for (int i = 0; i < 2; ++i) wanted.insert(wanted.end(), unchanged.begin(), unchanged.end());
    EXPECT_EQ(rowsOf(&device(), d, ROPE_POSITION_INT64, both), wanted);
}

// Lengths that no sequences have: nothing but what the plan names is read, which the guards and the drivers watch.
TEST_P(Positions, OfHostileLengthsStayInsideTheirBuffer) {
    const std::vector<double> frequencies = sample::frequencies(10000, 8);
    RopeTableDescription d = tableOf(frequencies, 50);
    d.positions.kind = ROPE_POSITIONS_PACKED_STARTS;
    d.positions.sequences = 4;
    const std::vector<std::vector<int32_t>> hostile = {{INT32_MAX, INT32_MIN, -1, 5, 3, 1, 2, 3, 4},
                                                       {9, 8, 7, 6, 5, 1, 2, 3, 4},
                                                       {-1, -1, -1, -1, -1, 1, 2, 3, 4},
                                                       {0, INT32_MAX, 0, INT32_MAX, 0, 1, 2, 3, 4}};
    for (const std::vector<int32_t>& lengths : hostile) {
        for (const float value : rowsOf(&device(), d, ROPE_POSITION_INT32, lengths)) EXPECT_LE(std::fabs(value), 1);
    }
}

TEST_P(Positions, TakeTheSetThatEachNames) {
    std::vector<double> both = sample::frequencies(10000, 8);
    const std::vector<double> other = sample::frequencies(1e6, 8);
    const std::vector<double> first = both;
    both.insert(both.end(), other.begin(), other.end());
    const std::vector<int32_t> positions = {5, 6, 7, 8};
    const std::vector<int32_t> named = {5, 6, 7, 8, 1, 0, 0, 2}; // a set for each, the last one there is not
    RopeTableDescription d = tableOf(both, 4);
    d.frequencies.count = 4;
    d.frequencies.sets = 2;
    const std::vector<float> rows = rowsOf(&device(), d, ROPE_POSITION_INT32, named);
    const std::vector<float> by_first = rowsOf(&device(), tableOf(first, 4), ROPE_POSITION_INT32, positions);
    const std::vector<float> by_other = rowsOf(&device(), tableOf(other, 4), ROPE_POSITION_INT32, positions);
    for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(rows[i], by_other[i]) << i;
        EXPECT_EQ(rows[8 + i], by_first[8 + i]) << i;
        EXPECT_EQ(rows[16 + i], by_first[16 + i]) << i;
        EXPECT_EQ(rows[24 + i], i < 4 ? 1 : 0) << i;
    }
}

ROPE_ON_EVERY_DEVICE(Positions);

} // namespace
