// Plans of fused passes: what takes one dispatch, what is refused by a device, and that no index leaves what is bound.
#include "support/fusion.hpp"
#include "support/reach.hpp"
#include "support/sample.hpp"

#include "plan/axes.h"
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"
#include "plan/fused.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

namespace {

RopeFusedDescription llamaToCache() {
    static const std::vector<double> kFrequencies = sample::frequencies(500000, 128);
    RopeFusedDescription d = {};
    d.rotate.tokens = 512;
    d.rotate.head_dim = 128;
    d.rotate.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    d.rotate.out_of_place = 1;
    d.rotate.q.heads = 32;
    d.rotate.k.heads = d.v.heads = 8;
    d.packed = 1;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.slots = 4096;
    d.cache.page_size = 16;
    d.cache.element = ROPE_ELEMENT_F16;
    d.cache.slot_map_offset = 512;
    d.cache.v_shares_buffer = 1;
    d.cache.v.offset = 4096 * 8 * 128;
    return d;
}

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
    d.rotate.batch = 3;
    d.rotate.tokens = 4;
    d.rotate.positions = {};
    d.rotate.positions.kind = ROPE_POSITIONS_COUNTED;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.slot_map_offset = 5;
    d.cache.slot_map_token_stride = 2;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], (5 + 2 * (4 * 2) + 3 * 2 + 1) * 4u);
}

TEST(PlanFused, SaysWhatItDoes) {
    RopeFusedDescription d = llamaToCache();
    d.k_norm.kind = ROPE_NORM_RMS;
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
    d.cache.element = ROPE_ELEMENT_Q8_0;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    ropePrintPlan(&plan, text, sizeof text);
    EXPECT_NE(std::string(text).find("norm, turn, to float32, K and V to Q8_0 at slots,"), std::string::npos) << text;
}

TEST(PlanFused, BuffersOfTheirOwnGoTogetherOrApartOrAreRefused) {
    RopeFusedDescription d = llamaToCache();
    d.cache.v_shares_buffer = 0;
    d.cache.v.offset = 0;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plan.reason.text).find("limits.storage_buffers is 4; set v_separate_dispatch to 1"),
              std::string::npos)
        << plan.reason.text;
    EXPECT_EQ(plan.pass_count, 0u);
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
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_INVALID);
    d.no_rotation = 1; // then no frequencies are bound
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    d.no_rotation = 0;
    d.v_separate_dispatch = 1;
    limits.storage_buffers = 4;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 3u);
}

TEST(PlanFused, RefusesWhatAGroupOrAUniformBindingCannotHold) {
    RopeFusedDescription d = llamaToCache();
    std::vector<float> weights(128 * 128, 1.0f);
    d.rotate.q.heads = 128;
    d.q_norm = {ROPE_NORM_RMS, 0, 1, 0, weights.data(), 0, 0, {}, 0, 0, 0, 0, 0, nullptr, 0};
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_NE(std::string(plan.reason.text).find("65536 bytes, more than the 16384"), std::string::npos)
        << plan.reason.text;
    d.q_norm.weights = nullptr;
    d.rotate.q.heads = 512;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_NE(std::string(plan.reason.text).find("65536 elements normed or quantized together"), std::string::npos)
        << plan.reason.text;
}

TEST(PlanFused, TellsTheGroupsOfFewerTokens) {
    RopeFusedDescription d = llamaToCache();
    d.rotate.q.heads = 0;
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
    RopeRotateDescription d = llamaToCache().rotate;
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
    d.rotate.tokens = 8;
    d.rotate.head_dim = 128;
    d.rotate.operation = ROPE_OPERATION_SHIFT;
    d.rotate.k.heads = 8;
    d.rotate.frequencies = {frequencies.data(), 64, 1, nullptr, 1};
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.element = ROPE_ELEMENT_F16;
    d.cache.slots = 64;
    d.cache.shift = 1;
    d.cache.delta = -3;
    RopePlan plain, other;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plain), ROPE_SUCCESS) << plain.reason.text;
    d.rotate.k.source = {1, 3, 129, 5};
    ASSERT_EQ(ropePlanFused(&d, nullptr, &other), ROPE_SUCCESS) << other.reason.text;
    EXPECT_TRUE(ropePlansEqual(&plain, &other));
}

std::set<uint32_t> pipelinesOf(RopeCacheKind kind, RopeCacheOrder order, RopeElement element, uint32_t buffers) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = buffers;
    std::set<uint32_t> pipelines;
    for (const uint32_t slots : {1024u, 4096u, 8192u}) {
        for (const uint32_t tokens : {1u, 2u, 7u, 64u, 512u}) {
            for (const uint32_t layer : {0u, 1u}) {
                RopeFusedDescription d = llamaToCache();
                d.cache.kind = kind;
                d.cache.order = order;
                d.cache.element = element;
                d.cache.slots = slots;
                if (kind != ROPE_CACHE_BLOCK_TABLE) d.cache.page_size = 0;
                if (kind == ROPE_CACHE_BLOCK_TABLE) d.cache.table_pages = slots / 16;
                d.cache.k.offset = layer * 2ull * slots * 8 * 128;
                d.cache.v.offset = d.cache.k.offset + slots * 8ull * 128;
                d.cache.k_scales.offset = slots * 8ull * 128 + layer * 2ull * slots * 8;
                d.cache.v_scales.offset = d.cache.k_scales.offset + slots * 8ull;
                d.cache.slot_map_offset = d.rotate.tokens = tokens;
                RopePlan plan;
                EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
                EXPECT_EQ(plan.pass_count, buffers == 4 ? 2u : 1u);
                for (uint32_t i = 0; i < plan.pass_count; ++i) pipelines.insert(plan.passes[i].pipeline_hash);
            }
        }
    }
    return pipelines;
}

// Layers of one cache in one buffer, steps of other sizes and caches of other sizes take the same pipelines: one for Q,
// K and V, or one for Q and one for K and V where the device binds four buffers.
TEST(PlanFused, SharesPipelinesBetweenLayersStepsAndCaches) {
    for (const RopeElement element : {ROPE_ELEMENT_F16, ROPE_ELEMENT_I8, ROPE_ELEMENT_Q4_0}) {
        for (const uint32_t buffers : {4u, 8u}) {
            for (const RopeCacheKind kind :
                 {ROPE_CACHE_SLOTS, ROPE_CACHE_POSITIONS, ROPE_CACHE_RING, ROPE_CACHE_BLOCK_TABLE}) {
                for (const RopeCacheOrder order : {ROPE_CACHE_NHD, ROPE_CACHE_HND}) {
                    SCOPED_TRACE("kind " + std::to_string(kind) + ", order " + std::to_string(order) + ", to " +
                                 rope::formatOf(element).name);
                    EXPECT_EQ(pipelinesOf(kind, order, element, buffers).size(), buffers == 4 ? 2u : 1u);
                }
            }
        }
    }
}

// DeepSeek's K of 192 beside a V of 128, which needs strides of its own.
TEST(PlanFused, SharesPipelinesBetweenStepsAndCachesWhereVIsNotLikeK) {
    for (const RopeCacheKind kind : {ROPE_CACHE_NONE, ROPE_CACHE_SLOTS, ROPE_CACHE_POSITIONS}) {
        for (const RopeCacheOrder order : {ROPE_CACHE_NHD, ROPE_CACHE_HND}) {
            std::set<uint32_t> pipelines;
            for (const uint32_t batch : {1u, 2u}) {
                for (const uint32_t tokens : {1u, 7u, 500u}) {
                    for (const uint32_t slots : {2048u, 4096u}) {
                        RopeFusedDescription d = llamaToCache();
                        d.packed = 0;
                        d.rotate.batch = batch;
                        d.rotate.tokens = tokens;
                        d.rotate.head_dim = 192;
                        d.rotate.rotary_begin = 128;
                        d.rotate.frequencies.count = 32;
                        d.v.head_dim = 128;
                        d.cache.kind = kind;
                        d.cache.order = order;
                        d.cache.slots = slots;
                        d.cache.page_size = d.cache.v_shares_buffer = 0;
                        d.cache.slot_map_offset = batch * tokens;
                        d.cache.v.offset = 0;
                        RopeLimits limits;
                        ropeMinimumLimits(&limits);
                        limits.storage_buffers = 10;
                        RopePlan plan;
                        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
                        for (uint32_t i = 0; i < plan.pass_count; ++i) pipelines.insert(plan.passes[i].pipeline_hash);
                        EXPECT_NE(plan.passes[0].constants[ROPE_ID_V_ELEMENTS], 0u);
                    }
                }
            }
            EXPECT_EQ(pipelines.size(), 1u) << "kind " << kind << ", order " << order;
        }
    }
}

// The stride of a single token counts for nothing, and may be any number.
TEST(PlanFused, TakesAnyTokenStrideOfOneTokenWhereVIsNotLikeK) {
    for (const uint64_t stride : {uint64_t{2}, uint64_t{194}, uint64_t{1} << 34}) {
        RopeFusedDescription d = llamaToCache();
        d.packed = 0;
        d.rotate.batch = 2;
        d.rotate.tokens = 1;
        d.rotate.head_dim = 192;
        d.rotate.rotary_begin = 64;
        d.rotate.q.heads = 0;
        d.rotate.k.heads = d.v.heads = 1;
        d.v.head_dim = 128;
        d.cache = {};
        d.rotate.k.destination = {0, 4 * stride, stride, 192};
        d.v.destination = {0, 4 * stride, stride, 128};
        if (stride == 2) d.rotate.k.destination.batch_stride = d.v.destination.batch_stride = 768;
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        limits.storage_buffers = 10;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, 0, &dispatch);
        EXPECT_NE(dispatch.constants[ROPE_ID_V_DESTINATION_BATCH], ROPE_NOWHERE) << stride;
    }
}

// Scales that are stored apart, neither given nor in blocks, take the words of rows: with rows or a table Q goes apart.
TEST(PlanFused, TakesQWithKAndVThatBecomeIntegersWhereWordsAreLeft) {
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
                d.rotate.source = source;
                d.rotate.rows.count = source == ROPE_SOURCE_TABLE ? 512 : 0;
                d.cache.element = element;
                d.cache.k_scales.offset = 1 << 22;
                d.cache.v_scales.offset = (1 << 22) + 4096 * 8;
                if (given) d.cache.k_given_scale = d.cache.v_given_scale = {&kScale, 1, 0};
                const auto dispatches = [&] {
                    RopePlan plan;
                    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
                    return ropeDispatchCount(&plan);
                };
                const bool stores_scales = rope::formatOf(element).scale == rope::ElementScale::kApart && !given;
                limits.storage_buffers = 8;
                EXPECT_EQ(dispatches(), stores_scales && source != ROPE_SOURCE_INLINE ? 2u : 1u);
                limits.threads = 64;
                EXPECT_EQ(dispatches(), 2u) << "a driver for CPUs";
                limits.threads = 16384;
                limits.storage_buffers = 4;
                EXPECT_EQ(dispatches(), 2u) << "the floor";
            }
        }
    }
}

// Each dispatch of sequences of their own begins at other scales, and the words beside Q stay where they are.
TEST(PlanFused, TakesQApartFromScalesOfManyDispatches) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 8;
    limits.group_count[1] = 1;
    RopeFusedDescription d = llamaToCache();
    d.rotate.batch = 2;
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.cache.v.offset *= 2;
    d.cache.k_scales.offset = 1 << 23;
    d.cache.v_scales.offset = (1 << 23) + 2 * 4096 * 8;
    for (const RopeElement element : {ROPE_ELEMENT_Q8_0, ROPE_ELEMENT_I8}) {
        d.cache.element = element;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(plan.pass_count, element == ROPE_ELEMENT_Q8_0 ? 1u : 2u);
    }
}

// Blocks of 34, 18 and 22 bytes fill words in twos. A head of an odd number of them, or a stride, takes 16-bit stores.
TEST(PlanFused, TakesOddNumbersOfBlocksWith16BitStorageAlone) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    const auto plan = [&limits](RopeElement element, uint32_t head_dim, uint64_t slot_stride, uint64_t offset) {
        RopeFusedDescription d = {};
        d.rotate.tokens = 3;
        d.rotate.head_dim = head_dim;
        d.v.heads = 1;
        d.cache.kind = ROPE_CACHE_SLOTS;
        d.cache.slots = 8;
        d.cache.element = element;
        d.cache.v = {offset, 0, 0, slot_stride, head_dim};
        RopePlan p;
        return ropePlanFused(&d, &limits, &p) == ROPE_SUCCESS ? std::string(p.passes[0].shader->name) : p.reason.text;
    };
    const std::string why = "whose blocks fill 32-bit words in twos, and without ROPE_ENABLED_STORAGE_16 it must be a "
                            "multiple of 64";
    for (const uint32_t enabled : {0u, uint32_t{ROPE_ENABLED_STORAGE_16}}) {
        limits.enabled = enabled;
        EXPECT_EQ(plan(ROPE_ELEMENT_Q4_0, 64, 64, 0), "fused_integers");
        EXPECT_EQ(plan(ROPE_ELEMENT_Q4_1, 96, 96, 32), "fused_integers");
        EXPECT_EQ(plan(ROPE_ELEMENT_Q8_0, 96, 128, 0),
                  enabled != 0 ? "fused_integers_odd" : "v: head_dim is 96; with Q8_0, " + why);
        EXPECT_EQ(plan(ROPE_ELEMENT_Q4_0, 64, 96, 0),
                  enabled != 0 ? "fused_integers_odd" : "v: the cache's slot_stride is 96; with Q4_0, " + why);
        EXPECT_EQ(plan(ROPE_ELEMENT_Q5_0, 64, 64, 32),
                  enabled != 0 ? "fused_integers_odd" : "v: the cache's offset is 32; with Q5_0, " + why);
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
    d.q_norm = {ROPE_NORM_RMS, 0, 0, 1e-6f, weights.data(), 0, 0, {}, 0, 0, 0, 0, 0, nullptr, 0};
    EXPECT_EQ(dispatches(), 1u);
    d.k_norm = {ROPE_NORM_L2, 0, 0, 1e-5f, nullptr, 0, 0, {}, 0, 0, 0, 0, 0, nullptr, 0};
    EXPECT_EQ(dispatches(), 1u);
    d.k_norm.after = 1;
    EXPECT_EQ(dispatches(), 2u);
    d.k_norm = d.q_norm;
    d.k_norm.all_heads = 1;
    d.k_norm.weights = nullptr;
    EXPECT_EQ(dispatches(), 2u);
}

// A norm over all heads keeps a token in one group. A thread takes more heads where the device's groups are small.
TEST(PlanFused, KeepsHeadsThatAreNormedTogetherInOneGroup) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 8;
    RopeFusedDescription d = llamaToCache();
    d.q_norm = d.k_norm = {ROPE_NORM_RMS, 0, 1, 1e-6f, nullptr, 0, 0, {}, 0, 0, 0, 0, 0, nullptr, 0};
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
    d.rotate.skip_last = 2;
    expectRefused(ROPE_ERROR_INVALID, "skip_last is 2 with tokens_counted", d);
    d = llamaToCache();
    d.tokens_counted = 1;
    d.tokens_batch_stride = (uint64_t{1} << 33) + 1;
    expectRefused(ROPE_ERROR_TOO_LARGE, "tokens_batch_stride is 8589934593", d);
    d = llamaToCache();
    d.rotate.batch = (1 << 28) + 2;
    d.rotate.tokens = 1;
    d.rotate.positions.kind = ROPE_POSITIONS_COUNTED;
    d.cache.slot_map_element = ROPE_POSITION_INT64;
    d.cache.slot_map_offset = 64;
    d.cache.slot_map_batch_stride = (uint64_t{1} << 33) - 32; // times the batches and 8 bytes: 2^64 and a little
    expectRefused(ROPE_ERROR_TOO_LARGE, "positions", d);
}

TEST(PlanFused, TakesWhatNeitherTurnsNorIsDoneAnythingTo) {
    RopeFusedDescription d = llamaToCache();
    RopePlan plan;
    d.cache = {};
    d.rotate.out_of_place = 0; // V stays in its rows
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 1u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q], 512u * 48 * 128 * 4 - 8 * 128 * 4); // but V's heads of the last token

    d = llamaToCache();
    d.rotate.q.heads = d.rotate.k.heads = 0;
    d.rotate.head_dim = 65; // V alone has no pairs
    d.cache.v.offset = 0;
    d.cache.element = ROPE_ELEMENT_F32;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;

    d = llamaToCache();
    d.no_rotation = 1;
    d.rotate.head_dim = 20;
    d.cache.v.offset = 4096 * 8 * 20;
    d.q_norm.kind = ROPE_NORM_RMS;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;

    d = llamaToCache();
    d.cache.k.batch_stride = 12345; // not read
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
}

// By a delta the positions are not read, but the set of each token is, behind the rows of all axes.
TEST(PlanFused, AShiftReadsSetsBehindAllAxes) {
    static const std::vector<double> kFrequencies(128, 0.5);
    std::vector<uint8_t> axes(64);
    for (uint32_t i = 0; i < 64; ++i) axes[i] = static_cast<uint8_t>(i % 3);
    RopeFusedDescription d = {};
    d.rotate.tokens = 4;
    d.rotate.head_dim = 128;
    d.rotate.k.heads = 2;
    d.rotate.operation = ROPE_OPERATION_SHIFT;
    d.rotate.frequencies = {kFrequencies.data(), 64, 1, axes.data(), 2};
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.cache.slots = 4;
    d.cache.shift = 1;
    d.cache.delta = 3;
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 4u * 4 * 4);
}

// ---- Every index, whatever the buffers hold

// A dispatch, the pass that it is of, and its words.
struct Last {
    const RopePass& pass;
    const RopeDispatch& dispatch;
    rope::RopeFusedPush push;
    uint32_t id(uint32_t constant) const { return dispatch.constants[constant]; }
    bool hasOwn(const rope::FusedTensor& t) const { return t.role == rope::kV && id(ROPE_ID_V_ELEMENTS) != 0; }
    // A stride of V that is not like K: the constant, or K's in the proportion of their tokens.
    uint64_t own(uint32_t stride, uint64_t of_k, uint32_t token_of_k, uint32_t token_of_v) const {
        return id(stride) != ROPE_NOWHERE ? id(stride) : of_k / id(token_of_k) * id(token_of_v);
    }
    uint64_t ownSourceBatch() const {
        return own(ROPE_ID_V_SOURCE_BATCH, push.kv_from_batch, ROPE_ID_KV_SOURCE_TOKEN, ROPE_ID_V_SOURCE_TOKEN);
    }
    uint64_t ownBatch() const {
        return own(ROPE_ID_V_DESTINATION_BATCH, push.kv_to_batch, ROPE_ID_KV_DESTINATION_TOKEN,
                   ROPE_ID_V_DESTINATION_TOKEN);
    }
    uint64_t ownHead() const {
        return own(ROPE_ID_V_DESTINATION_HEAD, push.kv_to_head, ROPE_ID_KV_DESTINATION_TOKEN,
                   ROPE_ID_V_DESTINATION_TOKEN);
    }
    void fits(uint32_t binding, uint64_t last, uint64_t bytes) const {
        ASSERT_LE((last + 1) * bytes, dispatch.bindings[binding].range) << "binding " << binding;
    }
};

void checkSlotMap(const Last& l, uint64_t sequences) {
    const uint64_t bytes = l.id(ROPE_ID_SLOT_MAP_WIDE) != 0 ? 8 : 4;
    const uint64_t token = l.push.first_token + l.push.tokens - 1ull;
    const uint32_t binding = l.id(ROPE_ID_SLOT_MAP_APART) != 0 ? ROPE_BINDING_SLOT_MAP : ROPE_BINDING_POSITIONS;
    if (l.id(ROPE_ID_CACHE) == ROPE_CACHE_BY_SLOTS) {
        l.fits(binding,
               l.push.slot_map_at + (l.dispatch.groups[1] - 1ull) * l.push.slot_map_batch +
                   token * l.push.slot_map_token,
               bytes);
    } else if (l.id(ROPE_ID_CACHE) == ROPE_CACHE_BY_TABLE) {
        l.fits(binding, l.push.slot_map_at + (sequences - 1) * l.push.slot_map_batch + l.push.slot_map_token - 1,
               bytes);
    }
    if (l.id(ROPE_ID_COUNTED) == 0) return;
    const uint32_t element = l.id(ROPE_ID_POSITION_ELEMENT);
    l.fits(ROPE_BINDING_POSITIONS, l.push.count_at, element == ROPE_WHOLE_64 || element == ROPE_FIXED_64 ? 8 : 4);
}

// Where a tensor lies in one of its bindings: strides count units of elements.
struct Strides {
    uint32_t binding;
    uint64_t at, batch, token, head;
};

void checkTensor(const Last& l, const rope::FusedTensor& t, const Strides& s, RopeElement element) {
    const uint64_t units =
        s.at + (l.dispatch.groups[1] - 1ull) * s.batch + (l.push.tokens - 1ull) * s.token + (t.heads - 1ull) * s.head;
    l.fits(s.binding, units * l.pass.address_unit + t.d.head_dim - 1, ropeElementBytes(element));
}

// The last weight that a token and a head ask for, and what is loaded with it.
void checkWeights(const Last& l, const rope::FusedTensor& t) {
    if (t.norm.kind == ROPE_NORM_NONE || t.norm.weights_on_device == 0) return;
    const bool q = t.role == rope::kQ;
    const uint32_t element = l.id(q ? ROPE_ID_Q_WEIGHT_ELEMENT : ROPE_ID_K_WEIGHT_ELEMENT);
    if (t.weights_stored && element == 0) return; // uniforms
    const bool together = (l.id(ROPE_ID_WEIGHT_BITS) & ROPE_WEIGHTS_TOGETHER) != 0;
    ASSERT_TRUE(t.weights_stored || !together);
    const uint64_t begin = q ? l.push.ROPE_WEIGHTS_AT & 0xFFFF : l.push.ROPE_WEIGHTS_AT >> 16;
    const uint64_t token = l.id(q ? ROPE_ID_Q_WEIGHT_TOKEN : ROPE_ID_K_WEIGHT_TOKEN);
    const uint64_t head = l.id(q ? ROPE_ID_Q_WEIGHT_HEAD : ROPE_ID_K_WEIGHT_HEAD);
    const uint64_t last =
        begin + (l.push.first_token + l.push.tokens - 1ull) * token + (t.heads - 1ull) * head + t.norm.dim - 1;
    const uint32_t binding = q || together ? ROPE_BINDING_Q_WEIGHTS : ROPE_BINDING_K_WEIGHTS;
    const uint64_t bytes = ropeElementBytes(t.norm.weights_element);
    ASSERT_EQ(element, uint32_t{t.norm.weights_element});
    l.fits(binding, last * bytes / 4, 4); // whole words
    ASSERT_EQ(l.dispatch.bindings[binding].offset + begin * bytes, t.norm.weights_offset * bytes);
    ASSERT_EQ(l.dispatch.bindings[binding].slot == ROPE_SLOT_PARAMETERS, t.weights_stored);
    if ((l.id(ROPE_ID_WEIGHT_BITS) & ROPE_WEIGHTS_BY_FOUR) != 0) {
        ASSERT_EQ((begin | token | head) % 4, 0u);
    }
}

void checkBiases(const Last& l, const rope::FusedTensor& t) {
    ASSERT_EQ(l.id(ROPE_ID_BIAS_ELEMENT) != 0, t.biased);
    if (!t.biased) return;
    const bool q = t.role == rope::kQ, k = t.role == rope::kK;
    const uint64_t begin = l.id(q ? ROPE_ID_Q_BIASES : k ? ROPE_ID_K_BIASES : ROPE_ID_V_BIASES);
    const uint64_t last = begin +
                          uint64_t{t.heads} * l.id(q   ? ROPE_ID_Q_BIAS_HEAD
                                                   : k ? ROPE_ID_K_BIAS_HEAD
                                                       : ROPE_ID_V_BIAS_HEAD) -
                          1;
    ASSERT_EQ(begin, t.biases_offset);
    ASSERT_EQ(l.dispatch.bindings[ROPE_BINDING_BIASES].offset, 0u);
    l.fits(ROPE_BINDING_BIASES, last * (l.id(ROPE_ID_BIAS_ELEMENT) == 1 ? 4 : 2) / 4, 4);
    if (l.id(ROPE_ID_BIAS_VECTORS) != 0) {
        ASSERT_EQ(begin % 4, 0u);
    }
}

void checkCache(const Last& l, const rope::FusedTensor& t, uint64_t sequences) {
    const bool windowed = l.id(ROPE_ID_WINDOW_SLOTS) != 0;
    const uint32_t slots = windowed ? l.id(ROPE_ID_CACHE_SLOTS) : l.push.slots;
    uint64_t rows = l.id(ROPE_ID_PAGE_SIZE) != 0 ? l.id(ROPE_ID_PAGE_SIZE) : slots;
    uint64_t pages = slots / rows, heads = t.heads;
    if (windowed) {
        const uint32_t *step = l.pass.step, *count = l.pass.count, head_parts = l.pass.parts[rope::kCacheHead];
        const uint32_t first = l.push.ROPE_WINDOW / head_parts;
        const auto left = [&](rope::GridAxis axis, uint32_t begin) {
            return std::min(step[axis], count[axis] - begin);
        };
        ASSERT_EQ(slots, count[rope::kPage] * count[rope::kSlot]);
        ASSERT_EQ(l.id(ROPE_ID_WINDOW_SLOTS), step[rope::kSequence] * step[rope::kPage] * step[rope::kSlot]);
        if (rope::isPacked(t.d.positions)) sequences = left(rope::kSequence, first / slots);
        pages = left(rope::kPage, first % slots / count[rope::kSlot]);
        rows = left(rope::kSlot, first % count[rope::kSlot]);
        heads = left(rope::kCacheHead, l.push.ROPE_WINDOW % head_parts * step[rope::kCacheHead]);
    }
    const bool is_v = t.role == rope::kV;
    const bool own = l.hasOwn(t);
    const uint64_t units = (sequences - 1) * (own ? l.ownBatch() : l.push.kv_to_batch) +
                           (pages - 1) * l.id(own ? ROPE_ID_V_PAGE_STRIDE : ROPE_ID_PAGE_STRIDE) +
                           (rows - 1) * l.id(own ? ROPE_ID_V_DESTINATION_TOKEN : ROPE_ID_KV_DESTINATION_TOKEN) +
                           (heads - 1) * (own ? l.ownHead() : l.push.kv_to_head);
    const RopeElement element = t.d.element_out;
    const uint64_t blocks = rope::formatOf(element).block_elements; // places count them, or runs
    const uint64_t elements = units * (blocks != 1 ? blocks : l.pass.address_unit) + t.d.head_dim;
    ASSERT_LE(units, UINT32_MAX) << "the shader counts in 32 bits";
    const uint32_t binding = rope::fusedBinding(l.pass, t.role, false);
    const uint64_t to = is_v ? l.push.v_to : l.push.k_to;
    if (!rope::isForCaches(element)) {
        l.fits(binding, to * l.pass.address_unit + elements - 1, ropeElementBytes(element));
        return;
    }
    const uint32_t bytes = l.pass.access[binding].element_bytes;
    l.fits(binding, to + rope::elementBytes(element, elements) / bytes - 1, bytes);
    if (!t.has_scales) return;
    const rope::RopeFusedPush& p = l.push;
    const bool beside_q = l.id(ROPE_ID_Q_HEADS) != 0;
    const uint32_t behind = beside_q ? is_v ? p.ROPE_V_SCALES_BESIDE_Q : p.ROPE_K_SCALES_BESIDE_Q
                            : is_v   ? p.ROPE_V_SCALES
                                     : p.ROPE_K_SCALES;
    const uint32_t first = static_cast<uint32_t>(to) + behind; // modulo 2^32, as the shader counts
    const uint64_t batch = beside_q ? p.ROPE_SCALE_BATCH_BESIDE_Q : p.ROPE_SCALE_BATCH;
    const uint64_t head = beside_q ? p.ROPE_SCALE_HEAD_BESIDE_Q : p.ROPE_SCALE_HEAD;
    l.fits(binding,
           first + (sequences - 1) * batch + (pages - 1) * l.id(ROPE_ID_SCALE_PAGE) +
               (rows - 1) * l.id(ROPE_ID_SCALE_SLOT) + (heads - 1) * head,
           4);
}

// Bytes, which stop at the largest number instead of passing it.
class Reach {
  public:
    explicit Reach(uint64_t offset) : elements_(offset) {}
    Reach& over(uint64_t count, uint64_t stride) {
        const uint64_t more = stride != 0 && count - 1 > UINT64_MAX / stride ? UINT64_MAX : (count - 1) * stride;
        elements_ = more > UINT64_MAX - elements_ ? UINT64_MAX : elements_ + more;
        return *this;
    }
    // With as many elements from there on; `size` bytes for each `share` of them.
    void isIn(uint64_t bytes, uint64_t extent, uint64_t size, uint64_t share = 1) const {
        EXPECT_LE(elements_, UINT64_MAX - extent);
        EXPECT_LE((elements_ + extent) / share, bytes / size);
    }

  private:
    uint64_t elements_;
};

uint64_t sequencesOf(const RopeRotateDescription& d) {
    return rope::isPacked(d.positions) ? d.positions.sequences : d.batch;
}

void checkPositionBytes(const rope::ResolvedFused& fused, const rope::FusedTensor& t, const RopePlan& plan) {
    const RopeRotateDescription& d = t.d;
    const RopeCache& cache = fused.filled.cache;
    const uint64_t bytes = plan.bytes[ROPE_SLOT_POSITIONS];
    const uint64_t map_bytes = cache.slot_map_apart != 0 ? plan.bytes[ROPE_SLOT_SLOT_MAP] : bytes;
    const uint32_t step = ropePositionBytes(cache.slot_map_element);
    if (t.cached && cache.kind == ROPE_CACHE_SLOTS) {
        Reach(cache.slot_map_offset)
            .over(d.batch, cache.slot_map_batch_stride)
            .over(d.tokens, cache.slot_map_token_stride)
            .isIn(map_bytes, 1, step);
    }
    if (t.cached && cache.kind == ROPE_CACHE_BLOCK_TABLE) {
        Reach(cache.slot_map_offset)
            .over(sequencesOf(d), cache.slot_map_batch_stride)
            .isIn(map_bytes, cache.table_pages, step);
    }
    if (fused.filled.tokens_counted != 0)
        Reach(fused.filled.tokens_offset).isIn(bytes, 1, ropePositionBytes(fused.count_element));
    RopePositions p;
    RopeFrequencies f;
    rope::selectFusedPositions(fused, t, &p, &f);
    if (p.kind == ROPE_POSITIONS_COUNTED) return;
    const uint64_t rows = rope::positionRows(p, rope::axisCount(f)) + rope::isPacked(p) + (f.sets > 1);
    Reach last = Reach(p.offset).over(rows, p.axis_stride);
    if (!rope::isPacked(p)) last.over(d.batch, p.batch_stride);
    if (p.kind == ROPE_POSITIONS_PER_TOKEN) last.over(d.tokens, p.token_stride);
    last.isIn(bytes, rope::isPacked(p) ? p.sequences : 1, ropePositionBytes(p.element));
}

void checkTensorBytes(const rope::ResolvedFused& fused, const rope::FusedTensor& t, const RopePlan& plan) {
    const auto tensor = [&t, &plan](RopeSlot slot, const RopeLayout& l, RopeElement element) {
        Reach(l.offset)
            .over(t.d.batch, l.batch_stride)
            .over(t.d.tokens, l.token_stride)
            .over(t.heads, l.head_stride)
            .isIn(plan.bytes[slot], t.d.head_dim, ropeElementBytes(element));
    };
    if (t.d.out_of_place != 0) tensor(t.from_slot, t.source, t.d.element_in);
    if (t.norm.kind != ROPE_NORM_NONE && t.norm.weights_on_device != 0) {
        const RopeSlot own = t.role == rope::kQ ? ROPE_SLOT_Q_WEIGHTS : ROPE_SLOT_K_WEIGHTS;
        const RopeSlot slot = t.weights_stored ? ROPE_SLOT_PARAMETERS : own;
        Reach(t.norm.weights_offset)
            .over(t.d.tokens, t.norm.weights_token_stride)
            .over(t.heads, t.norm.weights_head_stride)
            .isIn(plan.bytes[slot], t.norm.dim, ropeElementBytes(t.norm.weights_element));
    }
    if (!t.cached) return tensor(t.to_slot, t.destination, t.d.element_out);
    const RopeCache& cache = fused.filled.cache;
    const auto cached = [&](const RopeCacheLayout& l, uint32_t extent, uint32_t size, uint32_t share) {
        Reach(l.offset)
            .over(rope::cacheKind(cache).by_position ? sequencesOf(t.d) : 1, l.batch_stride)
            .over(cache.slots / cache.page_size, l.page_stride)
            .over(cache.page_size, l.slot_stride)
            .over(t.heads, l.head_stride)
            .isIn(plan.bytes[t.to_slot], extent, size, share);
    };
    const rope::ElementFormat& format = rope::formatOf(t.d.element_out);
    cached(t.cache, t.d.head_dim, format.block_bytes, format.block_elements);
    if (t.has_scales) cached(t.scales, 1, 4, 1);
}

// Counts and strides whose products pass 64 bits.
void spoilProducts(sample::Random* random, RopeFusedDescription* d) {
    const uint64_t stride = (uint64_t{1} << 33) - random->below(2) * 64;
    const uint32_t count = (1u << (27 + random->below(3))) + random->below(3) - 1;
    (random->below(4) != 0 ? d->rotate.batch : d->rotate.tokens) = count;
    RopePositions& p = d->rotate.positions;
    RopeCache& c = d->cache;
    uint64_t* strides[] = {&p.batch_stride,
                           &p.token_stride,
                           &p.axis_stride,
                           &c.slot_map_batch_stride,
                           &c.slot_map_batch_stride,
                           &c.slot_map_token_stride,
                           &c.k.batch_stride,
                           &d->q_norm.weights_token_stride,
                           &d->k_norm.weights_head_stride};
    for (uint32_t times = 1 + random->below(3); times != 0; --times) *strides[random->below(9)] = stride;
    if (random->below(2) == 0) d->rotate.skip_first = d->rotate.skip_last = 0;
}

void spoil(sample::Random* random, fusion::Scene* scene) {
    static const uint32_t kNasty[] = {0,    1,     2,        3,        5,        64,         127,
                                      4096, 65536, 1u << 24, 1u << 28, 1u << 30, 0x7FFFFFFF, 0xFFFFFFFF};
    const auto any = [&] { return kNasty[random->below(14)]; };
    RopeFusedDescription& d = scene->d;
    RopeCache& c = d.cache;
    RopePositions& p = d.rotate.positions;
    if (random->below(8) == 0) return spoilProducts(random, &d);
    uint32_t* words[] = {&d.rotate.batch,
                         &d.rotate.tokens,
                         &d.rotate.q.heads,
                         &d.v.heads,
                         &c.slots,
                         &c.page_size,
                         &c.table_pages,
                         &d.packed,
                         &c.v_shares_buffer,
                         &d.tokens_counted,
                         &p.sequences,
                         &d.rotate.k.head_dim,
                         &d.rotate.q.rotary_begin,
                         &d.v.head_dim,
                         &d.k_norm.begin,
                         &d.q_norm.dim};
    uint64_t* longs[] = {&c.slot_map_offset,
                         &c.slot_map_batch_stride,
                         &c.slot_map_token_stride,
                         &c.k.offset,
                         &c.k.slot_stride,
                         &c.k.page_stride,
                         &c.v.offset,
                         &c.k_scales.offset,
                         &d.tokens_offset,
                         &c.k.head_stride,
                         &c.k.batch_stride,
                         &d.v.source.offset,
                         &p.offset,
                         &p.batch_stride,
                         &d.rotate.q.source.offset,
                         &p.token_stride,
                         &p.axis_stride,
                         &d.rotate.rows.offset,
                         &d.rotate.rows.row_stride,
                         &c.k_scales.slot_stride,
                         &c.v_scales.offset,
                         &d.q_norm.weights_offset,
                         &d.q_norm.weights_token_stride,
                         &d.k_norm.weights_offset,
                         &d.k_norm.weights_head_stride,
                         &d.biases.q_offset,
                         &d.biases.k_offset,
                         &d.biases.v_offset};
    for (uint32_t times = random->below(4); times != 0; --times) {
        if (random->below(2) == 0) {
            *words[random->below(16)] = any();
        } else {
            *longs[random->below(28)] = uint64_t{any()} << random->below(4) * 8;
        }
    }
    if (random->below(4) == 0) c.v = c.k, c.v.offset += any();
    if (random->below(8) == 0) d.k_norm.weights_element = static_cast<RopeElement>(random->below(8) - 1);
    if (random->below(8) == 0) c.kind = static_cast<RopeCacheKind>(random->below(7) - 1);
    if (random->below(8) == 0) c.element = static_cast<RopeElement>(random->below(8) - 1);
}

void checkBindings(const RopePlan& plan, const RopeDispatch& dispatch, const RopeLimits& limits) {
    ASSERT_LE(dispatch.groups[0], limits.group_count[0]);
    ASSERT_LE(dispatch.groups[1], limits.group_count[1]);
    const uint32_t* ids = dispatch.constants;
    ASSERT_LE(ids[ROPE_ID_GROUP_SIZE] * ids[ROPE_ID_GROUP_BLOCKS] * ids[ROPE_ID_GROUP_TOKENS], limits.group_size);
    for (const RopeBinding& binding : dispatch.bindings) {
        ASSERT_LE(binding.range, limits.storage_range);
        ASSERT_EQ(binding.offset % plan.limits.storage_alignment, 0u);
        const uint64_t end = binding.range != 0 ? binding.offset + binding.range : 0;
        ASSERT_LE(end, plan.bytes[binding.slot]);
    }
}

void checkTensorOf(const Last& l, const rope::FusedTensor& t, uint64_t sequences) {
    const bool is_q = t.role == rope::kQ, is_v = t.role == rope::kV, own = l.hasOwn(t);
    if (t.d.out_of_place != 0) {
        const uint64_t at = is_q ? l.push.q_from : is_v ? l.push.v_from : l.push.k_from;
        checkTensor(l, t,
                    {rope::fusedBinding(l.pass, t.role, true), at,
                     is_q  ? l.push.q_from_batch
                     : own ? l.ownSourceBatch()
                           : l.push.kv_from_batch,
                     l.id(is_q  ? ROPE_ID_Q_SOURCE_TOKEN
                          : own ? ROPE_ID_V_SOURCE_TOKEN
                                : ROPE_ID_KV_SOURCE_TOKEN),
                     l.id(is_q  ? ROPE_ID_Q_SOURCE_HEAD
                          : own ? ROPE_ID_V_SOURCE_HEAD
                                : ROPE_ID_KV_SOURCE_HEAD)},
                    t.d.element_in);
    }
    if (t.cached) return checkCache(l, t, sequences);
    const uint64_t at = is_q ? l.push.q_to : is_v ? l.push.v_to : l.push.k_to;
    checkTensor(l, t,
                {rope::fusedBinding(l.pass, t.role, false), at,
                 is_q  ? l.push.q_to_batch
                 : own ? l.ownBatch()
                       : l.push.kv_to_batch,
                 l.id(is_q  ? ROPE_ID_Q_DESTINATION_TOKEN
                      : own ? ROPE_ID_V_DESTINATION_TOKEN
                            : ROPE_ID_KV_DESTINATION_TOKEN),
                 is_q  ? l.id(ROPE_ID_Q_DESTINATION_HEAD)
                 : own ? l.ownHead()
                       : l.push.kv_to_head},
                t.d.element_out);
}

// Checks one dispatch, and marks the tensors that it takes.
void checkDispatch(const rope::ResolvedFused& fused, const RopePass& pass, const RopeDispatch& dispatch,
                   uint32_t* taken) {
    Last l = {pass, dispatch, {}};
    std::memcpy(&l.push, dispatch.push, sizeof l.push);
    rope::RopePush tokens = {};
    std::memcpy(&tokens, dispatch.push, offsetof(rope::RopePush, heads));
    const reach::Last last = {dispatch.groups[1] - 1ull, l.push.tokens - 1ull, 0};
    const RopeRotateDescription& d = fused.tensors[0].d;
    const uint64_t sequences = rope::isPacked(d.positions) ? d.positions.sequences : dispatch.groups[1];
    reach::checkPositions(dispatch, tokens, last);
    checkSlotMap(l, sequences);
    const uint32_t heads[] = {l.id(ROPE_ID_Q_HEADS), l.id(ROPE_ID_K_HEADS), l.id(ROPE_ID_V_HEADS)};
    for (uint32_t i = 0; i < fused.count; ++i) {
        const rope::FusedTensor& t = fused.tensors[i];
        if (heads[t.role] == 0) continue;
        ASSERT_EQ(heads[t.role], t.heads);
        *taken |= 1u << t.role;
        if (t.turned) reach::checkCosSin(dispatch, tokens, last, l.id(ROPE_ID_PAIR_COUNTS) & 0xFFFF);
        checkWeights(l, t);
        checkBiases(l, t);
        checkTensorOf(l, t, sequences);
    }
}

void checkPlan(const fusion::Scene& scene, const RopePlan& plan, const RopeLimits& limits) {
    rope::ResolvedFused fused;
    RopeReason reason;
    ASSERT_EQ(rope::resolveFused(scene.d, &fused, &reason), ROPE_SUCCESS);
    rope::storeWeights(&fused);
    for (uint32_t i = 0; i < fused.count; ++i) {
        if (rope::isIdle(fused.tensors[i])) continue;
        checkPositionBytes(fused, fused.tensors[i], plan);
        checkTensorBytes(fused, fused.tensors[i], plan);
    }
    if (testing::Test::HasFailure()) return;
    uint32_t first = 0, taken = 0;
    for (uint32_t pass = 0; pass < plan.pass_count; ++pass) {
        const uint32_t count = plan.passes[pass].dispatches;
        for (uint32_t i = 0; i < std::min(count, 100u); ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, first + (i < 50 ? i : count - 1 - (i - 50) % count), &dispatch);
            checkBindings(plan, dispatch, limits);
            checkDispatch(fused, plan.passes[pass], dispatch, &taken);
        }
        first += count;
    }
    for (uint32_t i = 0; i < fused.count; ++i) {
        const bool takes = (taken >> fused.tensors[i].role & 1) != 0;
        ASSERT_NE(takes, rope::isIdle(fused.tensors[i])) << "tensor " << i;
    }
}

TEST(PlanFused, IsRefusedOrInsideItsSizesForAnyDescription) {
    sample::Random random(77);
    uint32_t accepted = 0;
    for (uint64_t i = 0; i < 40000; ++i) {
        fusion::Scene scene;
        fusion::draw(i, &scene);
        spoil(&random, &scene);
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        limits.storage_buffers = 4 + random.below(5);
        limits.storage_alignment = 1u << random.below(9);
        limits.enabled = random.below(4);
        if (random.below(4) == 0) limits.group_count[0] = 1 + random.below(70);
        if (random.below(4) == 0) limits.group_size = 1 + random.below(200);
        if (random.below(4) == 0) limits.storage_range = 1u << (12 + random.below(20));
        RopePlan plan;
        if (ropePlanFused(&scene.d, &limits, &plan) != ROPE_SUCCESS) {
            ASSERT_NE(plan.reason.text[0], '\0');
            ASSERT_LT(std::strlen(plan.reason.text), sizeof plan.reason.text - 1) << plan.reason.text;
            continue;
        }
        ++accepted;
        checkPlan(scene, plan, limits);
        if (HasFailure()) FAIL() << "description " << i << ": " << fusion::describe(scene);
    }
    EXPECT_GT(accepted, 8000u);
}

} // namespace
