// ropePlanRotateRange: its plans take every pipeline of any number of tokens in the range. No device needed.
#include "plan/range.h"
#include "support/llama.hpp"
#include "support/pipelines.hpp"

#include <gtest/gtest.h>

#include <random>

using sample::llama;

namespace {

pipelines::Range gatherRange(RopeRotateDescription d, uint32_t least, uint32_t most, const RopeLimits* limits) {
    return pipelines::gatherRange(
        least, most,
        [&](RopePlan* plans, uint32_t* count) { return ropePlanRotateRange(&d, least, most, limits, plans, count); },
        [&](uint32_t tokens, RopePlan* plan) {
            d.tokens = tokens;
            return ropePlanRotate(&d, limits, plan);
        });
}

// The range's pipelines, which must be exactly those of all its plans.
size_t pipelinesOf(const RopeRotateDescription& d, uint32_t least, uint32_t most, const RopeLimits* limits,
                   uint32_t plan_count) {
    const pipelines::Range p = gatherRange(d, least, most, limits);
    EXPECT_EQ(p.result, ROPE_SUCCESS) << p.reason;
    EXPECT_EQ(p.plans, plan_count);
    EXPECT_EQ(p.found, p.wanted);
    return p.wanted.size();
}

TEST(PlanRotateRange, OfAModelIsAPipelineForFewTokensAndOneForMany) {
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}) {
        for (const RopeSource source : {ROPE_SOURCE_INLINE, ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
            RopeRotateDescription d = llama();
            d.element = element;
            d.rotation.source = source;
            d.rotation.rows.count = 8192;
            EXPECT_EQ(pipelinesOf(d, 1, 8192, nullptr, 2), 2u) << "element " << element << ", source " << source;
        }
    }
}

// From 16 384 tokens on 16-bit tensors that turn by rows or a table are cut as all else is. A tensor of one head makes
// the same groups again that few tokens have, with another pipeline between.
TEST(PlanRotateRange, OfSixteenBitsByRowsOrATableHasAThirdPipelineOfManyTokens) {
    RopeRotateDescription d = llama();
    d.element = ROPE_ELEMENT_F16;
    d.rotation.rows.count = 40000;
    for (const RopeSource source : {ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
        d.rotation.source = source;
        EXPECT_EQ(pipelinesOf(d, 16000, 16500, nullptr, 2), 2u);
        d.batch = 2;
        EXPECT_EQ(pipelinesOf(d, 1, 8191, nullptr, 2), 2u);
        const pipelines::Range p =
            gatherRange(d, 1, 8300, nullptr); // more than a binding has: the last have two dispatches
        EXPECT_TRUE(p.hasAll());
        EXPECT_EQ(p.wanted.size(), 3u);
        EXPECT_EQ(p.plans, 3u);
        d.batch = 1;
    }
    d.rotation.source = ROPE_SOURCE_INLINE;
    EXPECT_EQ(pipelinesOf(d, 16000, 16500, nullptr, 1), 1u);
    d.rotation.source = ROPE_SOURCE_ROWS;
    d.q.heads = 1;
    d.k.heads = 0;
    EXPECT_EQ(pipelinesOf(d, 1, 40000, nullptr, 2), 2u);
}

// Counted positions leave the table from the 101st token on, and such a token stays as it is.
TEST(PlanRotateRange, OfATableThatEndsIsTwoPipelines) {
    RopeRotateDescription d = llama();
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.count = 100;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    EXPECT_EQ(pipelinesOf(d, 1, 100, nullptr, 1), 1u);
    EXPECT_EQ(pipelinesOf(d, 100, 300, nullptr, 2), 2u);
}

// Q and K of one shape take the same pipeline, one after the other.
TEST(PlanRotateRange, OfTensorsThatGoApartIsOnePipelineToo) {
    RopeRotateDescription d = llama();
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 3;
    EXPECT_EQ(pipelinesOf(d, 1, 300, &limits, 1), 1u);
    d.k.heads = 1; // whose lanes make a smaller group
    EXPECT_EQ(pipelinesOf(d, 1, 300, &limits, 1), 2u);
}

// At one token a stride between tokens asks for nothing, so that lanes may be wider.
TEST(PlanRotateRange, OfOneTokenAndAnEndingTableIsThreePipelines) {
    RopeRotateDescription d = llama();
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.count = 100;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.q.from = {0, 0, 32 * 128 + 2, 128};
    d.k.from = {0, 0, 8 * 128 + 2, 128};
    EXPECT_EQ(pipelinesOf(d, 1, 300, nullptr, 3), 3u);
}

// Heads that lie far apart go together up to what a binding spans, and then apart, each in parts along its heads.
TEST(PlanRotateRange, OfHeadsFarApartIsTogetherAndApart) {
    RopeRotateDescription d = llama();
    d.k.heads = 1;
    d.q.from = d.k.from = {0, 0, 128, uint64_t{4096} * 128};
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_range = uint64_t{31} * 4096 * 128 * 4 + 300 * 128 * 4;
    EXPECT_EQ(pipelinesOf(d, 1, 300, &limits, 1), 1u);
    EXPECT_EQ(pipelinesOf(d, 301, 383, &limits, 1), 2u);
    EXPECT_EQ(pipelinesOf(d, 384, 1000, &limits, 1), 2u);
    EXPECT_EQ(pipelinesOf(d, 1, 1000, &limits, 3), 4u);
}

// A binding of 2 MiB spans few tokens of 261 sequences, so the tensors take several dispatches.
TEST(PlanRotateRange, OfTensorsOfSeveralDispatchesHasAllItsPipelines) {
    RopeRotateDescription d = llama();
    d.head_dim = 16;
    d.rotation.frequencies.count = 8;
    d.q.heads = 18;
    d.k.heads = 1;
    d.batch = 261;
    d.element = ROPE_ELEMENT_BF16;
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.count = 100;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_range = 1u << 21;
    const pipelines::Range p = gatherRange(d, 1, 288, &limits);
    EXPECT_EQ(p.result, ROPE_SUCCESS);
    EXPECT_TRUE(p.hasAll());
    EXPECT_EQ(p.wanted.size(), 4u);
    for (uint32_t least = 102; least < 200; ++least) {
        for (uint32_t most = least; most < 200; ++most)
            EXPECT_TRUE(gatherRange(d, least, most, &limits).hasAll()) << least << " to " << most;
    }
}

// Draws a description and the limits of a device that cuts it into many dispatches.
void drawCase(std::mt19937* random, RopeRotateDescription* d, RopeLimits* limits) {
    const auto any = [&](uint32_t least, uint32_t most) { return least + (*random)() % (most - least + 1); };
    *d = llama();
    d->head_dim = d->rotation.rotary_dim = 4 * any(1, 16);
    d->rotation.frequencies.count = d->head_dim / 2;
    d->q.heads = any(1, 20);
    d->k.heads = any(0, 8);
    d->batch = any(0, 1) == 0 ? 1 : any(2, 300);
    d->element = any(0, 1) == 0 ? ROPE_ELEMENT_F32 : ROPE_ELEMENT_BF16;
    const RopeSource sources[] = {ROPE_SOURCE_INLINE, ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS};
    d->rotation.source = sources[any(0, 2)];
    d->rotation.rows.count = any(0, 1) == 0 ? 100 : 1000;
    if (d->rotation.source == ROPE_SOURCE_TABLE) d->positions.kind = ROPE_POSITIONS_COUNTED;
    if (any(0, 1) == 0) { // heads before tokens
        const uint64_t head = uint64_t{any(300, 900)} * d->head_dim + 2 * any(0, 8);
        d->q.from = {0, d->q.heads * head, d->head_dim, head};
        d->k.from = {0, d->k.heads * head, d->head_dim, head};
    }
    ropeMinimumLimits(limits);
    limits->threads = any(0, 1) == 0 ? 16384 : 1;
    limits->group_size = any(0, 1) == 0 ? 128 : 512;
    limits->storage_alignment = 16u << any(0, 4);
    limits->storage_range = 1u << any(14, 22);
    if (any(0, 3) == 0) limits->group_count[0] = any(10, 100);
}

TEST(PlanRotateRange, OfAnyGeometryHasAllItsPipelines) {
    std::mt19937 random(23);
    uint32_t planned = 0, several = 0;
    for (uint32_t i = 0; i < 600; ++i) {
        RopeRotateDescription d;
        RopeLimits limits;
        drawCase(&random, &d, &limits);
        const uint32_t least = 1 + random() % 40, most = least + random() % 250;
        const pipelines::Range p = gatherRange(d, least, most, &limits);
        if (p.result != ROPE_SUCCESS) {
            RopePlan plan;
            d.tokens = most;
            EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), p.result) << "case " << i << ": " << p.reason;
            continue;
        }
        ++planned;
        several += p.wanted.size() > 2;
        EXPECT_TRUE(p.hasAll()) << "case " << i;
    }
    EXPECT_GT(planned, 200u);
    EXPECT_GT(several, 20u);
}

// Heads that lie far apart: with wide lanes at one token, in and behind the table, and many.
TEST(PlanRotateRange, OfManyKindsHasPlaceForAll) {
    RopeRotateDescription d = llama();
    d.element = ROPE_ELEMENT_F16;
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.count = 100;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.batch = 2;
    d.q.from = d.k.from = {0, uint64_t{32} * 20000 * 130, 128 + 2, uint64_t{20000} * 130};
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_range = uint64_t{31} * 20000 * 130 * 2 + 30 * 130 * 2;
    const pipelines::Range p = gatherRange(d, 1, 20000, &limits);
    EXPECT_EQ(p.result, ROPE_SUCCESS);
    EXPECT_EQ(p.plans, 4u);
    EXPECT_TRUE(p.hasAll());
}

TEST(PlanRotateRange, IsRefusedInWords) {
    RopePlan plans[ROPE_MAX_RANGE_PLANS];
    uint32_t count = 7;
    RopeRotateDescription d = llama();
    EXPECT_EQ(ropePlanRotateRange(&d, 2, 1, nullptr, plans, &count), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plans[0].reason.text, "the range is from 2 to 1 tokens; its end lies before its start");
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(ropePlanRotateRange(&d, 0, 1, nullptr, plans, &count), ROPE_ERROR_INVALID);
    d.tokens = 0;
    RopePlan plan;
    ropePlanRotate(&d, nullptr, &plan);
    EXPECT_STREQ(plans[0].reason.text, plan.reason.text) << "of no tokens";
    EXPECT_EQ(ropePlanRotateRange(nullptr, 1, 2, nullptr, plans, &count), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropePlanRotateRange(&d, 1, 2, nullptr, nullptr, &count), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropePlanRotateRange(&d, 1, 2, nullptr, plans, nullptr), ROPE_ERROR_INVALID);
}

// Tables with a pair for each token take a pipeline for each number of tokens.
TEST(PlanRotateRange, OfTooManyPipelinesIsRefusedInWords) {
    const auto plan = [](const rope::TokenPlanner&, uint32_t tokens, RopePlan* made) {
        RopeTableDescription d = {};
        d.tokens = d.frequencies.count = tokens;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        return ropePlanTable(&d, nullptr, made);
    };
    RopePlan plans[ROPE_MAX_RANGE_PLANS];
    uint32_t count = 0;
    const rope::TokenPlanner planner = {"", nullptr, plan, 0, false};
    EXPECT_EQ(rope::planRange(planner, 1, ROPE_MAX_RANGE_PLANS, plans, &count), ROPE_SUCCESS) << plans[0].reason.text;
    EXPECT_EQ(count, ROPE_MAX_RANGE_PLANS);
    EXPECT_EQ(rope::planRange(planner, 1, ROPE_MAX_RANGE_PLANS + 1, plans, &count), ROPE_ERROR_TOO_LARGE);
    EXPECT_STREQ(plans[0].reason.text, "the tensors take more than 8 kinds of plans; ask for shorter ranges");
    EXPECT_EQ(count, 0u);
}

} // namespace
