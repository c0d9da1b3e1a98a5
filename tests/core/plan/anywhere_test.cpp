// Plans of fused passes whose heads lie anywhere: between whole vectors, and what is refused of 16-bit ones.
#include "plan/pass.h"
#include <vkrope/rope.h>

#include "shaders/interface.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

// Pairs that do not lie in quads, and heads that begin anywhere, meet in shared memory. Heads of 16 bits begin at even
// places.
TEST(PlanAnywhere, NormsHeadsThatLieAnywhere) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    const std::vector<double> frequencies(32, 0.5);
    const auto plan = [&](RopeElement element, uint32_t rotary_dim, uint64_t offset) {
        RopeFusedDescription d = {};
        d.tokens = 3;
        d.head_dim = 64;
        d.rotation.rotary_dim = rotary_dim;
        d.rotation.frequencies.values = frequencies.data();
        d.rotation.frequencies.count = rotary_dim / 2;
        d.q.heads = 2;
        d.q.from.offset = offset;
        d.out_of_place = 1;
        d.element = element;
        d.q.norm.kind = ROPE_NORM_RMS;
        d.q.norm.no_weights = 1;
        RopePlan p;
        if (ropePlanFused(&d, &limits, &p) != ROPE_SUCCESS) return std::string(p.reason.text);
        return std::string(p.passes[0].shader->name) + " " +
               std::to_string(rope::passAt(p, 0).constants[ROPE_ID_RELAYED]);
    };
    EXPECT_EQ(plan(ROPE_ELEMENT_F16, 64, 4), "fused_wide 0");
    EXPECT_EQ(plan(ROPE_ELEMENT_F16, 20, 0), "fused_wide 64");
    EXPECT_EQ(plan(ROPE_ELEMENT_F16, 22, 0), "fused_wide 64") << "eleven pairs, an odd number";
    EXPECT_EQ(plan(ROPE_ELEMENT_F16, 64, 2), "fused_wide 64");
    EXPECT_EQ(plan(ROPE_ELEMENT_F32, 22, 3), "fused_wide 64");
    for (const uint32_t rotary_dim : {64u, 22u}) {
        EXPECT_EQ(
            plan(ROPE_ELEMENT_BF16, rotary_dim, 3),
            "q has 16-bit elements at an odd offset, stride, rotary_begin or head_dim, and they move in twos; make "
            "these numbers even, or use float32");
    }
}

// V lies at odd places and has no stage, or K does.
TEST(PlanAnywhere, RefusesAnOddTensorBesideANormedOne) {
    for (const bool of_v : {true, false}) {
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        RopeFusedDescription d = {};
        d.tokens = 3;
        d.head_dim = 64;
        d.k.heads = d.v.heads = 2;
        d.q.no_rotation = d.k.no_rotation = 1;
        d.out_of_place = 1;
        d.element = ROPE_ELEMENT_F16;
        (of_v ? d.v : d.k).from.offset = 1;
        RopeNorm& norm = of_v ? d.k.norm : d.v.norm;
        norm.kind = ROPE_NORM_RMS;
        norm.no_weights = 1;
        RopePlan plan;
        EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_INVALID);
        EXPECT_NE(std::string(plan.reason.text).find("16-bit elements at an odd offset"), std::string::npos);
    }
}

// Without a stage, heads of float32 at odd places go as they are.
TEST(PlanAnywhere, TakesFloat32AtOddPlacesWithoutAStage) {
    const std::vector<double> frequencies(16, 0.5);
    const auto plan = [&](RopeElement element, uint64_t of_q, uint64_t of_k, uint64_t of_v) {
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        limits.enabled = ROPE_ENABLED_STORAGE_16;
        limits.storage_buffers = 16;
        RopeFusedDescription d = {};
        d.tokens = 3;
        d.head_dim = 64;
        d.rotation.rotary_dim = 32;
        d.rotation.frequencies = {frequencies.data(), 16, 0, nullptr, 1};
        d.q.heads = d.k.heads = d.v.heads = 2;
        d.out_of_place = 1;
        d.element = element;
        d.cache.kind = ROPE_CACHE_POSITIONS;
        d.cache.slots = 9;
        d.k.element = d.v.element = ROPE_ELEMENT_BF16;
        d.q.from.offset = of_q;
        d.k.to.offset = of_k;
        d.v.to.offset = of_v;
        RopePlan p;
        if (ropePlanFused(&d, &limits, &p) != ROPE_SUCCESS) return std::string(p.reason.text);
        std::string text;
        for (uint32_t i = 0; i < p.pass_count; ++i) {
            const uint32_t* c = rope::passAt(p, i).constants;
            EXPECT_EQ(c[ROPE_ID_RELAYED], 0u);
            text += std::string(p.passes[i].shader->name) + (c[ROPE_ID_BY_WORDS] != 0 ? " by words, " : ", ");
        }
        return text;
    };
    EXPECT_EQ(plan(ROPE_ELEMENT_BF16, 0, 0, 0), "fused_wide, ");
    for (const uint64_t of_k : {0u, 1u}) {
        EXPECT_EQ(plan(ROPE_ELEMENT_BF16, 0, of_k, 1 - of_k),
                  std::string(of_k != 0 ? "k" : "v") +
                      " has 16-bit elements at an odd offset, stride, rotary_begin or head_dim, and they move in twos; "
                      "make these numbers even, or use float32");
    }
    EXPECT_EQ(plan(ROPE_ELEMENT_F32, 1, 2, 0), "fused_wide by words, fused_wide by words, fused_wide, ")
        << "other steps of copies";
}

} // namespace
