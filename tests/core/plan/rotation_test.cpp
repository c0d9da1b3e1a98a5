// How many dispatches and pipelines a rotation of Q and K takes. No device needed.
#include "support/llama.hpp"
#include "support/reach.hpp"

#include "shaders/interface.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using sample::llama;

namespace {

RopeLimits floorLimits(uint32_t storage_buffers = 4) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = storage_buffers;
    return limits;
}

uint32_t bindingsOf(const rope::PlanPass& pass) {
    uint32_t count = 0;
    for (const rope::PassAccess& access : pass.access) count += access.extent != 0;
    return count;
}

// The bindings of each pass of a plan. No pass is split.
std::vector<uint32_t> bindingsOf(const RopeRotateDescription& d, uint32_t storage_buffers) {
    const RopeLimits limits = floorLimits(storage_buffers);
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), plan.pass_count);
    reach::checkDispatches(plan, d, limits);
    std::vector<uint32_t> bindings;
    for (uint32_t i = 0; i < plan.pass_count; ++i) bindings.push_back(bindingsOf(rope::passAt(plan, i)));
    return bindings;
}

using Bindings = std::vector<uint32_t>;

TEST(PlanRotation, OfBothTensorsIsOneDispatchWhereTheirBuffersAreBoundTogether) {
    for (uint32_t choice = 0; choice < 3 * 3 * 2 * 2; ++choice) {
        RopeRotateDescription d = llama();
        d.element = static_cast<RopeElement>(1 + choice % 3);
        d.rotation.source = static_cast<RopeSource>(choice / 3 % 3);
        d.rotation.rows.count = 5000;
        if (choice / 9 % 2 != 0) d.positions.kind = ROPE_POSITIONS_COUNTED;
        if (choice / 18 != 0) d.k.heads = 1;
        const bool reads_positions = choice / 9 % 2 == 0 && d.rotation.source != ROPE_SOURCE_ROWS;
        const uint32_t shared = 1 + reads_positions; // bindings of both tensors
        SCOPED_TRACE("element " + std::to_string(d.element) + ", source " + std::to_string(d.rotation.source) +
                     ", positions " + std::to_string(d.positions.kind) + ", k.heads " + std::to_string(d.k.heads));
        EXPECT_EQ(bindingsOf(d, 4), Bindings({shared + 2}));
        EXPECT_EQ(bindingsOf(d, shared + 2), Bindings({shared + 2}));
        EXPECT_EQ(bindingsOf(d, shared + 1), Bindings({shared + 1, shared + 1}));
        d.out_of_place = 1;
        EXPECT_EQ(bindingsOf(d, 6), Bindings({shared + 4}));
        EXPECT_EQ(bindingsOf(d, shared + 3), Bindings({shared + 2, shared + 2}));
        EXPECT_EQ(bindingsOf(d, 4), Bindings({shared + 2, shared + 2}));
    }
}

TEST(PlanRotation, OfOneTensorIsOneDispatch) {
    RopeRotateDescription d = llama();
    d.q.heads = 0;
    EXPECT_EQ(bindingsOf(d, 4), Bindings({3})) << "K alone";
    d.k.heads = 1;
    EXPECT_EQ(bindingsOf(d, 4), Bindings({3})) << "of one head";
    d.q.heads = 32;
    d.k.heads = 0;
    EXPECT_EQ(bindingsOf(d, 4), Bindings({3})) << "Q alone";
}

// The shader of each pass, and how it takes runs.
std::string shadersOf(const RopeRotateDescription& d) {
    RopeLimits limits = floorLimits();
    limits.enabled = ROPE_ENABLED_STORAGE_16;
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    reach::checkDispatches(plan, d, limits);
    std::string shaders;
    for (uint32_t i = 0; i < plan.pass_count; ++i) {
        shaders += plan.passes[i].shader->name;
        if (rope::passAt(plan, i).constants[ROPE_ID_QUADS] == 2) shaders += " by eight";
        if (rope::passAt(plan, i).constants[ROPE_ID_BY_WORDS] != 0) shaders += " by words";
        shaders += ", ";
    }
    return shaders;
}

TEST(PlanRotation, OfTensorsThatDifferInTheirLayoutsIsOneDispatchWhereTheLanesAreTheSame) {
    RopeRotateDescription d = llama();
    d.k.from = {8, 0, 132, uint64_t{4096} * 132}; // by heads, with gaps
    EXPECT_EQ(shadersOf(d), "rotate_wide, ");
    d.k.from.offset = 2;
    EXPECT_EQ(shadersOf(d), "rotate_wide, rotate_wide by words, ");
    d.q.from = {2, 0, 32 * 128, 128};
    EXPECT_EQ(shadersOf(d), "rotate_wide by words, ") << "alike";
    d.q.from = {};
    d.element = ROPE_ELEMENT_F16;
    d.tuning.pairs = 8;
    d.k.from.offset = 8;
    EXPECT_EQ(shadersOf(d), "rotate_wide by eight, rotate_wide, ") << "132 is a multiple of four";
    d.k.from = {8, 0, 136, uint64_t{4096} * 136};
    EXPECT_EQ(shadersOf(d), "rotate_wide by eight, ");
}

// They go apart where together they span more than a binding, and then their heads are split.
TEST(PlanRotation, OfHeadsThatLieFarApartIsSplitByHeads) {
    RopeRotateDescription d = llama();
    d.q.from = {0, 0, 128, uint64_t{4096} * 128}; // 2 MiB a head
    d.k.from = d.q.from;
    RopeLimits limits = floorLimits();
    limits.storage_range = 5 << 20;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    reach::checkDispatches(plan, d, limits);
    ASSERT_EQ(plan.pass_count, 2u);
    EXPECT_EQ(rope::passAt(plan, 0).step[2], 2u);
    EXPECT_EQ(rope::passAt(plan, 0).parts[2], 16u);
    EXPECT_EQ(rope::passAt(plan, 1).parts[2], 4u);
    limits.storage_range = uint64_t{32} * 4096 * 128 * 4;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 1u);
}

// Both tensors have more groups in z than a dispatch may; apart they are split along heads.
TEST(PlanRotation, OfMoreBlocksThanADispatchHasInZGoesApart) {
    static const std::vector<double> kFrequencies(4096, 0.5);
    RopeLimits limits = floorLimits();
    limits.storage_range = UINT32_MAX;
    RopeRotateDescription d = llama();
    d.tokens = 1;
    d.head_dim = 8192;
    d.rotation.frequencies = {kFrequencies.data(), 4096, 1, nullptr, 1};
    for (const auto& [q, k, passes, dispatches] :
         {std::array<uint32_t, 4>{8000, 191, 1, 1}, {8000, 192, 2, 2}, {8192, 1, 2, 3}}) { // of eight groups each
        d.q.heads = q;
        d.k.heads = k;
        RopePlan plan;
        ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        reach::checkDispatches(plan, d, limits);
        EXPECT_EQ(plan.pass_count, passes) << q << ", " << k;
        EXPECT_EQ(ropeDispatchCount(&plan), dispatches) << q << ", " << k;
    }
}

// A pipeline is one shader with one set of constants and bindings.
using Pipeline = std::tuple<const RopeShader*, std::vector<uint32_t>, uint32_t>;

// On a GPU one pipeline takes few tokens, and one takes many.
TEST(PlanRotation, HasAtMostTwoPipelinesForAllCountsOfTokens) {
    std::vector<RopeLimits> devices(5, floorLimits()); // the last has the floor's
    for (size_t i = 0; i < 4; ++i) {
        devices[i].threads = i % 2 == 0 ? 0 : 16384;
        devices[i].group_size = 1024;
        devices[i].storage_range = i / 2 == 0 ? UINT32_MAX : 1u << 27;
    }
    for (const RopeElement element : {ROPE_ELEMENT_F32, ROPE_ELEMENT_F16, ROPE_ELEMENT_BF16}) {
        for (const RopeLimits& limits : devices) {
            std::set<Pipeline> pipelines;
            RopeRotateDescription d = llama();
            d.element = element;
            for (d.tokens = 1; d.tokens <= 8192; ++d.tokens) {
                RopePlan plan;
                ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
                ASSERT_EQ(ropeDispatchCount(&plan), 1u);
                const rope::PlanPass& pass = rope::passAt(plan, 0);
                uint32_t bound = 0;
                for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) bound |= uint32_t{pass.access[i].extent != 0} << i;
                const uint32_t* constants = pass.constants;
                pipelines.emplace(pass.shader, std::vector<uint32_t>(constants, constants + ROPE_CONSTANT_COUNT),
                                  bound);
            }
            EXPECT_EQ(pipelines.size(), limits.threads == 0 || limits.threads >= 16384 ? 2u : 1u)
                << "element " << element;
        }
    }
}

} // namespace
