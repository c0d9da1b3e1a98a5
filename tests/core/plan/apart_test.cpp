// Plans of fused passes whose slots and norms' weights lie in buffers of their own.
#include "plan/fused/record.h"
#include "support/sample.hpp"

#include "shaders/interface.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <string>

namespace {

// K of an engine: RMS norm, weight, rotation and the write by row index.
RopeFusedDescription keysOfAnEngine() {
    static const std::vector<double> kFrequencies = sample::frequencies(1000000, 128);
    RopeFusedDescription d = {};
    d.tokens = 32;
    d.head_dim = 128;
    d.rotation.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    d.out_of_place = 1;
    d.k.heads = 8;
    d.k.norm.kind = ROPE_NORM_RMS;
    d.k.norm.epsilon = 1e-6f;
    d.k.norm.weights_element = ROPE_ELEMENT_F32;
    d.cache.kind = ROPE_CACHE_SLOTS;
    d.cache.slots = 4096;
    d.k.element = d.v.element = ROPE_ELEMENT_F16;
    d.cache.map_element = ROPE_POSITION_INT64;
    return d;
}

RopeLimits limitsOf(uint32_t storage_buffers) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = storage_buffers;
    return limits;
}

RopePlan planOf(const RopeFusedDescription& d, const RopeLimits& limits) {
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    return plan;
}

TEST(PlanApart, NormRotationAndWriteByRowIndexAreOnePass) {
    const RopePlan plan = planOf(keysOfAnEngine(), limitsOf(6));
    ASSERT_EQ(ropeDispatchCount(&plan), 1u);
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    EXPECT_STREQ(dispatch.shader->name, "fused_wide");
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_SLOT_MAP].slot, ROPE_SLOT_SLOT_MAP);
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_SLOT_MAP].range, 32u * 8);
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_K_WEIGHTS].slot, ROPE_SLOT_K_WEIGHTS);
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_K_WEIGHTS].range, 128u * 4);
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_Q_WEIGHTS].range, 0u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 32u * 4) << "without slots behind them";
    EXPECT_EQ(plan.bytes[ROPE_SLOT_SLOT_MAP], 32u * 8);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_K_WEIGHTS], 128u * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_PARAMETERS], 0u);
    char text[1024];
    ropePrintPlan(&plan, text, sizeof text);
    EXPECT_NE(std::string(text).find("reads positions frequencies k slot_map k_weights; writes k_out"),
              std::string::npos)
        << text;
}

TEST(PlanApart, CountedPositionsTakeNoPositionsBuffer) {
    RopeFusedDescription d = keysOfAnEngine();
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.count_outside = 1;
    for (const RopeCacheKind kind : {ROPE_CACHE_SLOTS, ROPE_CACHE_PAGE_TABLE}) {
        d.cache.kind = kind;
        d.cache.page_size = 16;
        d.cache.table_pages = 3;
        const RopePlan plan = planOf(d, limitsOf(5));
        EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 0u);
        ASSERT_EQ(ropeDispatchCount(&plan), 2u);
        for (uint32_t i = 0; i < 2; ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, i, &dispatch);
            EXPECT_EQ(dispatch.bindings[ROPE_BINDING_POSITIONS].range, 0u) << dispatch.shader->name;
            EXPECT_EQ(dispatch.bindings[ROPE_BINDING_SLOT_MAP].range, kind == ROPE_CACHE_SLOTS ? 32u * 8 : 3u * 8)
                << dispatch.shader->name;
        }
        d.tokens_counted = 1; // the count alone
        EXPECT_EQ(planOf(d, limitsOf(6)).bytes[ROPE_SLOT_POSITIONS], 4u);
        d.tokens_counted = 0;
    }
}

// Lists inside POSITIONS may not meet. A list that lies apart is in another buffer.
TEST(PlanApart, SlotsBesideThePositionsMeetNothing) {
    RopeFusedDescription d = keysOfAnEngine();
    EXPECT_EQ(planOf(d, limitsOf(6)).bytes[ROPE_SLOT_SLOT_MAP], 32u * 8);
    d.cache.map_in_positions = 1;
    RopePlan plan;
    const RopeLimits limits = limitsOf(6);
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plan.reason.text).find("the list of slots bytes 0 to 255"), std::string::npos)
        << plan.reason.text;
}

// A cache without a slot map reads no buffer of slots, whatever its description says.
TEST(PlanApart, CachesWithoutASlotMapTakeNoNotice) {
    RopeFusedDescription d = keysOfAnEngine();
    d.cache.kind = ROPE_CACHE_RING;
    const RopePlan apart = planOf(d, limitsOf(6));
    d.cache.map_in_positions = 1;
    const RopePlan plain = planOf(d, limitsOf(6));
    EXPECT_TRUE(ropePlansEqual(&apart, &plain));
    EXPECT_EQ(apart.bytes[ROPE_SLOT_SLOT_MAP], 0u);
}

RopeFusedDescription packedModel() {
    RopeFusedDescription d = keysOfAnEngine();
    d.q.heads = 32;
    d.v.heads = 8;
    d.packed_qkv = 1;
    d.cache.one_buffer = 1;
    d.v.to.offset = 4096 * 8 * 128;
    d.q.norm = d.k.norm;
    return d;
}

// Packed rows, Q, the cache, positions and frequencies are five; slots and the weights of Q and of K are three more.
TEST(PlanApart, EachBufferCountsAndQGoesApartWhereTheyAreTooMany) {
    const RopeFusedDescription d = packedModel();
    const uint32_t dispatches[][2] = {{9, 1}, {8, 1}, {7, 2}, {6, 2}};
    for (const auto& c : dispatches) {
        const RopePlan plan = planOf(d, limitsOf(c[0]));
        EXPECT_EQ(ropeDispatchCount(&plan), c[1]) << c[0];
    }
}

void expectRefused(const std::string& sentence, RopeResult wanted, const RopeFusedDescription& d,
                   const RopeLimits& limits) {
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), wanted);
    EXPECT_EQ(plan.reason.text, sentence);
    EXPECT_EQ(plan.pass_count, 0u);
}

TEST(PlanApart, RefusesMoreBuffersThanTheDeviceBinds) {
    RopeFusedDescription d = packedModel();
    expectRefused(
        "fused_wide takes 6 storage buffers, and limits.storage_buffers is 5; set cache.map_in_positions to 1",
        ROPE_ERROR_INVALID, d, limitsOf(5));
    d.cache.map_in_positions = 1;
    d.cache.map_offset = 16;
    EXPECT_EQ(planOf(d, limitsOf(5)).pass_count, 2u);
    expectRefused("fused_wide takes 5 storage buffers, and limits.storage_buffers is 4; set weights of its "
                  "norms to arrays",
                  ROPE_ERROR_INVALID, d, limitsOf(4));
}

// V goes apart where K's buffers and its own are too many together.
TEST(PlanApart, VGoesApartWhereBuffersAreTooMany) {
    RopeFusedDescription d = packedModel();
    d.cache.one_buffer = 0;
    d.v.to.offset = 0;
    EXPECT_EQ(planOf(d, limitsOf(9)).pass_count, 1u);
    EXPECT_EQ(planOf(d, limitsOf(8)).pass_count, 2u);
    EXPECT_EQ(planOf(d, limitsOf(7)).pass_count, 2u);
    EXPECT_EQ(planOf(d, limitsOf(6)).pass_count, 3u);
    d = keysOfAnEngine();
    d.k.norm = {};
    d.cache.map_in_positions = 1;
    d.cache.map_offset = 64;
    d.v.heads = d.k.heads;
    d.cache.one_buffer = 1;
    d.v.to.offset = 4096 * 8 * 128;
    EXPECT_EQ(planOf(d, limitsOf(5)).pass_count, 1u);
    EXPECT_EQ(planOf(d, limitsOf(4)).pass_count, 2u);
    d.packed_qkv = 1;
    EXPECT_EQ(planOf(d, limitsOf(4)).pass_count, 1u);
    d.cache.one_buffer = 0;
    d.v.to.offset = 0;
    EXPECT_EQ(planOf(d, limitsOf(4)).pass_count, 2u);
    d.cache = {};
    EXPECT_EQ(planOf(d, limitsOf(4)).pass_count, 2u);
}

// The slot map would take a buffer in POSITIONS too, if nothing else lies there.
TEST(PlanApart, AdviceLeadsToAPlan) {
    RopeFusedDescription d = keysOfAnEngine();
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    expectRefused("fused_wide takes 5 storage buffers, and limits.storage_buffers is 4; set weights of its "
                  "norms to arrays",
                  ROPE_ERROR_INVALID, d, limitsOf(4));
    d.cache.map_in_positions = 1;
    RopePlan plan;
    const RopeLimits limits = limitsOf(4);
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_INVALID);
    d.k.norm.no_weights = 1;
    EXPECT_EQ(planOf(d, limits).pass_count, 1u);
    d.v.heads = d.k.heads; // K and V, each from a buffer of its own to one of its own
    EXPECT_EQ(planOf(d, limits).pass_count, 2u);
}

// A list is bound from the beginning of its buffer, so its offset counts, and no split helps.
TEST(PlanApart, RefusesListsThatOneBindingCannotSpan) {
    RopeFusedDescription d = keysOfAnEngine();
    RopeLimits limits = limitsOf(6);
    limits.storage_range = 1 << 27;
    d.cache.map_offset = (1 << 24) - 32; // 32 more of 8 bytes are 2^27
    EXPECT_EQ(planOf(d, limits).bytes[ROPE_SLOT_SLOT_MAP], 1u << 27);
    d.cache.map_offset = 1 << 25;
    expectRefused("slot_map spans 268435712 bytes, and a binding 134217728 at most; use smaller offsets or strides",
                  ROPE_ERROR_TOO_LARGE, d, limits);
    d.cache.map_offset = 0;
    d.positions.offset = 1 << 25;
    expectRefused("positions spans 134217856 bytes, and a binding 134217728 at most; use smaller offsets or strides",
                  ROPE_ERROR_TOO_LARGE, d, limits);
}

TEST(PlanApart, RefusesWeightsThatOneBindingCannotSpan) {
    RopeFusedDescription d = keysOfAnEngine();
    RopeLimits limits = limitsOf(6);
    limits.storage_range = 1 << 20;
    d.cache.slots = 64;
    d.k.norm.weights_token_stride = 8452; // times 31, and 128 more, are 16 bytes less than 2^20
    EXPECT_EQ(planOf(d, limits).bytes[ROPE_SLOT_K_WEIGHTS], (31u * 8452 + 128) * 4);
    d.k.norm.weights_token_stride = 8456;
    expectRefused("k_weights spans 1049056 bytes, and a binding 1048576 at most; use smaller offsets or strides",
                  ROPE_ERROR_TOO_LARGE, d, limits);
    d.k.norm.weights_token_stride = 0;
    limits.storage_alignment = 1 << 19;
    expectRefused(
        "limits.storage_alignment is 524288 and uniform_alignment 256; each must be a power of two, and the first at "
        "most 65536",
        ROPE_ERROR_INVALID, d, limits);
}

// The layers of a model lie one after the other in the file of its weights, at any multiple of its alignment.
TEST(PlanApart, LayersShareAPipelineWhereverTheirWeightsBegin) {
    const auto hashOf = [](uint64_t layer_elements, RopeElement element) {
        RopeFusedDescription d = packedModel();
        d.q.norm.weights_element = d.k.norm.weights_element = element;
        std::set<uint32_t> hashes;
        for (const uint32_t tokens : {1u, 2u, 33u, 512u}) {
            for (uint64_t layer = 0; layer < 2; ++layer) {
                d.tokens = tokens;
                d.q.norm.weights_offset = 1024 + layer * layer_elements;
                d.k.norm.weights_offset = d.q.norm.weights_offset + 512;
                const RopePlan plan = planOf(d, limitsOf(8));
                EXPECT_EQ(plan.pass_count, 1u);
                hashes.insert(plan.passes[0].pipeline_hash);
            }
        }
        return hashes.size();
    };
    EXPECT_EQ(hashOf(1000, ROPE_ELEMENT_F32), 1u);
    EXPECT_EQ(hashOf(1004, ROPE_ELEMENT_BF16), 1u) << "of another residue of the alignment";
    EXPECT_EQ(hashOf(1001, ROPE_ELEMENT_BF16), 2u) << "by vectors, and by words";
}

TEST(PlanApart, LoadsVectorsOnlyWhereAllWeightsLieAtMultiplesOfFour) {
    const auto vectors = [](const std::function<void(RopeFusedDescription*)>& move) {
        RopeFusedDescription d = packedModel();
        move(&d);
        const RopePlan plan = planOf(d, limitsOf(8));
        return (rope::passAt(plan, 0).constants[ROPE_ID_RECORD_K + rope::field::norm_bits] & ROPE_NORM_BY_FOUR) != 0;
    };
    EXPECT_TRUE(vectors([](RopeFusedDescription*) {}));
    EXPECT_TRUE(vectors([](RopeFusedDescription* d) { d->q.norm.weights_offset = 12; }));
    EXPECT_FALSE(vectors([](RopeFusedDescription* d) { d->q.norm.weights_offset = 2; }));
    EXPECT_FALSE(vectors([](RopeFusedDescription* d) { d->k.norm.weights_token_stride = 130; }));
    EXPECT_FALSE(vectors([](RopeFusedDescription* d) { d->k.norm.weights_head_stride = 129; }));
}

TEST(PlanApart, SlotsHaveNames) {
    EXPECT_STREQ(ropeSlotName(ROPE_SLOT_X_OUT), "x_out");
    EXPECT_STREQ(ropeSlotName(ROPE_SLOT_SLOT_MAP), "slot_map");
    EXPECT_STREQ(ropeSlotName(ROPE_SLOT_Q_WEIGHTS), "q_weights");
    EXPECT_STREQ(ropeSlotName(ROPE_SLOT_K_WEIGHTS), "k_weights");
    EXPECT_STREQ(ropeSlotName(ROPE_SLOT_COUNT), "unknown slot");
}

} // namespace
