// How the work is cut: what may be asked for, what the table chooses, and that no bit depends on it.
#include "bench/cases/description.hpp"
#include "plan/pass.h"
#include "support/combinations.hpp"
#include "support/group_cut.hpp"
#include "support/rotation.hpp"
#include <vkrope/rope.hpp>

#include "shaders/interface.h"

#include <algorithm>
#include <cstring>

namespace {

RopeRotateDescription llama(uint32_t tokens) {
    static const std::vector<double> kFrequencies(64, 0.5);
    RopeRotateDescription d = {};
    d.tokens = tokens;
    d.head_dim = 128;
    d.q.heads = 32;
    d.k.heads = 8;
    d.rotation.frequencies = {kFrequencies.data(), 64, 1, nullptr, 0};
    return d;
}

std::string refusal(const RopeTuning& tuning) {
    RopeRotateDescription d = llama(1);
    d.tuning = tuning;
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_INVALID);
    RopeFusedDescription fused = {};
    measure::setRotation(d, &fused);
    RopePlan other;
    EXPECT_EQ(ropePlanFused(&fused, nullptr, &other), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text, other.reason.text);
    return plan.reason.text;
}

TEST(Tuning, IsRefusedInWordsWhereNoDeviceOrShaderHasIt) {
    EXPECT_EQ(refusal({129, 0, 0}), "tuning.group_size is 129; this device allows 1 to 128, or 0");
    EXPECT_EQ(refusal({0, 1025, 0}), "tuning.heads is 1025; it must be 1 to 1024, or 0");
    EXPECT_EQ(refusal({0, 0, 3}), "tuning.pairs is 3; it must be 4, 8, or 0");
    EXPECT_EQ(refusal({0, 0, 2}), "tuning.pairs is 2; it must be 4, 8, or 0");
    EXPECT_EQ(refusal({0, 0, 16}), "tuning.pairs is 16; it must be 4, 8, or 0");
}

using group_cut::Cut;

Cut cutOf(const RopeRotateDescription& d, uint32_t threads, uint32_t group_size = 128) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.threads = threads;
    limits.group_size = group_size;
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    return group_cut::cutOf(plan);
}

Cut tuned(const RopeTuning& tuning, RopeElement element = ROPE_ELEMENT_F32, uint32_t tokens = 32) {
    RopeRotateDescription d = llama(tokens);
    d.tuning = tuning;
    d.element = element;
    return cutOf(d, 0);
}

TEST(Tuning, GivesEachKindOfDeviceItsGroups) {
    for (const uint32_t tokens : {1u, 4096u}) {
        const RopeRotateDescription d = llama(tokens);
        EXPECT_EQ(cutOf(d, 64, 1024), (Cut{16, 10, 1, 1, 4, 4, 1, 0})) << "8 and 2 blocks";
        EXPECT_EQ(cutOf(d, 64), (Cut{16, 5, 1, 1, 8, 4, 0, 0})) << "4 blocks and 1";
    }
}

// A GPU's threads take little of few tokens of all sequences, and more of many.
TEST(Tuning, GivesAGpuGroupsByTheCountOfTokens) {
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}) {
        RopeRotateDescription d = llama(383);
        d.element = element;
        EXPECT_EQ(cutOf(d, 0, 1024), (Cut{16, 8, 1, 1, 1, 4, 1, 0}));
        d.batch = 2;
        d.tokens = 192;
        EXPECT_EQ(cutOf(d, 16384, 1024), (Cut{16, 20, 1, 1, 2, 4, 1, 0})) << "a whole token";
        EXPECT_EQ(cutOf(d, 0), (Cut{16, 4, 1, 1, 2, 4, 1, 0})) << "groups of at most 128 threads, none idle";
        d.rotation.source = ROPE_SOURCE_TABLE;
        d.rotation.rows.count = 4096;
        const Cut wide = {8, 8, 1, 1, 1, 8, 0, 0}, narrow = {16, 4, 1, 1, 2, 4, 0, 0};
        EXPECT_EQ(cutOf(d, 0), element == ROPE_ELEMENT_F32 ? narrow : wide) << "rows are read";
    }
}

TEST(Tuning, GivesWayToTheDescriptionsOwn) {
    EXPECT_EQ(tuned({32, 0, 0}), (Cut{16, 2, 1, 1, 1, 4, 1, 0}));
    EXPECT_EQ(tuned({16, 0, 0}), (Cut{16, 1, 1, 1, 1, 4, 0, 0})) << "one block shares with none";
    EXPECT_EQ(tuned({7, 0, 0}), (Cut{7, 1, 1, 3, 1, 4, 0, 0})) << "16 lanes in three groups";
    EXPECT_EQ(tuned({0, 5, 0}), (Cut{16, 2, 1, 1, 5, 4, 1, 0})) << "7 blocks and 2";
    EXPECT_EQ(tuned({0, 1024, 0}), (Cut{16, 5, 1, 1, ROPE_MAX_ROTATED_HEADS, 4, 1, 0}));
    EXPECT_EQ(tuned({0, 0, 4}, ROPE_ELEMENT_BF16).pairs, 4u);
    EXPECT_EQ(tuned({0, 0, 8}, ROPE_ELEMENT_BF16).pairs, 8u);
    EXPECT_EQ(tuned({0, 1, 8}, ROPE_ELEMENT_BF16, 4096), (Cut{8, 8, 1, 1, 1, 8, 1, 0}));
}

// A norm keeps to the pairs of a lane, too.
TEST(Tuning, GivesNormedHeadsTheirPairs) {
    for (const uint32_t pairs : {0u, 4u, 8u}) {
        RopeFusedDescription d = {};
        measure::setRotation(llama(3), &d);
        d.element = ROPE_ELEMENT_BF16;
        d.tuning.pairs = pairs;
        d.q.norm.kind = d.k.norm.kind = ROPE_NORM_RMS;
        d.q.norm.no_weights = d.k.norm.no_weights = 1;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(rope::passAt(plan, 0).constants[ROPE_ID_QUADS], pairs == 4 ? 1u : 2u);
    }
}

// StableLM's heads of 80, of which 20 turn: three lanes turn, the others copy. By words they copy runs of four, unless
// one could lie on both sides of the rotary part.
TEST(Tuning, CopiesRunsOfFourByWords) {
    const struct {
        RopeElement element;
        uint32_t begin, copying;
    } heads[] = {{ROPE_ELEMENT_F32, 0, 8},
                 {ROPE_ELEMENT_F16, 0, 8},
                 {ROPE_ELEMENT_F16, 20, 8},
                 {ROPE_ELEMENT_F32, 2, 30},
                 {ROPE_ELEMENT_F16, 2, 15}};
    for (const auto& head : heads) {
        RopeRotateDescription d = llama(3);
        d.head_dim = 80;
        d.rotation.rotary_begin = head.begin;
        d.rotation.rotary_dim = 20;
        d.rotation.frequencies.count = 10;
        d.out_of_place = 1;
        d.element = head.element;
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        limits.enabled = ROPE_ENABLED_STORAGE_16;
        RopePlan plan;
        ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(rope::passAt(plan, 0).constants[ROPE_ID_HEAD_LANES], 3 + head.copying)
            << head.element << " from " << head.begin;
    }
}

// One group takes the tokens of small heads together. No group is larger in y and z than every device allows.
TEST(Tuning, FillsGroupsWithTokensAndBlocks) {
    static const std::vector<double> kFrequencies(8192, 0.5);
    RopeRotateDescription d = llama(300);
    d.q.heads = 1;
    d.k.heads = 0;
    d.head_dim = 16;
    d.rotation.frequencies.count = 8;
    EXPECT_EQ(cutOf(d, 0), (Cut{2, 1, 32, 1, 1, 4, 0, 0}));
    d.q.heads = 3;
    EXPECT_EQ(cutOf(d, 0), (Cut{2, 3, 11, 1, 1, 4, 1, 0}));
    d.head_dim = 8;
    d.rotation.frequencies.count = 4;
    d.q.heads = 1;
    EXPECT_EQ(cutOf(d, 0), (Cut{1, 1, 64, 1, 1, 4, 0, 0}));
    d.q.heads = 1000;
    EXPECT_LE(cutOf(d, 0, 1024).blocks, 128u);
    d.tuning.group_size = 1024;
    EXPECT_LE(cutOf(d, 0, 1024).blocks, 128u);
    d.tuning = {};
    d.q.heads = 2;
    d.head_dim = 8192;
    d.rotation.frequencies = {kFrequencies.data(), 4096, 1, nullptr, 0};
    EXPECT_EQ(cutOf(d, 0), (Cut{128, 1, 1, 8, 1, 4, 0, 0})) << "a head in eight groups";
}

// The angles that a group shares fit the shared memory.
TEST(Tuning, SharesNoMoreAnglesThanTheDeviceHolds) {
    const RopeRotateDescription d = llama(1);
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    RopePlan plan;
    for (const uint32_t bytes : {512u, 511u}) { // of 64 pairs
        limits.shared_bytes = bytes;
        ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(rope::passAt(plan, 0).constants[ROPE_ID_SHARES], bytes == 512);
    }
}

class Tunings : public gpu::OnDevice {};

const uint32_t kGroupSizes[] = {1, 7, 24, 32, 64, 100, 128, 256};
const uint32_t kHeads[] = {1, 2, 3, 4, 8};

struct Elements {
    RopeElement in, out;
};
const Elements kElements[] = {{ROPE_ELEMENT_F32, ROPE_ELEMENT_F32},
                              {ROPE_ELEMENT_F16, ROPE_ELEMENT_F16},
                              {ROPE_ELEMENT_BF16, ROPE_ELEMENT_BF16},
                              {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16},
                              {ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}};

struct Pairing {
    RopePairing in, out;
    uint32_t chunk_dim;
};
const Pairing kPairings[] = {{ROPE_PAIRING_HALF, ROPE_PAIRING_HALF, 0},
                             {ROPE_PAIRING_INTERLEAVED, ROPE_PAIRING_INTERLEAVED, 0},
                             {ROPE_PAIRING_HALF, ROPE_PAIRING_HALF, 16},
                             {ROPE_PAIRING_HALF, ROPE_PAIRING_INTERLEAVED, 0},
                             {ROPE_PAIRING_INTERLEAVED, ROPE_PAIRING_HALF, 16}};

// The pairs of a lane at most, and the element where a tensor begins. Lanes of 16-bit elements are of eight pairs, of
// four, and by words.
const struct { uint32_t pairs, offset; } kLanes[] = {{8, 0}, {4, 0}, {8, 2}, {4, 6}};

// Five heads, and two or one: threads' last heads are missing, and so are groups' last blocks. A part of the head does
// not rotate, or all of it does.
TEST_P(Tunings, MoveNoBit) {
    double worst = 0;
    for (const combinations::Choices& c :
         share(combinations::of({std::size(kGroupSizes), std::size(kHeads), std::size(kLanes), std::size(kElements),
                                 std::size(kPairings), 2, 2, 2, 2},
                                strength()))) {
        RopeRotateDescription d = {};
        d.tuning = {std::min(kGroupSizes[c[0]], device().limits().group_size), kHeads[c[1]], kLanes[c[2]].pairs};
        const bool turns_over = kPairings[c[4]].in != kPairings[c[4]].out;
        d.element = kElements[c[3]].in;
        d.element_out = kElements[c[3]].out;
        d.rotation.pairing = kPairings[c[4]].in;
        d.rotation.pairing_out = kPairings[c[4]].out;
        d.rotation.chunk_dim = kPairings[c[4]].chunk_dim;
        d.out_of_place = c[5] != 0 || turns_over || d.element != d.element_out;
        d.batch = 2;
        d.tokens = 3;
        d.head_dim = c[6] != 0 ? 48 : 72;
        d.rotation.rotary_begin = c[6] != 0 ? 0 : 8;
        d.rotation.rotary_dim = 48;
        d.q = rope::bshd(3, 5, d.head_dim);
        d.k = rope::bshd(3, c[7] != 0 ? 2 : 1, d.head_dim);
        const uint32_t offset = kLanes[c[2]].offset;
        d.q.from.offset = d.q.to.offset = offset;
        d.k.from.offset = d.k.to.offset = offset;
        d.rotation.skip_first = static_cast<uint32_t>(c[8]);
        EXPECT_TRUE(rotation::check(&device(), d, 7, &worst))
            << "group " << d.tuning.group_size << ", heads " << d.tuning.heads << ", pairs " << d.tuning.pairs
            << ", offset " << offset << ", elements " << c[3] << ", pairing " << c[4] << ", out of place "
            << d.out_of_place << ", head_dim " << d.head_dim << ", k.heads " << d.k.heads << ", skip_first "
            << d.rotation.skip_first;
    }
}

ROPE_ON_EVERY_DEVICE(Tunings);

} // namespace
