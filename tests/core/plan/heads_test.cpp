// Plans of fused passes whose heads are of other widths, or have stages of other kinds.
#include "plan/description.h"
#include "plan/fused/record.h"
#include "support/sample.hpp"

#include "plan/element_formats.h"

#include "shaders/interface.h"

#include <gtest/gtest.h>

#include <string>

namespace {

RopeLimits limitsOf(uint32_t storage_buffers) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = storage_buffers;
    return limits;
}

// DeepSeek V3's attention, with packed rows of all heads of Q and the one of K.
RopeFusedDescription latent() {
    static const std::vector<double> kFrequencies = sample::frequencies(10000, 64);
    RopeFusedDescription d = {};
    d.tokens = 8;
    d.head_dim = 192;
    d.rotation.rotary_begin = 128;
    d.rotation.rotary_dim = 64;
    d.element = ROPE_ELEMENT_BF16;
    d.rotation.frequencies = {kFrequencies.data(), 32, 1, nullptr, 1};
    d.out_of_place = 1;
    d.q.heads = 128;
    d.k.heads = 1;
    d.k.head_dim = 576;
    d.k.rotary_begin = 512;
    d.k.norm.kind = ROPE_NORM_RMS;
    d.k.norm.epsilon = 1e-6f;
    d.k.norm.dim = 512;
    d.cache.kind = ROPE_CACHE_PAGE_TABLE;
    d.cache.slots = 4096;
    d.cache.page_size = 64;
    d.cache.table_pages = 16;
    return d;
}

uint32_t lanesOf(const rope::PlanPass& pass, rope::FusedRole role) {
    return pass.constants[rope::kRecordIds[role] + rope::field::lanes];
}

// The lanes of K's head are 36, those of Q's 12: a row of threads has three of Q's blocks.
TEST(PlanHeads, QAndKOfTwoWidthsTakeOneDispatch) {
    const RopeLimits limits = limitsOf(8);
    RopePlan plan;
    RopeFusedDescription d = latent();
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropeDispatchCount(&plan), 1u);
    const rope::PlanPass& pass = rope::passAt(plan, 0);
    EXPECT_EQ(pass.constants[ROPE_ID_HEAD_LANES], 36u);
    EXPECT_EQ(lanesOf(pass, rope::kQ), 12u);
    EXPECT_EQ(lanesOf(pass, rope::kK), 36u);
    EXPECT_EQ(pass.blocks, 43u + 1);
    EXPECT_EQ(pass.access[ROPE_BINDING_K_WEIGHTS].extent, 512u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_K_OUT], 4096u * 576 * 2);
    // In place only the rotary part of Q moves: four lanes.
    d.out_of_place = 0;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropeDispatchCount(&plan), 1u);
    EXPECT_EQ(lanesOf(rope::passAt(plan, 0), rope::kQ), 4u);
    EXPECT_EQ(rope::passAt(plan, 0).blocks, 15u + 1);
}

// A latent of float8 or of blocks goes with Q as one of 16 bits does.
TEST(PlanHeads, QAndALatentOfAnyFormatTakeOneDispatch) {
    static const float kScale = 0.5f;
    const RopeLimits limits = limitsOf(8);
    for (uint32_t number = ROPE_ELEMENT_I8; number <= rope::kLastElement; ++number) {
        for (const bool given : {false, true}) {
            RopeFusedDescription d = latent();
            d.k.element = d.v.element = static_cast<RopeElement>(number);
            d.k.stored_scales.offset = 4096 * 576 / 4;
            if (given && !rope::isFloat8(d.k.element)) continue;
            if (given) d.k.given_scale = {&kScale, 1, 0};
            RopePlan plan;
            ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
            EXPECT_EQ(ropeDispatchCount(&plan), 1u) << rope::formatOf(d.k.element).name << given;
        }
    }
}

TEST(PlanHeads, ShapesThatNoRowHoldsGoApart) {
    RopeLimits limits = limitsOf(8);
    limits.group_size = 32; // fewer than K's lanes, whose sums must meet
    RopeFusedDescription d = latent();
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_TOO_LARGE);
    d.k.norm.kind = ROPE_NORM_NONE;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 2u);
}

// Heads of one width plan as they did, whatever way the width is given.
TEST(PlanHeads, ThePassOfOneWidthStaysTheSame) {
    const RopeLimits limits = limitsOf(8);
    RopeFusedDescription d = latent();
    d.k.norm = {};
    d.k.head_dim = d.k.rotary_begin = 0;
    RopePlan plain, given;
    ASSERT_EQ(ropePlanFused(&d, &limits, &plain), ROPE_SUCCESS) << plain.reason.text;
    d.k.head_dim = d.q.head_dim = 192;
    d.k.rotary_begin = d.q.rotary_begin = 128;
    ASSERT_EQ(ropePlanFused(&d, &limits, &given), ROPE_SUCCESS) << given.reason.text;
    EXPECT_TRUE(ropePlansEqual(&plain, &given));
    EXPECT_EQ(lanesOf(rope::passAt(plain, 0), rope::kQ), lanesOf(rope::passAt(plain, 0), rope::kK));
}

// Biases take one buffer, bound from its beginning.
TEST(PlanHeads, BiasesAreOneBufferMore) {
    RopeFusedDescription d = latent();
    d.k.head_dim = d.k.rotary_begin = 0;
    d.k.heads = 8;
    d.k.norm = {};
    d.cache.map_in_positions = 1;
    d.cache.map_offset = 8;
    d.q.bias = d.k.bias = 1;
    d.bias_element = ROPE_ELEMENT_BF16;
    d.k.bias_offset = 128 * 192;
    RopePlan plan;
    const RopeLimits limits = limitsOf(8);
    ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_BIASES], (128u + 8) * 192 * 2);
    EXPECT_STREQ(plan.passes[0].shader->name, "fused_wide");
    EXPECT_STREQ(ropeSlotName(ROPE_SLOT_BIASES), "biases");
    const RopeLimits least = limitsOf(4);
    EXPECT_EQ(ropePlanFused(&d, &least, &plan), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plan.reason.text).find("storage buffers"), std::string::npos) << plan.reason.text;
    RopeLimits small = limitsOf(8);
    small.storage_range = 1 << 24;
    d.k.bias_offset = 1 << 24;
    EXPECT_EQ(ropePlanFused(&d, &small, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_NE(std::string(plan.reason.text).find("biases spans 33557504 bytes, and a binding 16777216 at most"),
              std::string::npos)
        << plan.reason.text;
}

} // namespace
