// Plans of fused passes: what takes one dispatch or one pipeline, and what a device refuses.
#include "plan/description.h"
#include "support/llama.hpp"

#include "plan/element_formats.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

using sample::llamaToCache;

namespace {

TEST(PlanFused, PackedRowsToOneCacheAreTwoDispatchesAtTheFloor) {
    const RopeFusedDescription d = llamaToCache();
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropeDispatchCount(&plan), 2u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q], 512u * 48 * 128 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q_OUT], 512u * 32 * 128 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_K_OUT], 2u * 4096 * 8 * 128 * 2);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 2u * 512 * 4);
    for (const RopeSlot slot : {ROPE_SLOT_K, ROPE_SLOT_V, ROPE_SLOT_V_OUT, ROPE_SLOT_PARAMETERS}) {
        EXPECT_EQ(plan.bytes[slot], 0u) << ropeSlotName(slot);
    }
    for (uint32_t i = 0; i < 2; ++i) {
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, i, &dispatch);
        for (uint32_t b = 0; b < ROPE_BINDING_COUNT; ++b) {
            const bool bound = b <= ROPE_BINDING_SOURCE || b == ROPE_BINDING_DESTINATION;
            EXPECT_EQ(dispatch.bindings[b].range != 0, bound) << i << ", binding " << b;
        }
    }
}

// Without a stride of their own the slots of one sequence end where the next one's begin.
TEST(PlanFused, SlotsOfSequencesFollowEachOtherByTheirOwnStride) {
    RopeFusedDescription d = llamaToCache();
    d.batch = 3;
    d.tokens = 4;
    d.positions = {};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.map_in_positions = 1;
    d.cache.map_offset = 5;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], (5 + 2 * 4 + 3 + 1) * 4u);
}

TEST(PlanFused, SaysWhatItDoes) {
    RopeFusedDescription d = llamaToCache();
    d.k.norm.kind = ROPE_NORM_RMS;
    d.k.norm.no_weights = 1;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    char text[2048];
    ropePrintPlan(&plan, text, sizeof text);
    const std::string said = text;
    EXPECT_NE(said.find("1 x 512 x 32 (batches, tokens, heads): turn, to float32,"), std::string::npos) << said;
    EXPECT_NE(said.find("1 x 512 x 16 (batches, tokens, heads): norm, turn, to float16 at slots,"), std::string::npos)
        << said;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 8;
    d.k.element = d.v.element = ROPE_ELEMENT_Q8_0;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    ropePrintPlan(&plan, text, sizeof text);
    EXPECT_NE(std::string(text).find("norm, turn, to float32, K and V to Q8_0 at slots,"), std::string::npos) << text;
    d.q.hadamard = d.k.hadamard = 128;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    ropePrintPlan(&plan, text, sizeof text);
    EXPECT_NE(std::string(text).find("turn, Hadamard, to float32"), std::string::npos) << text;
}

TEST(PlanFused, BuffersOfTheirOwnGoTogetherOrApartOrAreRefused) {
    RopeFusedDescription d = llamaToCache();
    d.cache.one_buffer = 0;
    d.v.to.offset = 0;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 3u);
    limits.storage_buffers = 6;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 1u);
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    EXPECT_STREQ(dispatch.shader->name, "fused_wide");
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_DESTINATION_V].slot, ROPE_SLOT_V_OUT);
    limits.storage_buffers = 5;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 2u);
    ropeGetDispatch(&plan, 1, &dispatch);
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_DESTINATION_V].slot, ROPE_SLOT_V_OUT);
    limits.storage_buffers = 4;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 3u);
}

TEST(PlanFused, RefusesWhatAGroupOrAUniformBindingCannotHold) {
    RopeFusedDescription d = llamaToCache();
    std::vector<float> weights(128 * 128, 1.0f);
    d.q.heads = 128;
    d.q.norm = {};
    d.q.norm.kind = ROPE_NORM_RMS;
    d.q.norm.weights = weights.data();
    d.q.norm.weights_head_stride = 128;
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_NE(std::string(plan.reason.text).find("parameters spans 65536 bytes, and a binding 16384 at most"),
              std::string::npos)
        << plan.reason.text;
    d.q.norm.weights = nullptr;
    d.q.norm.no_weights = 1;
    d.q.norm.weights_head_stride = 0;
    d.q.norm.all_heads = 1;
    d.q.heads = 512;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_NE(std::string(plan.reason.text).find("65536 elements normed or quantized together"), std::string::npos)
        << plan.reason.text;
}

TEST(PlanFused, TellsTheGroupsOfFewerTokens) {
    RopeFusedDescription d = llamaToCache();
    d.q.heads = 0;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    uint32_t groups[3];
    ropeGroups(&plan, 0, 512, groups);
    EXPECT_EQ(std::memcmp(groups, dispatch.groups, sizeof groups), 0);
    ropeGroups(&plan, 0, 100000, groups);
    EXPECT_EQ(std::memcmp(groups, dispatch.groups, sizeof groups), 0);
    ropeGroups(&plan, 0, 2, groups);
    EXPECT_EQ(groups[0], 2u); // a token each
    ropeGroups(&plan, 0, 0, groups);
    EXPECT_EQ(groups[0], 0u);

    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.group_count[0] = 10;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    uint32_t tokens = 0;
    for (uint32_t i = 0; i < ropeDispatchCount(&plan); ++i) {
        ropeGroups(&plan, i, 25, groups);
        tokens += groups[0];
    }
    EXPECT_EQ(tokens, 25u);
}

TEST(PlanFused, TellsTheGroupsOfJoinedSequencesAsAll) {
    RopeRotateDescription d = rope::rotationOf(llamaToCache());
    d.batch = 2;
    d.tokens = 16;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    uint32_t groups[3];
    for (const uint32_t tokens : {1u, 16u, 100u}) {
        ropeGroups(&plan, 0, tokens, groups);
        EXPECT_EQ(groups[0], dispatch.groups[0]) << tokens;
    }
    ropeGroups(&plan, 0, 0, groups);
    EXPECT_EQ(groups[0], 0u);
}

// A shift reads the cache alone; a host may reuse the description of its decoder, whose k.source says something.
TEST(PlanFused, AShiftTakesNoNoticeOfKsSource) {
    RopeFusedDescription d = {};
    const std::vector<double> frequencies = sample::frequencies(10000, 128);
    d.tokens = 8;
    d.head_dim = 128;
    d.rotation.operation = ROPE_OPERATION_SHIFT;
    d.k.heads = 8;
    d.rotation.frequencies = {frequencies.data(), 64, 1, nullptr, 1};
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.map_in_positions = 1;
    d.k.element = d.v.element = ROPE_ELEMENT_F16;
    d.cache.slots = 64;
    d.cache.delta = -3;
    RopePlan plain, other;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plain), ROPE_SUCCESS) << plain.reason.text;
    d.k.from = {1, 3, 129, 5};
    ASSERT_EQ(ropePlanFused(&d, nullptr, &other), ROPE_SUCCESS) << other.reason.text;
    EXPECT_TRUE(ropePlansEqual(&plain, &other));
}

// Q goes with caches of any format, whatever the source of its angles is.
TEST(PlanFused, TakesQWithKAndVThatBecomeIntegers) {
    static const float kScale = 0.5f;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    for (uint32_t number = ROPE_ELEMENT_F16; number <= rope::kLastElement; ++number) {
        const RopeElement element = static_cast<RopeElement>(number);
        for (const bool given : {false, true}) {
            if (given && !rope::isFloat8(element)) continue;
            for (const RopeSource source : {ROPE_SOURCE_INLINE, ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
                SCOPED_TRACE(std::string(rope::formatOf(element).name) + (given ? ", given" : "") + ", source " +
                             std::to_string(source));
                RopeFusedDescription d = llamaToCache();
                d.rotation.source = source;
                d.rotation.rows.count = source == ROPE_SOURCE_TABLE ? 512 : 0;
                d.k.element = d.v.element = element;
                d.k.stored_scales.offset = 1 << 22;
                d.v.stored_scales.offset = (1 << 22) + 4096 * 8;
                if (given) d.k.given_scale = d.v.given_scale = {&kScale, 1, 0};
                const auto dispatches = [&] {
                    RopePlan plan;
                    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
                    return ropeDispatchCount(&plan);
                };
                limits.storage_buffers = 8;
                EXPECT_EQ(dispatches(), 1u);
                limits.threads = 64;
                EXPECT_EQ(dispatches(), 2u) << "a driver for CPUs";
                limits.threads = 16384;
                limits.storage_buffers = 4;
                EXPECT_EQ(dispatches(), 2u) << "the floor";
            }
        }
    }
}

// Each dispatch of sequences of their own begins at other scales, also beside Q.
TEST(PlanFused, TakesQWithScalesOfManyDispatches) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 8;
    limits.group_count[1] = 1;
    RopeFusedDescription d = llamaToCache();
    d.batch = 2;
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.v.to.offset *= 2;
    d.k.stored_scales.offset = 1 << 23;
    d.v.stored_scales.offset = (1 << 23) + 2 * 4096 * 8;
    for (const RopeElement element : {ROPE_ELEMENT_Q8_0, ROPE_ELEMENT_I8}) {
        d.k.element = d.v.element = element;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(plan.pass_count, 1u);
        EXPECT_EQ(ropeDispatchCount(&plan), 2u);
    }
}

// Blocks of 34, 18 and 22 bytes fill words in twos. A head of an odd number of them, or a stride, takes 16-bit stores.
TEST(PlanFused, TakesOddNumbersOfBlocksWith16BitStorageAlone) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    const auto plan = [&limits](RopeElement element, uint32_t head_dim, uint64_t token_stride, uint64_t offset) {
        RopeFusedDescription d = {};
        d.tokens = 3;
        d.head_dim = head_dim;
        d.v.heads = 1;
        d.cache.kind = ROPE_CACHE_SLOTS;
        d.cache.map_in_positions = 1;
        d.cache.slots = 8;
        d.k.element = d.v.element = element;
        d.v.to = {offset, 0, 0, token_stride, head_dim};
        RopePlan p;
        return ropePlanFused(&d, &limits, &p) == ROPE_SUCCESS ? std::string(p.passes[0].shader->name) : p.reason.text;
    };
    const std::string why = "whose blocks fill 32-bit words in twos, and without ROPE_ENABLED_STORAGE_16 it must be a "
                            "multiple of 64";
    for (const uint32_t enabled : {0u, uint32_t{ROPE_ENABLED_STORAGE_16}}) {
        limits.enabled = enabled;
        EXPECT_EQ(plan(ROPE_ELEMENT_Q4_0, 64, 64, 0), "fused_wide");
        EXPECT_EQ(plan(ROPE_ELEMENT_Q4_1, 96, 96, 32), "fused_wide");
        EXPECT_EQ(plan(ROPE_ELEMENT_Q8_0, 96, 128, 0),
                  enabled != 0 ? "fused_odd" : "v: head_dim is 96; with Q8_0, " + why);
        EXPECT_EQ(plan(ROPE_ELEMENT_Q4_0, 64, 96, 0),
                  enabled != 0 ? "fused_odd" : "v: the cache's token_stride is 96; with Q4_0, " + why);
        EXPECT_EQ(plan(ROPE_ELEMENT_Q5_0, 64, 64, 32),
                  enabled != 0 ? "fused_odd" : "v: the cache's offset is 32; with Q5_0, " + why);
    }
}

// Tensors whose norms differ in what a shader is told of them once go apart.
TEST(PlanFused, TakesQApartFromAKOfAnotherNorm) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 8;
    RopeFusedDescription d = llamaToCache();
    const auto dispatches = [&] {
        RopePlan plan;
        EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        return ropeDispatchCount(&plan);
    };
    const std::vector<float> weights(128, 1.0f);
    d.q.norm = {ROPE_NORM_RMS, 1e-6f, 0, 0, 0, 0, 0, weights.data(), nullptr, {}, 0, 0, 0, 0};
    EXPECT_EQ(dispatches(), 1u);
    d.k.norm = {ROPE_NORM_L2, 1e-5f, 0, 0, 0, 0, 1, nullptr, nullptr, {}, 0, 0, 0, 0};
    EXPECT_EQ(dispatches(), 1u);
    d.k.norm.after = 1;
    EXPECT_EQ(dispatches(), 2u);
    d.k.norm = d.q.norm;
    d.k.norm.all_heads = 1;
    d.k.norm.weights = nullptr;
    d.k.norm.no_weights = 1;
    EXPECT_EQ(dispatches(), 2u);
}

// A norm over all heads keeps a token in one group. A thread takes more heads where the device's groups are small.
TEST(PlanFused, KeepsHeadsThatAreNormedTogetherInOneGroup) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 8;
    RopeFusedDescription d = llamaToCache();
    d.q.norm = d.k.norm = {ROPE_NORM_RMS, 1e-6f, 0, 1, 0, 0, 1, nullptr, nullptr, {}, 0, 0, 0, 0};
    for (const uint32_t size : {128u, 256u, 1024u}) {
        limits.group_size = size;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        for (uint32_t i = 0; i < plan.pass_count; ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, i, &dispatch);
            EXPECT_EQ(dispatch.groups[0], 512u) << size;
            EXPECT_EQ(dispatch.groups[2], 1u) << size;
        }
    }
}

void expectRefused(RopeResult wanted, const std::string& piece, const RopeFusedDescription& d) {
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), wanted) << piece;
    EXPECT_NE(std::string(plan.reason.text).find(piece), std::string::npos) << plan.reason.text;
}

TEST(PlanFused, RefusesWhatCannotBe) {
    RopeFusedDescription d = llamaToCache();
    d.tokens_counted = 1;
    d.rotation.skip_last = 2;
    expectRefused(ROPE_ERROR_INVALID, "skip_last is 2 with tokens_counted", d);
    d = llamaToCache();
    d.tokens_counted = 1;
    d.tokens_batch_stride = (uint64_t{1} << 33) + 1;
    expectRefused(ROPE_ERROR_TOO_LARGE, "tokens_batch_stride is 8589934593", d);
    d = llamaToCache();
    d.batch = (1 << 28) + 2;
    d.tokens = 1;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.cache.map_element = ROPE_POSITION_INT64;
    d.cache.map_offset = 64;
    d.cache.map_batch_stride = (uint64_t{1} << 33) - 32; // times the batches and 8 bytes: 2^64 and a little
    expectRefused(ROPE_ERROR_TOO_LARGE, "positions", d);
}

TEST(PlanFused, TakesWhatNeitherTurnsNorIsDoneAnythingTo) {
    RopeFusedDescription d = llamaToCache();
    RopePlan plan;
    d.cache = {};
    d.k.element = d.v.element = ROPE_ELEMENT_DEFAULT;
    d.out_of_place = 0; // V stays in its rows
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 1u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q], 512u * 48 * 128 * 4 - 8 * 128 * 4); // but V's heads of the last token

    d = llamaToCache();
    d.q.heads = d.k.heads = 0;
    d.head_dim = 65; // V alone has no pairs
    d.v.to.offset = 0;
    d.k.element = d.v.element = ROPE_ELEMENT_F32;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;

    d = llamaToCache();
    d.q.no_rotation = d.k.no_rotation = 1;
    d.head_dim = 20;
    d.v.to.offset = 4096 * 8 * 20;
    d.q.norm.kind = ROPE_NORM_RMS;
    d.q.norm.no_weights = 1;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;

    d = llamaToCache();
    d.k.to.batch_stride = 12345; // not read
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
}

// By a delta the positions are not read, but the set of each token is, behind the rows of all axes.
TEST(PlanFused, AShiftReadsSetsBehindAllAxes) {
    static const std::vector<double> kFrequencies(128, 0.5);
    std::vector<uint8_t> axes(64);
    for (uint32_t i = 0; i < 64; ++i) axes[i] = static_cast<uint8_t>(i % 3);
    RopeFusedDescription d = {};
    d.tokens = 4;
    d.head_dim = 128;
    d.k.heads = 2;
    d.rotation.operation = ROPE_OPERATION_SHIFT;
    d.rotation.frequencies = {kFrequencies.data(), 64, 1, axes.data(), 2};
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.cache.slots = 4;
    d.cache.delta = 3;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 4u * 4 * 4);
}

} // namespace
