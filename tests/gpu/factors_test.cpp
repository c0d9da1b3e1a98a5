// Frequencies divided by factors on every device: the CPU's bits, and plans that turn by what was divided there.
#include "bench/cases/description.hpp"
#include "support/gpu.hpp"
#include "support/refusal.hpp"
#include "support/sample.hpp"

#include "shaders/numbers/angle.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace {

constexpr RopeAngle kAngles[] = {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> factorsOf(uint32_t count, uint64_t seed) {
    const float edges[] = {1,     2,         0.5f,       -1,  0x1p-149f, 0x1.8p-130f, -0x1p-126f, 0,
                           -0.0f, kInfinity, -kInfinity, NAN, 0x1p127f,  0x1p-27f,    0x1p-100f,  3};
    sample::Random random(seed);
    std::vector<float> all;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t kind = random.below(4);
        const float share = std::fabs(random.value()) / 2;
        const uint32_t bits = random.next();
        float any;
        std::memcpy(&any, &bits, sizeof any);
        all.push_back(kind == 0   ? 0.9f + 0.2f * share
                      : kind == 1 ? 1 + 63 * share
                      : kind == 2 ? edges[random.below(16)]
                                  : any);
    }
    return all;
}

// Some frequencies are 0, some pairs are of the other angle, and some of none.
std::vector<uint32_t> wordsOf(uint32_t pairs, RopeAngle angle, uint64_t seed) {
    sample::Random random(seed);
    std::vector<double> frequencies(pairs);
    for (double& one : frequencies)
        one = random.below(9) == 0 ? 0 : std::ldexp(random.value(), static_cast<int>(random.below(130)) - 110);
    std::vector<uint32_t> words = sample::words(frequencies, angle);
    for (size_t i = 0; i < words.size(); i += 4) {
        if (random.below(9) == 0) words[i] ^= ROPE_MARKS;
    }
    return words;
}

std::vector<uint32_t> onHost(const RopeFactorsDescription& d, const std::vector<uint32_t>& words,
                             const std::vector<float>& factors) {
    std::vector<uint32_t> all(words.size());
    for (size_t at = 0; at < words.size(); at += size_t{d.count} * 4) {
        EXPECT_EQ(ropeDivideFrequencies(&words[at], factors.data() + d.offset, d.count, d.angle, &all[at], nullptr),
                  ROPE_SUCCESS);
    }
    return all;
}

class Factors : public gpu::OnDevice {
  protected:
    std::vector<uint32_t> divide(const RopeFactorsDescription& d, const RopeLimits& limits,
                                 const std::vector<uint32_t>& words, const std::vector<float>& factors,
                                 uint32_t dispatches = 1) {
        RopePlan plan;
        EXPECT_EQ(ropePlanFactors(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_GE(ropeDispatchCount(&plan), dispatches);
        EXPECT_EQ(plan.bytes[ROPE_SLOT_FACTORS], factors.size() * sizeof(float));
        EXPECT_EQ(plan.bytes[ROPE_SLOT_FREQUENCIES], words.size() * sizeof(uint32_t));
        gpu::Slots slots;
        slots.set(ROPE_SLOT_FREQUENCIES, words);
        slots.set(ROPE_SLOT_FACTORS, factors);
        slots.bytes[ROPE_SLOT_FREQUENCIES_OUT].assign(plan.bytes[ROPE_SLOT_FREQUENCIES_OUT], 0xA5);
        const gpu::Slots before = slots;
        EXPECT_TRUE(gpu::run(&device(), plan, &slots));
        EXPECT_EQ(slots.bytes[ROPE_SLOT_FREQUENCIES], before.bytes[ROPE_SLOT_FREQUENCIES]);
        EXPECT_EQ(slots.bytes[ROPE_SLOT_FACTORS], before.bytes[ROPE_SLOT_FACTORS]);
        return slots.get<uint32_t>(ROPE_SLOT_FREQUENCIES_OUT);
    }
    // Turns Q by these words, and returns Q as it was.
    std::vector<float> turn(const RopeRotateDescription& d, const std::vector<uint32_t>& words, gpu::Slots* slots) {
        RopePlan plan;
        EXPECT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        slots->set(ROPE_SLOT_FREQUENCIES, words);
        const std::vector<float> q = sample::values(plan.bytes[ROPE_SLOT_Q] / 4, 9);
        slots->set(ROPE_SLOT_Q, q);
        EXPECT_TRUE(gpu::run(&device(), plan, slots));
        return q;
    }
};

TEST_P(Factors, DivideWithTheCpusBits) {
    for (const RopeAngle angle : kAngles) {
        for (const uint32_t count : {1u, 37u, 64u, 129u, 4096u}) {
            for (const uint32_t sets : {0u, 1u, 3u}) {
                for (const uint64_t offset : {uint64_t{0}, uint64_t{5}, uint64_t{1021}}) {
                    const RopeFactorsDescription d = {count, sets, angle, offset};
                    const uint32_t pairs = count * (sets > 1 ? sets : 1);
                    const std::vector<float> factors = factorsOf(count + static_cast<uint32_t>(offset), count + offset);
                    const std::vector<uint32_t> words = wordsOf(pairs, angle, pairs + offset);
                    ASSERT_EQ(divide(d, device().limits(), words, factors), onHost(d, words, factors))
                        << angle << ", " << sets << " sets of " << count << " pairs at " << offset;
                }
            }
        }
    }
}

// A device of few bytes a binding, few groups, or a coarse alignment takes several dispatches, whose bindings begin
// anywhere.
TEST_P(Factors, DivideInPartsWithTheSameBits) {
    const RopeFactorsDescription d = {333, 5, ROPE_ANGLE_EXACT, 7};
    const std::vector<float> factors = factorsOf(d.count + 7, 1);
    const std::vector<uint32_t> words = wordsOf(d.count * d.sets, d.angle, 2);
    const std::vector<uint32_t> wanted = onHost(d, words, factors);
    const auto limited = [&](uint64_t range, uint32_t groups_x, uint32_t groups_y) {
        RopeLimits limits = device().limits();
        limits.storage_alignment = 256;
        limits.storage_range = range;
        limits.group_count[0] = groups_x;
        limits.group_count[1] = groups_y;
        return limits;
    };
    EXPECT_EQ(divide(d, limited(1 << 14, 65535, 65535), words, factors, 2), wanted);
    EXPECT_EQ(divide(d, limited(700, 65535, 65535), words, factors, 8), wanted);
    EXPECT_EQ(divide(d, limited(1 << 27, 1, 65535), words, factors, 6), wanted);
    EXPECT_EQ(divide(d, limited(1 << 27, 65535, 2), words, factors, 3), wanted);
    EXPECT_EQ(divide(d, limited(1 << 27, 2, 1), words, factors, 15), wanted);
}

constexpr uint32_t kPairs = 16, kTokens = 5;

RopeRotateDescription rotationBy(const std::vector<double>& frequencies, RopeAngle angle) {
    RopeRotateDescription d = {};
    d.tokens = kTokens;
    d.head_dim = 2 * kPairs;
    d.rotation.angle = angle;
    d.rotation.frequencies = {frequencies.empty() ? nullptr : frequencies.data(), kPairs, 1.25, nullptr, 1};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = 700;
    d.q.heads = 2;
    return d;
}

// Frequencies that turn the other way are divided by -1, to the last bit.
TEST_P(Factors, MakeWordsThatARotationAndATableTurnBy) {
    const std::vector<double> frequencies = sample::frequencies(10000, 2 * kPairs);
    std::vector<double> quotients = frequencies;
    std::vector<float> factors(kPairs, 1);
    for (uint32_t i = 0; i < kPairs; i += 2) quotients[i] = frequencies[i] / (factors[i] = -1);
    for (const RopeAngle angle : kAngles) {
        const std::vector<uint32_t> words =
            divide({kPairs, 1, angle, 0}, device().limits(), sample::words(frequencies, angle), factors);
        const RopeRotateDescription d = rotationBy({}, angle), given = rotationBy(quotients, angle);
        gpu::Slots slots;
        const std::vector<float> q = turn(d, words, &slots);
        std::vector<float> wanted(q.size());
        RopeHostRotate host = {};
        host.q = q.data();
        host.q_out = wanted.data();
        ASSERT_EQ(ropeHostRunRotate(&given, &host, nullptr), ROPE_SUCCESS);
        EXPECT_EQ(slots.get<float>(ROPE_SLOT_Q), wanted) << angle;

        RopePlan plan;
        RopeTableDescription table = {};
        table.frequencies = d.rotation.frequencies;
        table.angle = angle;
        table.tokens = kTokens;
        table.positions = d.positions;
        ASSERT_EQ(ropePlanTable(&table, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        slots.bytes[ROPE_SLOT_ROWS].assign(plan.bytes[ROPE_SLOT_ROWS], 0);
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        std::vector<float> rows(plan.bytes[ROPE_SLOT_ROWS] / 4);
        table.frequencies.values = quotients.data();
        const RopeHostTable made = {nullptr, nullptr, rows.data()};
        ASSERT_EQ(ropeHostRunTable(&table, &made, nullptr), ROPE_SUCCESS);
        EXPECT_EQ(slots.get<float>(ROPE_SLOT_ROWS), rows) << angle;
    }
}

// The reference turns by the true quotients.
TEST_P(Factors, TurnAsTheTrueQuotientsDo) {
    const std::vector<double> frequencies = sample::frequencies(500000, 2 * kPairs);
    std::vector<double> quotients = frequencies;
    std::vector<float> factors(kPairs);
    for (uint32_t i = 0; i < kPairs; ++i) {
        factors[i] = 1 + 0.37f * static_cast<float>(i * i);
        quotients[i] /= static_cast<double>(factors[i]);
    }
    const std::vector<uint32_t> words = divide({kPairs, 1, ROPE_ANGLE_EXACT, 0}, device().limits(),
                                               sample::words(frequencies, ROPE_ANGLE_EXACT), factors);
    const RopeRotateDescription d = rotationBy({}, ROPE_ANGLE_EXACT), given = rotationBy(quotients, ROPE_ANGLE_EXACT);
    gpu::Slots slots;
    const std::vector<float> q = turn(d, words, &slots);
    std::vector<double> wanted(q.size());
    RopeHostRotate host = {};
    host.q = q.data();
    host.reference_q = wanted.data();
    ASSERT_EQ(ropeHostRunRotate(&given, &host, nullptr), ROPE_SUCCESS);
    const std::vector<float> got = slots.get<float>(ROPE_SLOT_Q);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6) << i;
}

std::string factorsRefusal(const RopeFactorsDescription& d) {
    RopePlan plan;
    EXPECT_NE(ropePlanFactors(&d, nullptr, &plan), ROPE_SUCCESS);
    EXPECT_EQ(plan.pass_count, 0u);
    return plan.reason.text;
}

TEST(Plan, OfFactorsRefusesCountsAndAngles) {
    EXPECT_EQ(factorsRefusal({0, 1, ROPE_ANGLE_EXACT, 0}), "count is 0; it must be from 1 to 4096");
    EXPECT_EQ(factorsRefusal({4097, 1, ROPE_ANGLE_EXACT, 0}), "count is 4097; it must be from 1 to 4096");
    EXPECT_EQ(factorsRefusal({1, 65537, ROPE_ANGLE_EXACT, 0}), "sets is 65537; it may be at most 65536");
    EXPECT_EQ(factorsRefusal({1, 1, static_cast<RopeAngle>(2), 0}), "angle is 2; it must be from 0 to 1");
    EXPECT_SAYS(factorsRefusal({1, 1, ROPE_ANGLE_EXACT, UINT64_MAX / 4}), "factors would have more bytes");
}

TEST(Plan, OfFactorsHasOnePipelineForEachAngle) {
    RopePlan small, large;
    const RopeFactorsDescription a = {1, 1, ROPE_ANGLE_EXACT, 0}, b = {4096, 9, ROPE_ANGLE_EXACT, 3};
    ASSERT_EQ(ropePlanFactors(&a, nullptr, &small), ROPE_SUCCESS);
    ASSERT_EQ(ropePlanFactors(&b, nullptr, &large), ROPE_SUCCESS);
    EXPECT_EQ(small.passes[0].pipeline_hash, large.passes[0].pipeline_hash);
    char text[512];
    ropePrintPlan(&large, text, sizeof text);
    EXPECT_SAYS(text, "reads frequencies factors; writes frequencies_out\n");
}

// Plans of null values are those of any values; the CPU's own runs ask for them.
TEST(Plan, TakesNoFrequenciesAndItsHostRunsDo) {
    const std::vector<double> frequencies = sample::frequencies(10000, 2 * kPairs);
    const RopeRotateDescription d = rotationBy({}, ROPE_ANGLE_EXACT), given = rotationBy(frequencies, ROPE_ANGLE_EXACT);
    RopePlan without, with;
    RopeReason reason;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &without), ROPE_SUCCESS) << without.reason.text;
    ASSERT_EQ(ropePlanRotate(&given, nullptr, &with), ROPE_SUCCESS);
    EXPECT_EQ(ropePlansEqual(&without, &with), 1);
    const std::vector<float> q(2 * kPairs * kTokens * 2);
    RopeHostRotate host = {};
    host.q = q.data();
    EXPECT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_ERROR_INVALID);
    EXPECT_SAYS(reason.text, "frequencies.values is null; it must point to frequencies.count doubles");

    RopeFusedDescription fused = {};
    measure::setRotation(d, &fused);
    fused.q.norm.kind = ROPE_NORM_L2;
    fused.q.norm.no_weights = 1;
    ASSERT_EQ(ropePlanFused(&fused, nullptr, &without), ROPE_SUCCESS) << without.reason.text;
    RopeHostFused fused_host = {};
    fused_host.q = q.data();
    EXPECT_EQ(ropeHostRunFused(&fused, &fused_host, &reason), ROPE_ERROR_INVALID);
    EXPECT_SAYS(reason.text, "frequencies.values is null");
    measure::setRotation(given, &fused);
    ASSERT_EQ(ropePlanFused(&fused, nullptr, &with), ROPE_SUCCESS);
    EXPECT_EQ(ropePlansEqual(&without, &with), 1);

    RopeAddDescription add = {};
    add.tokens = kTokens;
    add.dim = 2 * kPairs;
    add.frequencies = d.rotation.frequencies;
    ASSERT_EQ(ropePlanAdd(&add, nullptr, &without), ROPE_SUCCESS) << without.reason.text;
    RopeHostAdd add_host = {};
    add_host.positions = add_host.x = q.data();
    EXPECT_EQ(ropeHostRunAdd(&add, &add_host, &reason), ROPE_ERROR_INVALID);
    EXPECT_SAYS(reason.text, "frequencies.values is null");
    add.frequencies = given.rotation.frequencies;
    ASSERT_EQ(ropePlanAdd(&add, nullptr, &with), ROPE_SUCCESS);
    EXPECT_EQ(ropePlansEqual(&without, &with), 1);

    RopeTableDescription table = {};
    table.tokens = kTokens;
    table.frequencies = d.rotation.frequencies;
    ASSERT_EQ(ropePlanTable(&table, nullptr, &without), ROPE_SUCCESS) << without.reason.text;
    const RopeHostTable table_host = {q.data(), nullptr, nullptr};
    EXPECT_EQ(ropeHostRunTable(&table, &table_host, &reason), ROPE_ERROR_INVALID);
    EXPECT_SAYS(reason.text, "frequencies.values is null");
    table.frequencies = given.rotation.frequencies;
    ASSERT_EQ(ropePlanTable(&table, nullptr, &with), ROPE_SUCCESS);
    EXPECT_EQ(ropePlansEqual(&without, &with), 1);
    table.frequencies = {nullptr, 0, 1, nullptr, 1};
    EXPECT_EQ(ropePlanTable(&table, nullptr, &without), ROPE_ERROR_INVALID);
    EXPECT_SAYS(without.reason.text, "frequencies.count is 0");
}

ROPE_ON_EVERY_DEVICE(Factors);

} // namespace
