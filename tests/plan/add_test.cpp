// Plans of additions: what they ask for, how the work is cut, and what they refuse. No device needed.
#include "support/sample.hpp"

#include "plan/pass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

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

// As many lanes in a thread as leave the device enough threads, and a row's as they lie in memory.
TEST(PlanAdd, AThreadTakesMoreLanesWhereThereAreMany) {
    const struct {
        uint32_t threads, tokens, dim, lanes, heads;
    } cases[] = {{16384, 512, 768, 2, 1}, {16384, 4096, 768, 8, 1}, {16384, 1, 768, 1, 1}, {64, 512, 768, 8, 1},
                 {64, 512, 1024, 16, 1},  {64, 512, 128, 2, 1},     {64, 512, 1048, 1, 1}, {64, 512, 1024, 16, 8}};
    for (const auto& c : cases) {
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        limits.threads = c.threads;
        RopeAddDescription d = bert();
        d.tokens = c.tokens;
        d.dim = c.dim;
        d.batch = c.heads;
        d.positions.same_for_all_sequences = 1;
        RopePlan plan;
        ASSERT_EQ(ropePlanAdd(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(plan.passes[0].constants[ROPE_ID_LANES], c.lanes) << c.threads << " threads, dim " << c.dim;
        EXPECT_EQ(plan.passes[0].constants[ROPE_ID_HEADS], c.heads);
        EXPECT_EQ(plan.passes[0].head_lanes, c.dim / 8 / c.lanes);
    }
}

// Computed sines are a lane's for several tokens; those that are read are not.
TEST(PlanAdd, AThreadTakesMoreTokensWhereItComputes) {
    const std::vector<double> frequencies = sample::frequencies(10000, 768);
    const struct {
        uint32_t threads, tokens, sequences, taken;
    } cases[] = {
        {16384, 4096, 1, 16}, {16384, 131072, 1, 32}, {16384, 1, 1, 1}, {64, 4096, 1, 128}, {64, 4096, 8, 128}};
    for (const auto& c : cases) {
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        limits.threads = c.threads;
        limits.storage_range = 1u << 30;
        RopeAddDescription d = bert();
        d.learned = 0;
        d.frequencies = {frequencies.data(), 384, 0, nullptr, 1};
        d.batch = c.sequences;
        d.tokens = c.tokens;
        d.positions.same_for_all_sequences = 1;
        RopePlan plan;
        ASSERT_EQ(ropePlanAdd(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(plan.passes[0].tokens_per_thread, c.taken) << c.threads << " threads, tokens " << c.tokens;
        EXPECT_EQ(plan.passes[0].constants[ROPE_ID_LANES], 1u);
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, 0, &dispatch);
        EXPECT_EQ(dispatch.groups[0], (c.tokens + c.taken - 1) / c.taken * 96 / 64 + (c.tokens == 1)) << c.tokens;
    }
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
    expectRefused(large, "the learned table spans 402653184 bytes",
                  [](RopeAddDescription* d) { d->rows.count = 1 << 17; });
    expectRefused(invalid, "odd offset", [](RopeAddDescription* d) {
        d->element_in = ROPE_ELEMENT_F16;
        d->x.offset = 1;
    });
}

} // namespace
