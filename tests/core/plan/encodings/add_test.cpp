// Plans of additions: what they ask for, how the work is cut, and what they refuse. No device needed.
#include "support/group_cut.hpp"
#include "support/sample.hpp"

#include "plan/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

namespace {

RopeAddDescription bert() {
    RopeAddDescription d = {};
    d.tokens = 512;
    d.dim = 768;
    d.learned = 1;
    d.rows.count = 512;
    return d;
}

void expectRefused(RopeResult wanted, const std::string& piece, const std::function<void(RopeAddDescription*)>& spoil) {
    RopeAddDescription d = bert();
    spoil(&d);
    RopePlan plan;
    EXPECT_EQ(ropePlanAdd(&d, nullptr, &plan), wanted) << piece;
    EXPECT_NE(std::string(plan.reason.text).find(piece), std::string::npos) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 0u);
}

TEST(PlanAdd, OfBertIsOneDispatchWithoutASurplusByte) {
    const RopeAddDescription d = bert();
    RopePlan plan;
    ASSERT_EQ(ropePlanAdd(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropeDispatchCount(&plan), 1u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_X], 512u * 768 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_ROWS], 512u * 768 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 512u * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_FREQUENCIES], 0u);
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    EXPECT_STREQ(dispatch.shader->name, "add_wide");
}

RopePlan planOf(const RopeAddDescription& d, uint32_t threads = 16384, uint32_t group_size = 128) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.threads = threads;
    limits.group_size = group_size;
    limits.storage_range = 1u << 30;
    limits.enabled = ROPE_ENABLED_STORAGE_16;
    RopePlan plan;
    EXPECT_EQ(ropePlanAdd(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    return plan;
}

RopeAddDescription sinusoids(uint32_t dim, RopeElement element, uint32_t sequences) {
    static const std::vector<double> kFrequencies(ROPE_MAX_PAIRS, 0.5);
    RopeAddDescription d = {};
    d.batch = sequences;
    d.tokens = 4096;
    d.dim = dim;
    d.element = element;
    d.frequencies = {kFrequencies.data(), dim / 2, 0, nullptr, 1};
    d.positions.same_for_all_sequences = 1;
    return d;
}

using group_cut::Cut;
using group_cut::cutOf;

// A thread of a GPU takes one lane of one sequence. A group has a part of a token or several.
TEST(PlanAdd, GivesEachKindOfDeviceItsGroups) {
    constexpr RopeElement f32 = ROPE_ELEMENT_F32, f16 = ROPE_ELEMENT_F16;
    EXPECT_EQ(cutOf(planOf(sinusoids(1024, f32, 1))), (Cut{128, 1, 1, 1, 1, 4, 0, 0})) << "a GPU's";
    EXPECT_EQ(cutOf(planOf(sinusoids(1024, f16, 1))), (Cut{64, 1, 2, 1, 1, 8, 0, 0}));
    EXPECT_EQ(cutOf(planOf(sinusoids(768, f32, 1))), (Cut{96, 1, 1, 1, 1, 4, 0, 0}));
    EXPECT_EQ(cutOf(planOf(sinusoids(8192, f32, 1))), (Cut{128, 1, 1, 8, 1, 4, 0, 0})) << "a token in eight groups";
    EXPECT_EQ(cutOf(planOf(sinusoids(1048, f32, 1))), (Cut{96, 1, 1, 2, 1, 4, 0, 0})) << "131 lanes";
    EXPECT_EQ(cutOf(planOf(sinusoids(16, f32, 1))), (Cut{2, 1, 64, 1, 1, 4, 0, 0}));
    EXPECT_EQ(cutOf(planOf(sinusoids(10, f32, 1))), (Cut{2, 1, 64, 1, 1, 4, 0, 1})) << "runs lie anywhere";
    EXPECT_EQ(cutOf(planOf(sinusoids(6, f16, 1))), (Cut{1, 1, 64, 1, 1, 4, 0, 1})) << "runs of even length";
    EXPECT_EQ(cutOf(planOf(sinusoids(1024, f32, 2))), (Cut{64, 2, 1, 2, 1, 4, 1, 0})) << "two sequences";
    EXPECT_EQ(cutOf(planOf(sinusoids(1024, f32, 7))), (Cut{32, 4, 1, 4, 1, 4, 1, 0}));
    EXPECT_EQ(cutOf(planOf(sinusoids(1024, f32, 64))), (Cut{16, 8, 1, 8, 1, 4, 1, 0}));
    EXPECT_EQ(cutOf(planOf(sinusoids(1024, f16, 8))), (Cut{16, 8, 1, 4, 1, 8, 1, 0}));
    EXPECT_EQ(cutOf(planOf(sinusoids(64, f32, 4))), (Cut{8, 4, 4, 1, 1, 4, 1, 0})) << "four tokens";
    EXPECT_EQ(cutOf(planOf(bert())), (Cut{96, 1, 1, 1, 1, 4, 0, 0}));
    EXPECT_EQ(cutOf(planOf(sinusoids(1024, f32, 1), 64, 1024)), (Cut{128, 1, 2, 1, 1, 4, 0, 0})) << "a CPU's";
    EXPECT_EQ(cutOf(planOf(sinusoids(1024, f32, 16), 64, 1024)), (Cut{64, 4, 1, 2, 4, 4, 1, 0}));
    EXPECT_EQ(cutOf(planOf(sinusoids(1024, f32, 16), 64)), (Cut{64, 1, 1, 2, 8, 4, 0, 0})) << "another CPU's";
}

// The values that a group shares fit the shared memory.
TEST(PlanAdd, SharesNoMoreThanTheDeviceHolds) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    for (const uint32_t bytes : {2048u, 2047u}) { // of 64 lanes of four pairs
        limits.shared_bytes = bytes;
        const RopeAddDescription d = sinusoids(1024, ROPE_ELEMENT_F32, 2);
        RopePlan plan;
        ASSERT_EQ(ropePlanAdd(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(rope::passAt(plan, 0).constants[ROPE_ID_SHARES], bytes == 2048);
        EXPECT_EQ(rope::passAt(plan, 0).group[1], bytes == 2048 ? 2u : 1u);
    }
}

TEST(PlanAdd, TakesOneDispatchAndNoNeedlessGroup) {
    const struct {
        uint32_t tokens, dim, sequences, x, z;
    } cases[] = {{1, 1024, 1, 1, 1}, {4096, 1024, 1, 4096, 1}, {4096, 8192, 1, 4096, 8},
                 {300, 16, 1, 5, 1}, {9, 1024, 2, 9, 2},       {4096, 1024, 8, 4096, 8},
                 {5, 64, 4, 2, 1},   {5, 64, 9, 3, 2},         {1, 1024, 7, 1, 8}};
    for (const auto& c : cases) {
        RopeAddDescription d = sinusoids(c.dim, ROPE_ELEMENT_F32, c.sequences);
        d.tokens = c.tokens;
        const RopePlan plan = planOf(d);
        ASSERT_EQ(ropeDispatchCount(&plan), 1u);
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, 0, &dispatch);
        EXPECT_EQ(dispatch.groups[0], c.x) << c.tokens << " of " << c.dim;
        EXPECT_EQ(dispatch.groups[1], 1u);
        EXPECT_EQ(dispatch.groups[2], c.z) << c.dim << ", sequences " << c.sequences;
    }
}

// One pipeline serves every number of tokens, and few serve every number of sequences.
TEST(PlanAdd, TakesOnePipelineForAllTokens) {
    for (const uint32_t learned : {0u, 1u}) {
        RopeAddDescription d = sinusoids(1024, ROPE_ELEMENT_F16, 1);
        d.learned = learned;
        d.rows.count = 1 << 16;
        d.count_outside = 1;
        d.positions.element = ROPE_POSITION_INT64;
        const RopePlan first = planOf(d);
        for (const uint32_t tokens : {1u, 7u, 512u, 50000u}) {
            d.tokens = tokens;
            EXPECT_TRUE(rope::haveSamePipelines(first, planOf(d))) << tokens;
        }
        std::set<uint32_t> hashes;
        for (d.batch = 1; d.batch < 40; ++d.batch) hashes.insert(planOf(d).passes[0].pipeline_hash);
        EXPECT_EQ(hashes.size(), 4u);
    }
}

// Rows of 16-bit elements are read as wide as the embedding, where they lie so.
TEST(PlanAdd, ReadsRowsSixteenBytesAtATime) {
    RopeAddDescription d = bert();
    const auto reading = [&d] { return rope::passAt(planOf(d), 0).constants[ROPE_ID_ROWS]; };
    EXPECT_EQ(reading(), ROPE_ROWS_BY_FOUR);
    d.element = d.rows.element = ROPE_ELEMENT_F16;
    EXPECT_EQ(reading(), ROPE_ROWS_BY_EIGHT);
    d.rows.offset = 4;
    EXPECT_EQ(reading(), ROPE_ROWS_BY_FOUR);
    d.rows.offset = 0;
    d.rows.row_stride = 772;
    EXPECT_EQ(reading(), ROPE_ROWS_BY_FOUR);
    d.rows.row_stride = 0;
    d.rows.element = ROPE_ELEMENT_F32;
    EXPECT_EQ(reading(), ROPE_ROWS_BY_FOUR);
    d.rows.element = ROPE_ELEMENT_BF16;
    d.x.offset = 4;
    EXPECT_EQ(reading(), ROPE_ROWS_BY_FOUR) << "lanes of four pairs";
    d.dim = 772;
    d.x.offset = 2;
    EXPECT_EQ(reading(), ROPE_ROWS_SINGLE) << "by words";
}

TEST(PlanAdd, RefusesWhatContradictsItself) {
    const RopeResult invalid = ROPE_ERROR_INVALID, large = ROPE_ERROR_TOO_LARGE;
    expectRefused(invalid, "dim is 0", [](RopeAddDescription* d) { d->dim = 0; });
    expectRefused(invalid, "dim is 7; it must be even", [](RopeAddDescription* d) { d->dim = 7; });
    expectRefused(invalid, "from 2 to 131070", [](RopeAddDescription* d) { d->dim = 131072; });
    expectRefused(invalid, "from 2 to 8192 with sinusoids", [](RopeAddDescription* d) {
        d->learned = 0;
        d->dim = 8194;
    });
    expectRefused(invalid, "tokens is 0", [](RopeAddDescription* d) { d->tokens = 0; });
    expectRefused(invalid, "order is 2", [](RopeAddDescription* d) { d->order = static_cast<RopeSinusoidOrder>(2); });
    expectRefused(invalid, "scale is -1", [](RopeAddDescription* d) { d->scale = -1; });
    expectRefused(invalid, "scale is", [](RopeAddDescription* d) { d->scale = NAN; });
    expectRefused(invalid, "rows.count is 0", [](RopeAddDescription* d) { d->rows.count = 0; });
    expectRefused(invalid, "rows of whole positions",
                  [](RopeAddDescription* d) { d->positions.element = ROPE_POSITION_FLOAT32; });
    expectRefused(invalid, "rows.element is 4", [](RopeAddDescription* d) { d->rows.element = ROPE_ELEMENT_I8; });
    expectRefused(invalid, "element_out", [](RopeAddDescription* d) { d->element_out = ROPE_ELEMENT_F16; });
    expectRefused(invalid, "x.token_stride is 700", [](RopeAddDescription* d) { d->x = {0, 0, 700, 0}; });
    expectRefused(invalid, "frequencies.count is 0", [](RopeAddDescription* d) { d->learned = 0; });
    expectRefused(large, "rows spans 402653184 bytes, and a binding 134217728 at most; use fewer rows",
                  [](RopeAddDescription* d) { d->rows.count = 1 << 17; });
    expectRefused(invalid, "odd offset", [](RopeAddDescription* d) {
        d->element = ROPE_ELEMENT_F16;
        d->x.offset = 1;
    });
}

} // namespace
