// How the work is cut: what may be asked for, what the table chooses, and that no bit depends on it.
#include "rope.hpp"
#include "support/rotation.hpp"

#include "../shaders/interface.h"

namespace {

RopeRotateDescription llama(uint32_t tokens) {
    static const std::vector<double> kFrequencies(64, 0.5);
    RopeRotateDescription d = {};
    d.tokens = tokens;
    d.head_dim = 128;
    d.q.heads = 32;
    d.k.heads = 8;
    d.frequencies = {kFrequencies.data(), 64, 1, nullptr, 0};
    return d;
}

std::string refusal(const RopeTuning& tuning) {
    RopeRotateDescription d = llama(1);
    d.tuning = tuning;
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_INVALID);
    RopeFusedDescription fused = {};
    fused.rotate = d;
    RopePlan other;
    EXPECT_EQ(ropePlanFused(&fused, nullptr, &other), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text, other.reason.text);
    return plan.reason.text;
}

TEST(Tuning, IsRefusedInWordsWhereNoDeviceOrShaderHasIt) {
    EXPECT_EQ(refusal({129, 0, 0, 0}), "tuning.group_size is 129; this device allows 1 to 128, or 0");
    EXPECT_EQ(refusal({0, 1025, 0, 0}), "tuning.heads is 1025; it must be 1 to 1024, or 0");
    EXPECT_EQ(refusal({0, 0, 3, 0}), "tuning.pairs is 3; it must be 1, 2, 4, 8, or 0");
    EXPECT_EQ(refusal({0, 0, 16, 0}), "tuning.pairs is 16; it must be 1, 2, 4, 8, or 0");
    EXPECT_EQ(refusal({0, 0, 0, 3}), "tuning.in_flight is 3; it must be 1, 2, or 0");
}

RopeTuning chosen(uint32_t tokens, uint32_t threads, const RopeTuning& given = {}, uint32_t group_size = 128) {
    RopeRotateDescription d = llama(tokens);
    d.tuning = given;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.threads = threads;
    limits.group_size = group_size;
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    using namespace rope;
    const uint32_t* constants = plan.passes[0].constants;
    const uint32_t pairs = std::string(plan.passes[0].shader->name) == "rotate_wide" ? 4 : 2;
    return {constants[ROPE_ID_GROUP_SIZE], plan.passes[0].heads_per_thread, pairs * constants[ROPE_ID_LANES],
            constants[ROPE_ID_IN_FLIGHT]};
}

// What an addition's plan takes, by the device's threads and what is enabled on it.
std::string shaderOf(uint32_t threads, uint32_t enabled) {
    RopeAddDescription d = {};
    d.learned = 1;
    d.tokens = 16;
    d.dim = 64;
    d.rows.count = 16;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.threads = threads;
    limits.enabled = enabled;
    RopePlan plan;
    EXPECT_EQ(ropePlanAdd(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    return plan.passes[0].shader->name;
}

TEST(Tuning, LongWordsAreForCpusThatHaveThem) {
    constexpr uint32_t kAll = ROPE_ENABLED_PUSH_DESCRIPTORS | ROPE_ENABLED_STORAGE_16 | ROPE_ENABLED_INT_64;
    EXPECT_EQ(shaderOf(64, ROPE_ENABLED_INT_64), "add_wide_long");
    EXPECT_EQ(shaderOf(64, kAll), "add_wide_long");
    EXPECT_EQ(shaderOf(64, kAll & ~ROPE_ENABLED_INT_64), "add_wide");
    EXPECT_EQ(shaderOf(16384, kAll), "add_wide");
    EXPECT_EQ(shaderOf(0, kAll), "add_wide");
}

bool operator==(const RopeTuning& a, const RopeTuning& b) {
    return a.group_size == b.group_size && a.heads == b.heads && a.pairs == b.pairs && a.in_flight == b.in_flight;
}

TEST(Tuning, LeavesADeviceEnoughThreads) {
    for (const uint32_t threads : {0u, 16384u}) {
        EXPECT_TRUE(chosen(1, threads) == (RopeTuning{64, 2, 4, 2}));
        EXPECT_TRUE(chosen(128, threads) == (RopeTuning{64, 4, 4, 2}));
        EXPECT_TRUE(chosen(255, threads) == (RopeTuning{64, 4, 4, 2}));
        EXPECT_TRUE(chosen(256, threads) == (RopeTuning{64, 8, 4, 2}));
        EXPECT_TRUE(chosen(32768, threads) == (RopeTuning{64, 8, 4, 2}));
    }
    EXPECT_TRUE(chosen(1, 64) == (RopeTuning{64, 8, 4, 1}));
    EXPECT_TRUE(chosen(8, 64) == (RopeTuning{64, 32, 4, 1}));
    EXPECT_TRUE(chosen(1, 64, {}, 1024) == (RopeTuning{64, 4, 8, 1}));
    EXPECT_TRUE(chosen(8, 64, {}, 1024) == (RopeTuning{64, 32, 8, 1}));
}

TEST(Tuning, GivesWayToTheDescriptionsOwn) {
    EXPECT_TRUE(chosen(4096, 0, {32, 0, 0, 0}) == (RopeTuning{32, 8, 4, 2}));
    EXPECT_TRUE(chosen(4096, 0, {0, 5, 2, 0}) == (RopeTuning{64, 5, 2, 1}));
    EXPECT_TRUE(chosen(4096, 0, {128, 1, 4, 2}) == (RopeTuning{128, 1, 4, 2}));
    EXPECT_TRUE(chosen(1, 0, {0, 0, 1, 0}) == (RopeTuning{64, 2, 2, 1})) << "without 16-bit storage none is narrower";
}

class Tunings : public gpu::OnDevice {};

const RopeTuning kTunings[] = {{64, 1, 4, 1}, {24, 2, 4, 2}, {128, 3, 2, 1}, {64, 3, 2, 2},
                               {7, 5, 1, 2},  {32, 8, 4, 2}, {64, 32, 4, 1}, {1, 4, 2, 2},
                               {64, 4, 8, 1}, {48, 2, 8, 2}, {64, 32, 8, 1}};

// Five and two heads: the last of a thread's heads are missing, one alone is left of two in flight. Elsewhere a thread
// takes two lanes only where all of a head rotates.
RopeRotateDescription describe(const RopeTuning& tuning, int element, bool out_of_place, RopePairing in,
                               RopePairing out) {
    RopeRotateDescription d = {};
    d.batch = 2;
    d.tokens = 3;
    const bool whole = out_of_place && tuning.pairs == 8;
    d.head_dim = whole ? 48 : 72;
    d.rotary_begin = whole ? 0 : 8;
    d.rotary_dim = 48;
    d.q = rope::bshd(3, 5, d.head_dim);
    d.k = rope::bshd(3, 2, d.head_dim);
    d.element_in = d.element_out = static_cast<RopeElement>(element);
    d.pairing_in = in;
    d.pairing_out = out_of_place ? out : in;
    d.out_of_place = out_of_place;
    d.tuning = tuning;
    return d;
}

TEST_P(Tunings, MoveNoBit) {
    double worst = 0;
    int turn = 0;
    for (const RopeTuning& tuning : kTunings) {
        for (int pairings = 0; pairings < 4; ++pairings) {
            const int element = ++turn % 3;
            const bool out_of_place = turn / 3 % 2 != 0 || pairings == 1 || pairings == 2; // in place both are one
            RopeRotateDescription d = describe(tuning, element, out_of_place,
                                               pairings % 2 == 0 ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED,
                                               pairings / 2 == 0 ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED);
            d.skip_first = turn % 2;
            EXPECT_TRUE(rotation::check(&device(), d, 7, &worst))
                << "group " << tuning.group_size << ", heads " << tuning.heads << ", pairs " << tuning.pairs
                << ", in flight " << tuning.in_flight << ", element " << element << ", pairings " << pairings;
        }
    }
}

// Two heads together, of odd numbers of them and of parts that a split leaves odd; all tokens turning, and not all.
TEST_P(Tunings, MoveNoBitOfHeadsTakenTogether) {
    double worst = 0;
    for (int choice = 0; choice < 16; ++choice) {
        const bool out_of_place = choice % 2 != 0;
        const RopePairing in = choice / 2 % 2 == 0 ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
        const RopePairing out = choice / 4 % 2 == 0 ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
        for (const RopeTuning& tuning : {RopeTuning{64, 8, 4, 2}, RopeTuning{64, 3, 4, 2}, RopeTuning{64, 1, 4, 2}}) {
            RopeRotateDescription d = describe(tuning, ROPE_ELEMENT_F32, out_of_place, in, out);
            d.skip_first = choice / 8;
            EXPECT_TRUE(rotation::check(&device(), d, 7, &worst)) << choice << ", heads " << tuning.heads;
        }
    }
}

// They are taken so where their products are plain, of float32 in one lane.
TEST(Tuning, TakesTwoHeadsTogetherOfPlainFloat32) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    const auto in_flight = [&](const RopeRotateDescription& d) {
        RopePlan plan;
        EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        return plan.passes[0].constants[ROPE_ID_IN_FLIGHT];
    };
    RopeRotateDescription d = llama(4096);
    EXPECT_EQ(in_flight(d), 2u);
    d.tuning.pairs = 8;
    EXPECT_EQ(in_flight(d), 1u);
    d.tuning = {};
    d.frequencies.scale = 1.25;
    EXPECT_EQ(in_flight(d), 1u);
    d.frequencies.scale = 2;
    EXPECT_EQ(in_flight(d), 2u);
    d.element_in = d.element_out = ROPE_ELEMENT_BF16;
    EXPECT_EQ(in_flight(d), 1u);
}

ROPE_ON_EVERY_DEVICE(Tunings);

} // namespace
