// How many pipelines fused passes take: for steps, caches and layers of any size, and over a range of tokens. No device
// needed.
#include "plan/description.h"
#include "support/fusion.hpp"
#include "support/llama.hpp"
#include "support/pipelines.hpp"

#include "plan/element_formats.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

using sample::llamaToCache;

namespace {

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
                d.cache.map_in_positions = 1;
                d.cache.order = order;
                d.k.element = d.v.element = element;
                d.cache.slots = slots;
                if (kind != ROPE_CACHE_PAGE_TABLE) d.cache.page_size = 0;
                if (kind == ROPE_CACHE_PAGE_TABLE) d.cache.table_pages = slots / 16;
                d.k.to.offset = layer * 2ull * slots * 8 * 128;
                d.v.to.offset = d.k.to.offset + slots * 8ull * 128;
                d.k.stored_scales.offset = slots * 8ull * 128 + layer * 2ull * slots * 8;
                d.v.stored_scales.offset = d.k.stored_scales.offset + slots * 8ull;
                d.cache.map_offset = d.tokens = tokens;
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
                 {ROPE_CACHE_SLOTS, ROPE_CACHE_POSITIONS, ROPE_CACHE_RING, ROPE_CACHE_PAGE_TABLE}) {
                for (const RopeCacheOrder order : {ROPE_CACHE_NHD, ROPE_CACHE_HND}) {
                    SCOPED_TRACE("kind " + std::to_string(kind) + ", order " + std::to_string(order) + ", to " +
                                 rope::formatOf(element).name);
                    EXPECT_EQ(pipelinesOf(kind, order, element, buffers).size(), buffers == 4 ? 2u : 1u);
                }
            }
        }
    }
}

// DeepSeek's K of 192, and a V of 128 beside it.
TEST(PlanFused, SharesPipelinesBetweenStepsAndCachesWhereVIsNotLikeK) {
    for (const RopeCacheKind kind : {ROPE_CACHE_NONE, ROPE_CACHE_SLOTS, ROPE_CACHE_POSITIONS}) {
        for (const RopeCacheOrder order : {ROPE_CACHE_NHD, ROPE_CACHE_HND}) {
            std::set<uint32_t> pipelines;
            for (const uint32_t batch : {1u, 2u}) {
                for (const uint32_t tokens : {1u, 7u, 500u}) {
                    for (const uint32_t slots : {2048u, 4096u}) {
                        RopeFusedDescription d = llamaToCache();
                        d.packed_qkv = 0;
                        d.batch = batch;
                        d.tokens = tokens;
                        d.head_dim = 192;
                        d.rotation.rotary_begin = 128;
                        d.rotation.frequencies.count = 32;
                        d.v.head_dim = 128;
                        d.cache.kind = kind;
                        d.cache.map_in_positions = 1;
                        d.cache.order = order;
                        d.cache.slots = slots;
                        d.cache.page_size = d.cache.one_buffer = 0;
                        d.cache.map_offset = batch * tokens;
                        d.v.to.offset = 0;
                        RopeLimits limits;
                        ropeMinimumLimits(&limits);
                        limits.storage_buffers = 10;
                        RopePlan plan;
                        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
                        for (uint32_t i = 0; i < plan.pass_count; ++i) pipelines.insert(plan.passes[i].pipeline_hash);
                        EXPECT_EQ(plan.pass_count, 1u);
                    }
                }
            }
            EXPECT_EQ(pipelines.size(), 1u) << "kind " << kind << ", order " << order;
        }
    }
}

RopeLimits limitsOfGpu() {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 10;
    return limits;
}

// Lays a tensor out as sequences, heads, tokens, elements. It has the heads from `first` on, out of `heads`.
RopeLayout byHead(const RopeFusedDescription& r, uint32_t heads, uint64_t dim, uint32_t first = 0) {
    return {first * r.tokens * dim, heads * r.tokens * dim, dim, r.tokens * dim};
}

// Q, K and V lie as the operators of many graphs have them: all tokens of a head, then those of the next head. The
// distance of heads grows with the tokens, and is no constant.
TEST(PlanFused, SharesPipelinesBetweenStepsWhereHeadsLieApartByAllTokens) {
    enum Way { kInPlace, kOutOfPlace, kToCache, kOwnV };
    for (const Way way : {kInPlace, kOutOfPlace, kToCache, kOwnV}) {
        std::set<uint32_t> pipelines;
        for (const uint32_t batch : {1u, 3u}) {
            for (const uint32_t tokens : {1u, 2u, 7u, 64u, 500u}) {
                RopeFusedDescription d = llamaToCache();
                RopeFusedDescription& r = d;
                d.packed_qkv = 0;
                r.batch = batch;
                r.tokens = tokens;
                if (way != kToCache) d.cache = {}, d.k.element = d.v.element = ROPE_ELEMENT_DEFAULT;
                if (way == kOwnV) d.v.head_dim = 64;
                if (way == kInPlace) d.v.heads = r.out_of_place = 0;
                if (way == kInPlace) d.q.norm.kind = d.k.norm.kind = ROPE_NORM_RMS;
                d.q.norm.no_weights = d.k.norm.no_weights = 1;
                r.q.from = byHead(r, 32, 128);
                r.k.from = byHead(r, 8, 128);
                d.v.from = byHead(r, 8, way == kOwnV ? 64 : 128);
                for (RopeFusedTensor* t : {&d.q, &d.k, &d.v})
                    if (way != kToCache) t->to = rope::cacheLayout(t->from);
                d.cache.map_offset = batch * tokens;
                const RopeLimits limits = limitsOfGpu();
                RopePlan plan;
                ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
                EXPECT_EQ(plan.pass_count, 1u);
                for (uint32_t i = 0; i < plan.pass_count; ++i) pipelines.insert(plan.passes[i].pipeline_hash);
            }
        }
        EXPECT_EQ(pipelines.size(), 1u) << "way " << way;
    }
}

// Q, K and V are heads of one tensor, laid out for so many tokens, with a gap behind each sequence.
RopeFusedDescription ofOneTensor(uint32_t batch, uint32_t tokens, uint32_t laid_out, uint32_t gap) {
    RopeFusedDescription d = llamaToCache();
    d.packed_qkv = 0;
    d.batch = batch;
    d.tokens = laid_out;
    d.q.from = byHead(d, 48, 128);
    d.k.from = byHead(d, 48, 128, 32);
    d.v.from = byHead(d, 48, 128, 40);
    for (RopeLayout* l : {&d.q.from, &d.k.from, &d.v.from}) l->batch_stride += gap;
    d.tokens = tokens;
    d.cache.map_offset = batch * tokens;
    return d;
}

// Returns the pipeline of a pass that has one dispatch.
uint32_t pipelineOf(const RopeFusedDescription& d) {
    const RopeLimits limits = limitsOfGpu();
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.pass_count, 1u);
    EXPECT_EQ(plan.passes[0].dispatches, 1u);
    return plan.passes[0].pipeline_hash;
}

// The same, where Q, K and V are heads of one tensor.
TEST(PlanFused, SharesPipelinesBetweenStepsWhereQkvHaveTheirHeadsInOneTensor) {
    std::set<uint32_t> pipelines;
    for (const uint32_t batch : {2u, 3u}) {
        for (const uint32_t tokens : {1u, 2u, 7u, 64u, 500u})
            pipelines.insert(pipelineOf(ofOneTensor(batch, tokens, tokens, 0)));
    }
    EXPECT_EQ(pipelines.size(), 1u);
}

// Sequences lie apart by no multiple of their heads' distance.
TEST(PlanFused, SharesPipelinesBetweenStepsWhereSequencesHaveGaps) {
    std::set<uint32_t> growing, fixed, one_head;
    for (const uint32_t batch : {1u, 2u, 5u}) {
        for (const uint32_t tokens : {1u, 2u, 7u, 64u, 500u}) {
            RopeFusedDescription d = ofOneTensor(batch, tokens, tokens, 64);
            growing.insert(pipelineOf(d));
            fixed.insert(pipelineOf(ofOneTensor(batch, tokens, 501, 64)));
            d.q.heads = d.k.heads = d.v.heads = 1;
            one_head.insert(pipelineOf(d));
        }
    }
    EXPECT_EQ(growing.size(), 1u);
    EXPECT_EQ(fixed.size(), 1u);
    EXPECT_EQ(one_head.size(), 1u);
}

// A shift turns the keys of a cache whose heads lie apart by all slots.
TEST(PlanFused, SharesThePipelineOfAShiftBetweenCaches) {
    std::set<uint32_t> pipelines;
    for (const uint32_t slots : {256u, 1024u}) {
        RopeFusedDescription d = llamaToCache();
        d.packed_qkv = d.q.heads = d.v.heads = 0;
        d.rotation.operation = ROPE_OPERATION_SHIFT;
        d.cache = {};
        d.cache.kind = ROPE_CACHE_POSITIONS;
        d.cache.order = ROPE_CACHE_HND;
        d.cache.slots = slots;
        d.cache.delta = -3;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
        pipelines.insert(plan.passes[0].pipeline_hash);
    }
    EXPECT_EQ(pipelines.size(), 1u);
}

// A gap behind each sequence is none of a single sequence.
TEST(PlanFused, TakesVApartWhereOnlyItsSequencesHaveGaps) {
    for (const uint32_t dim : {64u, 128u}) {
        std::set<uint32_t> pipelines;
        for (const uint32_t batch : {1u, 2u}) {
            for (const uint32_t tokens : {2u, 7u, 64u}) {
                RopeFusedDescription d = llamaToCache();
                d.packed_qkv = 0;
                d.cache = {};
                d.batch = batch;
                d.tokens = tokens;
                d.v.head_dim = dim;
                d.v.from = {0, uint64_t{64} * 8 * dim, uint64_t{8} * dim, dim}; // no gap at 64 tokens
                const RopeLimits limits = limitsOfGpu();
                RopePlan plan;
                ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
                EXPECT_EQ(plan.pass_count, batch) << tokens;
                for (uint32_t i = 0; i < plan.pass_count; ++i) pipelines.insert(plan.passes[i].pipeline_hash);
            }
        }
        EXPECT_EQ(pipelines.size(), 3u);
    }
}

// A page of one slot has no stride from slot to slot.
TEST(PlanFused, TakesAVThatIsNotLikeKToPagesOfOneSlot) {
    for (const RopeCacheKind kind : {ROPE_CACHE_SLOTS, ROPE_CACHE_PAGE_TABLE}) {
        for (const RopeCacheOrder order : {ROPE_CACHE_NHD, ROPE_CACHE_HND}) {
            RopeFusedDescription d = llamaToCache();
            d.packed_qkv = 0;
            d.v.head_dim = 64;
            d.cache.kind = kind;
            d.cache.map_in_positions = 1;
            d.cache.order = order;
            d.cache.page_size = 1;
            d.cache.table_pages = 4096;
            d.cache.one_buffer = 0;
            d.v.to.offset = 0;
            const RopeLimits limits = limitsOfGpu();
            RopePlan plan;
            ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
            EXPECT_EQ(plan.pass_count, 1u) << "kind " << kind << ", order " << order;
        }
    }
}

// The stride of a single token counts for nothing, and may be any number.
TEST(PlanFused, TakesAnyTokenStrideOfOneTokenWhereVIsNotLikeK) {
    for (const uint64_t stride : {uint64_t{2}, uint64_t{194}, uint64_t{1} << 34}) {
        RopeFusedDescription d = llamaToCache();
        d.packed_qkv = 0;
        d.batch = 2;
        d.tokens = 1;
        d.head_dim = 192;
        d.rotation.rotary_begin = 64;
        d.q.heads = 0;
        d.k.heads = d.v.heads = 1;
        d.v.head_dim = 128;
        d.cache = {};
        d.k.to = {0, 4 * stride, 0, stride, 192};
        d.v.to = {0, 4 * stride, 0, stride, 128};
        if (stride == 2) d.k.to.batch_stride = d.v.to.batch_stride = 768;
        const RopeLimits limits = limitsOfGpu();
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(plan.pass_count, 1u) << stride;
        for (uint32_t i = 0; i < ropeDispatchCount(&plan); ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, i, &dispatch);
            EXPECT_NE(dispatch.groups[0], 0u);
        }
    }
}

// ---- Ranges of tokens

pipelines::Range gatherRange(RopeFusedDescription d, uint32_t least, uint32_t most, const RopeLimits& limits) {
    return pipelines::gatherRange(
        least, most,
        [&](RopePlan* plans, uint32_t* count) { return ropePlanFusedRange(&d, least, most, &limits, plans, count); },
        [&](uint32_t tokens, RopePlan* plan) {
            d.tokens = tokens;
            return ropePlanFused(&d, &limits, plan);
        });
}

// A range's pipelines, which must be exactly those of all its plans.
size_t rangeOf(const RopeFusedDescription& d, uint32_t most, const RopeLimits& limits) {
    const pipelines::Range range = gatherRange(d, 1, most, limits);
    EXPECT_EQ(range.result, ROPE_SUCCESS) << range.reason;
    EXPECT_EQ(range.found, range.wanted);
    return range.wanted.size();
}

// One head may lie in either order.
TEST(PlanFusedRange, OfOneHeadIsOnePipeline) {
    RopeFusedDescription d = llamaToCache();
    d.q.heads = d.k.heads = d.v.heads = 1;
    d.packed_qkv = 0;
    d.cache.map_offset = 300;
    const pipelines::Range range = gatherRange(d, 1, 300, limitsOfGpu());
    EXPECT_EQ(range.result, ROPE_SUCCESS) << range.reason;
    EXPECT_EQ(range.found, range.wanted);
    EXPECT_EQ(range.wanted.size(), 1u);
}

TEST(PlanFusedRange, OfAModelAndItsCacheIsOnePipelineOrTwo) {
    RopeLimits limits = limitsOfGpu();
    RopeFusedDescription d = llamaToCache();
    d.cache.map_offset = 3000;
    EXPECT_EQ(rangeOf(d, 3000, limits), 1u);
    limits.storage_buffers = 4;
    EXPECT_EQ(rangeOf(d, 3000, limits), 2u) << "Q, and K with V";
    limits.storage_buffers = 8;
    d.cache.kind = ROPE_CACHE_RING;
    d.cache.slots = 1024;
    d.cache.page_size = 0;
    d.v.to.offset = 1024 * 8 * 128;
    EXPECT_EQ(rangeOf(d, 1024, limits), 1u);
    EXPECT_EQ(rangeOf(d, 3000, limits), 2u) << "sequences longer than their ring";
}

// Scales that lie apart move from part to part beside Q.
TEST(PlanFusedRange, OfScalesBesideQIsOnePipeline) {
    RopeLimits limits = limitsOfGpu();
    RopeFusedDescription d = llamaToCache();
    d.batch = 4;
    d.k.element = d.v.element = ROPE_ELEMENT_I8;
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.v.to.offset *= 4;
    d.k.stored_scales.offset = 1 << 24;
    d.v.stored_scales.offset = (1 << 24) + 4 * 4096 * 8;
    limits.storage_range = uint64_t{1} << 27;
    const pipelines::Range range = gatherRange(d, 1, 3000, limits);
    ASSERT_EQ(range.result, ROPE_SUCCESS) << range.reason;
    EXPECT_TRUE(range.hasAll());
    EXPECT_EQ(range.wanted.size(), 1u);
}

// Q's rows follow each other, and K's and V's are where Q's are at 64 tokens alone.
TEST(PlanFusedRange, OfTensorsThatShareABufferHasAllItsPipelines) {
    RopeFusedDescription d = llamaToCache();
    d.cache = {};
    d.batch = 2;
    d.q.heads = 8;
    d.k.from = d.v.from = {0, uint64_t{64} * 8 * 128, uint64_t{8} * 128, 128};
    const pipelines::Range range = gatherRange(d, 1, 100, limitsOfGpu());
    ASSERT_EQ(range.result, ROPE_SUCCESS) << range.reason;
    EXPECT_TRUE(range.hasAll());
}

// Some tensors are packed beside others whose strides are given, and a few of these fit one number of tokens alone.
TEST(PlanFusedRange, OfAnySceneHasAllItsPipelines) {
    uint32_t planned = 0, several = 0;
    for (uint64_t seed = 0; seed < 6000; ++seed) {
        fusion::Scene scene;
        fusion::draw(seed, &scene);
        if (seed % 3 == 0) scene.d.v.from = {};
        if (seed % 5 == 0) scene.d.k.from = {};
        if (seed % 7 == 0) scene.d.q.from = {};
        if (seed % 4 == 0) {
            scene.d.tokens += scene.d.tokens;
            scene.d.tokens_offset += 4096; // behind the positions of these tokens too
            scene.d.cache.map_offset += 2 * (4096 + 8);
        }
        RopeLimits device = limitsOfGpu();
        device.enabled = ROPE_ENABLED_STORAGE_16;
        const RopeLimits limits = fusion::limitsOf(scene, device);
        const pipelines::Range range = gatherRange(scene.d, 1, scene.d.tokens, limits);
        if (range.result != ROPE_SUCCESS) continue;
        ++planned;
        several += range.wanted.size() > 2;
        EXPECT_TRUE(range.hasAll()) << "scene " << seed << ": " << fusion::describe(scene);
    }
    EXPECT_GT(planned, 2000u);
    EXPECT_GT(several, 40u);
}

TEST(PlanFusedRange, IsRefusedInWords) {
    RopePlan plans[ROPE_MAX_RANGE_PLANS];
    uint32_t count = 7;
    RopeFusedDescription d = llamaToCache();
    EXPECT_EQ(ropePlanFusedRange(&d, 2, 1, nullptr, plans, &count), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plans[0].reason.text, "the range is from 2 to 1 tokens; its end lies before its start");
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(ropePlanFusedRange(&d, 1, 513, nullptr, plans, &count), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plans[0].reason.text).find("the list of slots"), std::string::npos) << plans[0].reason.text;
    EXPECT_EQ(ropePlanFusedRange(nullptr, 1, 2, nullptr, plans, &count), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropePlanFusedRange(&d, 1, 2, nullptr, nullptr, &count), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropePlanFusedRange(&d, 1, 2, nullptr, plans, nullptr), ROPE_ERROR_INVALID);
}

} // namespace
