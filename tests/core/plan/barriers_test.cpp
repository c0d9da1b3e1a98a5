// These tests count how often a group waits for its slowest thread: the barriers that a dispatch comes to, in its
// SPIR-V with its constants folded in.
#include "plan/description.h"
#include "support/sample.hpp"
#include <vkrope/rope.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace {

enum {
    kOpFunctionCall = 57,
    kOpConstantTrue = 41,
    kOpConstantFalse = 42,
    kOpControlBarrier = 224,
    kOpLabel = 248,
    kOpBranch = 249,
    kOpBranchConditional = 250,
    kOpSwitch = 251
};

// Counts the barriers of the blocks that are left once no branch on a constant goes the other way.
class ReachedBarriers {
  public:
    explicit ReachedBarriers(const std::vector<uint32_t>& words) {
        uint32_t label = 0;
        for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
            const uint32_t* i = &words[at];
            const uint32_t op = i[0] & 0xFFFF;
            if (op == kOpConstantTrue || op == kOpConstantFalse) truths_[i[2]] = op == kOpConstantTrue;
            if (op == kOpLabel) {
                label = i[1];
                if (blocks_.empty()) first_ = label;
                blocks_[label] = {};
            }
            EXPECT_NE(op, static_cast<uint32_t>(kOpFunctionCall)) << "calls are not followed";
            if (op == kOpControlBarrier) ++blocks_[label].barriers;
            if (op == kOpBranch) blocks_[label].next = {i[1]};
            if (op == kOpBranchConditional) blocks_[label].next = waysOf(i);
            if (op == kOpSwitch) {
                blocks_[label].next = {i[2]};
                for (uint32_t word = 4; word < i[0] >> 16; word += 2) blocks_[label].next.push_back(i[word]);
            }
        }
        reach(first_);
    }
    uint32_t count() const { return count_; }

  private:
    struct Block {
        uint32_t barriers;
        std::vector<uint32_t> next;
    };
    std::vector<uint32_t> waysOf(const uint32_t* branch) const {
        const auto truth = truths_.find(branch[1]);
        if (truth == truths_.end()) return {branch[2], branch[3]};
        return {truth->second ? branch[2] : branch[3]};
    }
    void reach(uint32_t label) {
        if (!reached_.insert(label).second) return;
        count_ += blocks_.at(label).barriers;
        for (const uint32_t next : blocks_.at(label).next) reach(next);
    }
    std::map<uint32_t, Block> blocks_;
    std::map<uint32_t, bool> truths_;
    std::set<uint32_t> reached_;
    uint32_t first_ = 0, count_ = 0;
};

// Returns the most barriers of a plan's dispatches.
uint32_t barriersOf(const RopePlan& plan) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < ropeDispatchCount(&plan); ++i) {
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, i, &dispatch);
        std::vector<uint32_t> words(dispatch.shader->bytes / 4);
        words.resize(ropeSpecialize(&dispatch, words.data()) / 4);
        most = std::max(most, ReachedBarriers(words).count());
    }
    return most;
}

RopeFusedDescription intoCache(RopeElement element, RopeSource source) {
    static const std::vector<double> kFrequencies = sample::frequencies(500000, 128);
    RopeFusedDescription d = {};
    d.tokens = 512;
    d.head_dim = 128;
    d.rotation.source = source;
    if (source == ROPE_SOURCE_INLINE) d.rotation.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    d.out_of_place = 1;
    d.q.heads = 32;
    d.k.heads = d.v.heads = 8;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.map_in_positions = 1;
    d.cache.slots = 4096;
    d.cache.page_size = 16;
    d.cache.map_offset = 512; // behind the positions
    d.k.element = d.v.element = element;
    d.k.stored_scales.offset = d.v.stored_scales.offset = 4096 * 8 * 128 / 4; // behind int8
    return d;
}

uint32_t barriersInto(RopeElement element, RopeSource source, RopeNormKind norm = ROPE_NORM_NONE) {
    RopeFusedDescription d = intoCache(element, source);
    d.q.norm.kind = d.k.norm.kind = norm;
    d.q.norm.no_weights = d.k.norm.no_weights = 1;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 12;
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    return barriersOf(plan);
}

TEST(Barriers, OfRotationsWaitForTheAnglesOfAGroupAlone) {
    RopeRotateDescription d = rope::rotationOf(intoCache(ROPE_ELEMENT_F32, ROPE_SOURCE_INLINE));
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(barriersOf(plan), 1u);
    d = rope::rotationOf(intoCache(ROPE_ELEMENT_F32, ROPE_SOURCE_ROWS));
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(barriersOf(plan), 0u);
}

TEST(Barriers, OfFusedPassesAreOnePerMeeting) {
    EXPECT_EQ(barriersInto(ROPE_ELEMENT_F16, ROPE_SOURCE_ROWS), 0u);
    EXPECT_EQ(barriersInto(ROPE_ELEMENT_F16, ROPE_SOURCE_INLINE), 1u);
    EXPECT_EQ(barriersInto(ROPE_ELEMENT_F16, ROPE_SOURCE_ROWS, ROPE_NORM_RMS), 1u);
    EXPECT_EQ(barriersInto(ROPE_ELEMENT_F16, ROPE_SOURCE_INLINE, ROPE_NORM_RMS), 1u) << "the norm's serves the angles";
    EXPECT_EQ(barriersInto(ROPE_ELEMENT_F16, ROPE_SOURCE_ROWS, ROPE_NORM_LAYER), 2u);
}

// A head's scale waits for its extremes. A block waits for its extremes, for its scale, and for what is stored.
TEST(Barriers, OfIntegersAreOneForInt8AndThreeForBlocks) {
    EXPECT_EQ(barriersInto(ROPE_ELEMENT_I8, ROPE_SOURCE_ROWS), 1u);
    EXPECT_EQ(barriersInto(ROPE_ELEMENT_I8, ROPE_SOURCE_INLINE), 2u);
    EXPECT_EQ(barriersInto(ROPE_ELEMENT_Q8_0, ROPE_SOURCE_INLINE), 4u);
    for (const RopeElement element :
         {ROPE_ELEMENT_Q8_0, ROPE_ELEMENT_Q4_0, ROPE_ELEMENT_Q4_1, ROPE_ELEMENT_Q5_0, ROPE_ELEMENT_Q5_1})
        EXPECT_EQ(barriersInto(element, ROPE_SOURCE_ROWS), 3u) << element;
    EXPECT_EQ(barriersInto(ROPE_ELEMENT_IQ4_NL, ROPE_SOURCE_ROWS), 4u) << "a scale is fitted to codes";
}

// Heads go through shared memory and back. Columns of more than 32 elements take two rounds. A shift turns blocks back
// too.
TEST(Barriers, OfHadamardBlocksAreTwoAndThreeForTheWidest) {
    static const std::vector<double> kFrequencies = sample::frequencies(500000, 512);
    const auto more = [](uint32_t block, uint32_t dim, RopeElement element, RopePairing pairing, bool shifts) {
        uint32_t barriers[2];
        for (const bool with : {false, true}) {
            RopeFusedDescription d = {};
            d.tokens = 64;
            d.head_dim = dim;
            d.element = element;
            d.rotation.pairing = pairing;
            d.rotation.frequencies.values = kFrequencies.data();
            d.rotation.frequencies.count = dim / 2;
            d.rotation.source = ROPE_SOURCE_ROWS;
            d.rotation.operation = shifts ? ROPE_OPERATION_SHIFT : ROPE_OPERATION_FORWARD;
            d.k.heads = 8;
            d.k.element = ROPE_ELEMENT_Q8_0;
            d.cache.kind = ROPE_CACHE_SLOTS;
            d.cache.slots = 256;
            d.k.hadamard = with ? block : 0;
            RopeLimits limits;
            ropeMinimumLimits(&limits);
            limits.storage_buffers = 12;
            RopePlan plan;
            EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
            barriers[with] = barriersOf(plan);
        }
        return barriers[1] - barriers[0];
    };
    for (const RopePairing pairing : {ROPE_PAIRING_HALF, ROPE_PAIRING_INTERLEAVED}) {
        for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16}) {
            for (const uint32_t block : {16u, 64u, 128u, 256u})
                EXPECT_EQ(more(block, 256, element, pairing, false), 2u) << block << " " << element << " " << pairing;
        }
    }
    EXPECT_EQ(more(512, 512, ROPE_ELEMENT_F16, ROPE_PAIRING_HALF, false), 2u);
    EXPECT_EQ(more(512, 512, ROPE_ELEMENT_F32, ROPE_PAIRING_HALF, false), 3u);
    EXPECT_EQ(more(128, 128, ROPE_ELEMENT_F16, ROPE_PAIRING_HALF, true), 4u);
}

} // namespace
