// Fused passes whose heads lie apart by all tokens, and whose sequences lie apart by no multiple of that: a pass
// takes all sequences in one dispatch.
#include "plan/description.h"
#include "support/fusion.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

class FusedSequences : public gpu::OnDevice {};

enum Way { kOutOfPlace, kInPlace, kToPages, kToBlocks, kToIntegers, kOwnV, kWays };

constexpr uint32_t kTokens = 5, kBatch = 2, kDim = 64;

// Lays out sequences, heads, tokens, elements, and a gap behind each sequence.
RopeLayout byHead(uint32_t heads, uint32_t first) {
    const uint64_t head = uint64_t{kTokens} * kDim;
    return {first * head, heads * head + 8, kDim, head};
}

void describe(Way way, fusion::Scene* scene) {
    scene->frequencies = sample::frequencies(10000, kDim);
    scene->q_weights.assign(kDim, 0.75f);
    RopeFusedDescription& d = scene->d;
    RopeFusedDescription& r = d;
    r.batch = kBatch;
    r.tokens = kTokens;
    r.head_dim = kDim;
    r.rotation.frequencies = {scene->frequencies.data(), kDim / 2, 1, nullptr, 1};
    r.out_of_place = way != kInPlace;
    r.q.heads = 4;
    r.k.heads = 2;
    d.v.heads = way == kInPlace ? 0 : 2;
    r.q.from = byHead(8, 0);
    r.k.from = byHead(8, 4);
    d.v.from = byHead(8, 6);
    r.q.to = rope::cacheLayout(byHead(4, 0));
    d.q.norm.kind = way == kToIntegers ? ROPE_NORM_NONE : ROPE_NORM_RMS;
    d.q.norm.epsilon = 1e-5f;
    d.q.norm.weights = scene->q_weights.data();
    if (way == kOwnV) d.v.head_dim = 32;
    if (way == kOwnV) d.v.from = {};
    if (way < kToPages || way > kToIntegers) {
        r.k.to = rope::cacheLayout(byHead(2, 0));
        if (way != kOwnV) d.v.to = r.k.to;
        return;
    }
    d.tokens_counted = d.tokens_batch_stride = 1;
    d.tokens_offset = 40;
    scene->present[0] = 3;
    scene->present[1] = kTokens;
    d.cache.slots = 16;
    d.cache.kind = way == kToPages ? ROPE_CACHE_PAGE_TABLE : ROPE_CACHE_SLOTS;
    d.k.element = d.v.element = way == kToPages    ? ROPE_ELEMENT_F16
                                : way == kToBlocks ? ROPE_ELEMENT_Q8_0
                                                   : ROPE_ELEMENT_I8;
    d.cache.map_offset = 20;
    if (way == kToIntegers) d.k.stored_scales.offset = d.v.stored_scales.offset = 1024;
    if (way == kToPages) d.cache.page_size = d.cache.table_pages = 4;
}

TEST_P(FusedSequences, WithGapsHaveTheCpusBits) {
    for (uint32_t way = 0; way < kWays; ++way) {
        SCOPED_TRACE("way " + std::to_string(way));
        fusion::Scene scene;
        describe(static_cast<Way>(way), &scene);
        RopePlan plan;
        const RopeLimits& limits = device().limits();
        ASSERT_EQ(ropePlanFused(&scene.d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        for (uint32_t i = 0; i < plan.pass_count; ++i) EXPECT_EQ(plan.passes[i].dispatches, 1u);
        const gpu::Slots before = fusion::makeSlots(scene, plan, 5);
        gpu::Slots after = before;
        ASSERT_TRUE(gpu::run(&device(), plan, &after));
        EXPECT_TRUE(fusion::checkHost(scene, plan, before, after));
    }
}

ROPE_ON_EVERY_DEVICE(FusedSequences);

} // namespace
