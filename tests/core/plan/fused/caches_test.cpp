// Caches as large as a binding, and those that a plan refuses because no binding spans them.
#include "plan/element_formats.h"
#include "plan/fused/record.h"
#include "plan/pass.h"
#include "support/host_pass.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

// 2 KiB a slot, at a range of 128 MiB and what a binding may lose to its alignment.
constexpr uint64_t kRange = (1u << 27) + 258;

RopeFusedDescription large(RopeCacheKind kind, uint32_t slots) {
    RopeFusedDescription d = host_pass::cached(4, kind, slots);
    d.head_dim = 64;
    d.k.heads = 16;
    d.v.heads = 0;
    d.k.element = d.v.element = ROPE_ELEMENT_F16;
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
    limits.storage_buffers = 8;
    limits.storage_range = range;
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_TOO_LARGE);
    return plan.reason.text;
}

TEST(PlanCaches, ACacheThatFitsIsBoundWholeAndTakesTheSamePipeline) {
    const RopePlan small = planOf(large(ROPE_CACHE_SLOTS, 64));
    RopeFusedDescription d = large(ROPE_CACHE_SLOTS, 1 << 16);
    const RopePlan full = planOf(d);
    EXPECT_EQ(ropeDispatchCount(&full), 1u);
    EXPECT_EQ(full.passes[0].pipeline_hash, small.passes[0].pipeline_hash);
    d.cache.slots += 1;
    EXPECT_EQ(refusalOf(d, 1 << 27),
              "k_out spans 134219776 bytes, and a binding 134217728 at most; take a pass of K and V for each "
              "part of the cache, with SLOTS that are -1 where a token goes to another part");
}

// 4 GiB have more elements of four bits than 32 bits count.
TEST(PlanCaches, EveryPlaceOfTheLargestBindingTakes32Bits) {
    for (uint32_t number = ROPE_ELEMENT_F32; number <= rope::kLastElement; ++number) {
        const rope::ElementFormat& format = rope::kElementFormats[number];
        if (format.scale == rope::ElementScale::kApart) continue;
        SCOPED_TRACE(format.name);
        RopeFusedDescription d = large(ROPE_CACHE_SLOTS, 1);
        d.k.element = d.v.element = format.element;
        const uint64_t slot_bytes = rope::elementBytes(format.element, 16 * 64);
        d.cache.slots = static_cast<uint32_t>(UINT32_MAX / slot_bytes);
        const RopePlan plan = planOf(d, UINT32_MAX);
        ASSERT_EQ(ropeDispatchCount(&plan), 1u);
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, 0, &dispatch);
        const uint64_t slot = dispatch.constants[ROPE_ID_RECORD_K + rope::field::to_token];
        EXPECT_LE((d.cache.slots - 1) * slot, UINT32_MAX);
        const uint64_t unit = format.block_elements != 1 ? format.block_elements : rope::passAt(plan, 0).address_unit;
        EXPECT_EQ(rope::elementBytes(format.element, slot * unit), slot_bytes);
    }
}

TEST(PlanCaches, ASequencesCacheIsBoundWithItsSequence) {
    RopeFusedDescription d = large(ROPE_CACHE_RING, 1 << 15);
    d.batch = 5;
    const RopePlan batches = planOf(d);
    EXPECT_EQ(rope::passAt(batches, 0).step[rope::kBatch], 2u);
    EXPECT_EQ(ropeDispatchCount(&batches), 3u);
    d.batch = 1;
    d.positions.kind = ROPE_POSITIONS_PACKED;
    d.positions.sequences = 5;
    EXPECT_NE(refusalOf(d, kRange).find("k_out spans 335544320 bytes"), std::string::npos) << refusalOf(d, kRange);
}

TEST(PlanCaches, OfOneBufferThatNoBindingSpansTakeTwoPasses) {
    RopeFusedDescription d = large(ROPE_CACHE_SLOTS, 1 << 16);
    d.v.heads = 16;
    d.cache.one_buffer = 1;
    d.v.to.offset = uint64_t{1 << 16} * 16 * 64;
    EXPECT_EQ(planOf(d).pass_count, 2u);
    d.cache.one_buffer = 0;
    d.v.to.offset = 0;
    EXPECT_EQ(planOf(d).pass_count, 1u);
}

} // namespace
