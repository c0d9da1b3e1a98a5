// Caches that no binding spans: into which windows a plan cuts them, and which ones it refuses.
#include "plan/element_formats.h"
#include "plan/pass.h"
#include "support/host_pass.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

// 2 KiB a slot, at a range of 128 MiB and what a binding may lose to its alignment.
constexpr uint64_t kRange = (1u << 27) + 258;

RopeFusedDescription large(RopeCacheKind kind, uint32_t slots) {
    RopeFusedDescription d = host_pass::cached(4, kind, slots);
    d.rotate.head_dim = 64;
    d.rotate.k.heads = 16;
    d.v.heads = 0;
    d.cache.element = ROPE_ELEMENT_F16;
    return d;
}

RopePlan planOf(const RopeFusedDescription& d, uint64_t range = kRange) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 8;
    limits.storage_range = range;
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    return plan;
}

std::string refusalOf(const RopeFusedDescription& d, uint64_t range) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_range = range;
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_TOO_LARGE);
    return plan.reason.text;
}

struct Steps {
    uint32_t sequences, pages, slots, heads;
};

void expectSteps(const RopePlan& plan, const Steps& wanted) {
    const uint32_t* step = plan.passes[0].step;
    EXPECT_EQ(step[rope::kSequence], wanted.sequences);
    EXPECT_EQ(step[rope::kPage], wanted.pages);
    EXPECT_EQ(step[rope::kSlot], wanted.slots);
    EXPECT_EQ(step[rope::kCacheHead], wanted.heads);
    EXPECT_EQ(ropeDispatchCount(&plan), rope::windowCount(plan.passes[0]));
}

TEST(PlanWindows, ACacheThatFitsIsBoundWholeAndTakesTheSamePipeline) {
    const RopePlan small = planOf(large(ROPE_CACHE_SLOTS, 64));
    RopeFusedDescription d = large(ROPE_CACHE_SLOTS, 1 << 16);
    const RopePlan full = planOf(d);
    EXPECT_EQ(ropeDispatchCount(&full), 1u);
    EXPECT_EQ(full.passes[0].pipeline_hash, small.passes[0].pipeline_hash);
    d.cache.slots += 1;
    expectSteps(planOf(d), {1, 1, 1 << 16, 16});
}

// 4 GiB have more elements of four bits than 32 bits count.
TEST(PlanWindows, EveryPlaceOfTheLargestBindingTakes32Bits) {
    for (uint32_t number = ROPE_ELEMENT_F32; number <= rope::kLastElement; ++number) {
        const rope::ElementFormat& format = rope::kElementFormats[number];
        if (format.scale == rope::ElementScale::kApart) continue;
        SCOPED_TRACE(format.name);
        RopeFusedDescription d = large(ROPE_CACHE_SLOTS, 1);
        d.cache.element = format.element;
        const uint64_t slot_bytes = rope::elementBytes(format.element, 16 * 64);
        d.cache.slots = static_cast<uint32_t>(UINT32_MAX / slot_bytes);
        const RopePlan plan = planOf(d, UINT32_MAX);
        ASSERT_EQ(ropeDispatchCount(&plan), 1u);
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, 0, &dispatch);
        const uint64_t slot = dispatch.constants[ROPE_ID_KV_DESTINATION_TOKEN];
        EXPECT_LE((d.cache.slots - 1) * slot, UINT32_MAX);
        const uint64_t unit = format.block_elements != 1 ? format.block_elements : plan.passes[0].address_unit;
        EXPECT_EQ(rope::elementBytes(format.element, slot * unit), slot_bytes);
    }
}

TEST(PlanWindows, AreCutAlongWhatLiesFurthestApart) {
    RopeFusedDescription d = large(ROPE_CACHE_SLOTS, 3 << 16);
    expectSteps(planOf(d), {1, 1, 1 << 16, 16}); // 384 MiB of slots
    d.cache.page_size = 1 << 12;
    expectSteps(planOf(d), {1, 16, 1 << 12, 16}); // pages
    d.cache.page_size = 3 << 15;
    expectSteps(planOf(d), {1, 1, 1 << 16, 16}); // one page is 192 MiB
    d.cache.order = ROPE_CACHE_HND;
    expectSteps(planOf(d), {1, 1, 3 << 15, 10}); // so its heads, 12 MiB each
    d.cache.page_size = 0;
    expectSteps(planOf(d), {1, 1, 3 << 16, 5}); // 24 MiB each
    d.cache.slots = 3 << 20;
    expectSteps(planOf(d), {1, 1, 1 << 20, 1}); // one head is 384 MiB
}

TEST(PlanWindows, SequencesAreBatchesOrPackedAndGoFirst) {
    RopeFusedDescription d = large(ROPE_CACHE_RING, 1 << 15);
    d.rotate.batch = 5;
    const RopePlan batches = planOf(d);
    EXPECT_EQ(batches.passes[0].step[rope::kBatch], 2u);
    EXPECT_EQ(rope::windowCount(batches.passes[0]), 1u);
    EXPECT_EQ(ropeDispatchCount(&batches), 3u);
    d.rotate.batch = 1;
    d.rotate.positions.kind = ROPE_POSITIONS_PACKED;
    d.rotate.positions.sequences = 5;
    expectSteps(planOf(d), {2, 1, 1 << 15, 16});
    d.cache.slots = 3 << 15;
    expectSteps(planOf(d), {1, 1, 1 << 16, 16});
}

TEST(PlanWindows, QAndTheOtherCacheOfTheBufferHaveDispatchesOfTheirOwn) {
    RopeFusedDescription d = large(ROPE_CACHE_SLOTS, 3 << 15);
    d.rotate.q.heads = 4;
    d.v.heads = 16;
    d.cache.v_shares_buffer = 1;
    d.cache.v.offset = uint64_t{3 << 15} * 16 * 64;
    const RopePlan plan = planOf(d);
    ASSERT_EQ(plan.pass_count, 3u);
    EXPECT_EQ(plan.passes[0].dispatches, 1u);
    EXPECT_EQ(rope::windowCount(plan.passes[1]), 2u);
    EXPECT_EQ(rope::windowCount(plan.passes[2]), 2u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_K_OUT], 2 * uint64_t{3 << 15} * 16 * 64 * 2);
    char text[4096];
    ropePrintPlan(&plan, text, sizeof text);
    EXPECT_NE(std::string(text).find("at slots, its cache in 2 windows"), std::string::npos) << text;
}

// The int8 of a page and their scales behind them, 64 * 16 * 68 bytes a page.
TEST(PlanWindows, ScalesInTheSamePageAreInItsWindow) {
    RopeFusedDescription d = large(ROPE_CACHE_SLOTS, 1 << 18);
    d.cache.element = ROPE_ELEMENT_I8;
    d.cache.page_size = 64;
    d.cache.k_scales.offset = uint64_t{1 << 18} * 16 * 64 / 4;
    const std::string apart = refusalOf(d, kRange);
    EXPECT_NE(apart.find(": one head of a slot of the cache, with its scale, spans more than the 134217986 bytes"),
              std::string::npos)
        << apart;
    d.cache.k = {0, 0, 64 * 16 * 68, 16 * 64, 64};
    d.cache.k_scales = {64 * 16 * 64 / 4, 0, 64 * 16 * 68 / 4, 16, 1};
    expectSteps(planOf(d), {1, kRange / (64 * 16 * 68), 64, 16});
}

TEST(PlanWindows, OnlyATokensOwnBytesAreTooMany) {
    RopeFusedDescription d = large(ROPE_CACHE_SLOTS, 7);
    d.no_rotation = 1;
    d.rotate.k.heads = 1;
    d.rotate.element_in = ROPE_ELEMENT_F16;
    d.cache.element = ROPE_ELEMENT_F32;
    expectSteps(planOf(d, 514), {1, 1, 1, 1}); // a head has 256 bytes, and 258 may be lost
    EXPECT_NE(refusalOf(d, 513).find("one head of a slot"), std::string::npos);
    d = large(ROPE_CACHE_RING, 1 << 28);
    d.rotate.positions.kind = ROPE_POSITIONS_PACKED;
    d.rotate.positions.sequences = 64;
    EXPECT_NE(refusalOf(d, kRange).find("the cache has 64 sequences of 268435456 slots"), std::string::npos);
}

} // namespace
