// Tensors that plans split, and how. No device needed.
#include "support/llama.hpp"
#include "support/reach.hpp"

#include <gtest/gtest.h>

using sample::llama;

namespace {

TEST(Plan, SplitsATensorPastABindingsRangeWithoutWrapping) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    RopeRotateDescription d = llama();
    d.tokens = 1 << 20; // Q: 16 GiB, 2^32 elements
    d.q.heads = 32;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q], (1ull << 20) * 32 * 128 * 4);
    EXPECT_GT(ropeDispatchCount(&plan), 128u);
    reach::checkDispatches(plan, d, limits);
}

TEST(Plan, SplitsAHeadMajorTensorByHeadsAndThenTokens) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    RopeRotateDescription d = llama();
    d.tokens = 1 << 19; // one head is 256 MiB
    d.k.heads = 0;
    d.q.from = {0, 0, 128, static_cast<uint64_t>(d.tokens) * 128};
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    reach::checkDispatches(plan, d, limits);
}

TEST(Plan, SplitsPast65535Groups) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_range = UINT32_MAX;
    RopeRotateDescription d = llama();
    d.head_dim = 2; // small elements, many threads
    d.rotation.frequencies.count = 1;
    d.tokens = 1 << 24;
    d.q.heads = 1;
    d.k.heads = 0;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_GT(ropeDispatchCount(&plan), 1u);
    reach::checkDispatches(plan, d, limits);
    d.batch = 70000; // and in y, where sequences cannot be joined
    d.tokens = 2;
    d.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_GT(ropeDispatchCount(&plan), 1u);
    reach::checkDispatches(plan, d, limits);
}

} // namespace
