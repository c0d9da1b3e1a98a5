// Plans of fused passes whose heads lie anywhere: between whole vectors, and 16-bit ones between words.
#include "rope.h"

#include "../shaders/interface.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

// Pairs that do not lie in quads, and heads that begin anywhere, meet in shared memory. Odd places of 16 bits alone
// need 16-bit storage.
TEST(PlanAnywhere, NormsHeadsThatLieAnywhere) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    const std::vector<double> frequencies(32, 0.5);
    const auto plan = [&](RopeElement element, uint32_t rotary_dim, uint64_t offset) {
        RopeFusedDescription d = {};
        d.rotate.tokens = 3;
        d.rotate.head_dim = 64;
        d.rotate.rotary_dim = rotary_dim;
        d.rotate.frequencies.values = frequencies.data();
        d.rotate.frequencies.count = rotary_dim / 2;
        d.rotate.q.heads = 2;
        d.rotate.q.source.offset = offset;
        d.rotate.out_of_place = 1;
        d.rotate.element_in = d.rotate.element_out = element;
        d.q_norm.kind = ROPE_NORM_RMS;
        RopePlan p;
        if (ropePlanFused(&d, &limits, &p) != ROPE_SUCCESS) return std::string(p.reason.text);
        return std::string(p.passes[0].shader->name) + " " + std::to_string(p.passes[0].constants[ROPE_ID_RELAYED]);
    };
    for (const uint32_t enabled : {0u, uint32_t{ROPE_ENABLED_STORAGE_16}}) {
        limits.enabled = enabled;
        EXPECT_EQ(plan(ROPE_ELEMENT_F16, 64, 4), "fused_wide 0");
        EXPECT_EQ(plan(ROPE_ELEMENT_F16, 20, 0), "fused_wide 64");
        EXPECT_EQ(plan(ROPE_ELEMENT_F16, 64, 2), "fused_wide 64");
        EXPECT_EQ(plan(ROPE_ELEMENT_F32, 22, 3), "fused_wide 64");
        EXPECT_EQ(plan(ROPE_ELEMENT_BF16, 64, 3),
                  enabled != 0
                      ? "fused_odd 64"
                      : "q has 16-bit elements at an odd offset, stride or distance; make them even, or enable "
                        "storageBuffer16BitAccess and say so in limits.enabled");
    }
}

// V lies at odd places and has no stage, or K does. One dispatch takes it with the tensor that has one.
TEST(PlanAnywhere, TakesAnOddTensorBesideANormedOneByItsPlaces) {
    for (const bool of_v : {true, false}) {
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        RopeFusedDescription d = {};
        d.rotate.tokens = 3;
        d.rotate.head_dim = 64;
        d.rotate.k.heads = d.v.heads = 2;
        d.no_rotation = 1;
        d.rotate.out_of_place = 1;
        d.rotate.element_in = d.rotate.element_out = ROPE_ELEMENT_F16;
        (of_v ? d.v : d.rotate.k).source.offset = 1;
        (of_v ? d.k_norm : d.v_norm).kind = ROPE_NORM_RMS;
        RopePlan plan;
        EXPECT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_ERROR_INVALID);
        EXPECT_NE(std::string(plan.reason.text).find("16-bit elements at an odd offset"), std::string::npos);
        limits.enabled = ROPE_ENABLED_STORAGE_16;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_EQ(std::string(plan.passes[0].shader->name), "fused_odd");
        EXPECT_EQ(plan.passes[0].constants[ROPE_ID_RELAYED], 64u);
    }
}

} // namespace
