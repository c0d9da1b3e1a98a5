// Zeros of either sign through norms: some compilers drop a sum with 0, which makes -0 positive.
#include "support/fusion.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace {

class ZerosThroughNorms : public gpu::OnDevice {};

// Two heads of Q and of K: the first is all -0, and two thirds of the second are 0 or -0, as of the weights.
TEST_P(ZerosThroughNorms, HaveTheCpusSigns) {
    for (const RopeNormKind kind : {ROPE_NORM_RMS, ROPE_NORM_LAYER}) {
        for (const float offset : {0.0f, 1.0f}) {
            for (const bool weights : {true, false}) {
                if (!weights && offset != 0) continue;
                fusion::Scene scene;
                scene.frequencies = sample::frequencies(10000, 64);
                for (int e = 0; e < 64; ++e) scene.q_weights.push_back(e % 3 == 0 ? -0.0f : e % 3 == 1 ? 0.0f : 0.5f);
                RopeFusedDescription& d = scene.d;
                d.tokens = 2;
                d.head_dim = 64;
                d.rotation.rotary_dim = 32;
                d.out_of_place = 1;
                d.q.heads = d.k.heads = 2;
                d.rotation.frequencies = {scene.frequencies.data(), 16, 1, nullptr, 1};
                d.positions.kind = ROPE_POSITIONS_COUNTED;
                d.q.norm.kind = d.k.norm.kind = kind;
                d.q.norm.epsilon = d.k.norm.epsilon = 1e-5f;
                d.q.norm.no_weights = d.k.norm.no_weights = !weights;
                if (weights) d.q.norm.weights = d.k.norm.weights = scene.q_weights.data();
                if (weights) d.q.norm.weight_plus = offset;
                RopePlan plan;
                ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
                gpu::Slots before = fusion::makeSlots(scene, plan, 5);
                std::vector<float> heads(2 * 2 * 64);
                for (size_t i = 0; i < heads.size(); ++i) {
                    heads[i] = i % 128 < 64 || i % 3 == 0 ? -0.0f : i % 3 == 1 ? 0.0f : static_cast<float>(i) - 90;
                }
                before.set(ROPE_SLOT_Q, heads);
                before.set(ROPE_SLOT_K, heads);
                gpu::Slots after = before;
                ASSERT_TRUE(gpu::run(&device(), plan, &after));
                EXPECT_TRUE(fusion::checkHost(scene, plan, before, after))
                    << "kind " << kind << ", offset " << offset << ", weights " << weights;
            }
        }
    }
}

// A weight of -0 without an offset turns the sign.
TEST_P(ZerosThroughNorms, AWeightOfMinusZeroKeepsItsSign) {
    const std::vector<float> weights = {-0.0f, -0.0f, 0.0f, 1.0f};
    RopeFusedDescription d = {};
    d.tokens = d.k.heads = d.k.no_rotation = d.out_of_place = 1;
    d.head_dim = 4;
    d.k.norm.kind = ROPE_NORM_RMS;
    d.k.norm.epsilon = 1e-5f;
    d.k.norm.weights = weights.data();
    RopePlan plan;
    ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots slots;
    slots.set(ROPE_SLOT_K, std::vector<float>{1, -1, 1, -1});
    slots.bytes[ROPE_SLOT_K_OUT].resize(16);
    slots.bytes[ROPE_SLOT_PARAMETERS].resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
    ropeWriteParameters(&d, slots.bytes[ROPE_SLOT_PARAMETERS].data(), nullptr);
    ASSERT_TRUE(gpu::run(&device(), plan, &slots));
    const std::vector<float> got = slots.get<float>(ROPE_SLOT_K_OUT);
    EXPECT_TRUE(std::signbit(got[0]) && !std::signbit(got[1]) && !std::signbit(got[2]) && got[3] < 0);
}

ROPE_ON_EVERY_DEVICE(ZerosThroughNorms);

} // namespace
