// The shader in HLSL, which includes vkrope's rotation, has the bits of the CPU's runs.
#include "shape.h"
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include "plan/pass.h"
#include "plan/planner.h"

#include <cmath>
#include <cstring>
#include <utility>

extern "C" const RopeShader rope_shader_example_turn_hlsl;

namespace {

constexpr uint32_t kPairs = DIM / 2, kResults = 7; // of each pair
const std::vector<double> kFrequencies = sample::frequencies(10000, DIM);
const std::vector<float> kX = sample::values(TOKENS * DIM, 3);

uint32_t wholeOf(uint32_t token) { return token * 0x9E3779B1u; }

RopePlan planTurns(const RopeLimits& limits) {
    constexpr uint32_t kGroup = 64; // numthreads in turn.hlsl
    RopePlan plan;
    rope::Planner planner(&limits, &plan);
    rope::PlanPass* pass = planner.addPass(rope_shader_example_turn_hlsl, 1, TOKENS * kPairs, 1);
    pass->group_size = pass->tokens_per_thread = kGroup;
    rope::setGroup(kGroup, 1, 1, pass);
    pass->access[0] = {ROPE_SLOT_K, 4, 0, {0, 0, 0}, TOKENS * DIM};
    pass->access[1] = {ROPE_SLOT_FREQUENCIES, 16, 0, {0, 0, 0}, 2 * kPairs};
    pass->access[5] = {ROPE_SLOT_X, 4, 0, {0, 0, 0}, kResults * TOKENS * DIM};
    EXPECT_EQ(planner.finish(), ROPE_SUCCESS) << plan.reason.text;
    return plan;
}

std::vector<float> turnedOnHost(double scale, double factor = 1) {
    std::vector<int32_t> positions;
    for (uint32_t token = 0; token < TOKENS; ++token) positions.push_back(static_cast<int32_t>(wholeOf(token)));
    std::vector<double> frequencies = kFrequencies;
    for (double& one : frequencies) one /= factor;
    RopeRotateDescription d = {};
    d.tokens = TOKENS;
    d.head_dim = DIM;
    d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
    d.rotation.frequencies = {frequencies.data(), kPairs, scale, nullptr, 1};
    d.q.heads = 1;
    std::vector<float> out(kX.size());
    RopeHostRotate host = {};
    host.positions = positions.data();
    host.q = kX.data();
    host.q_out = out.data();
    EXPECT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
    return out;
}

// Returns what the shader writes for each pair, in the shader's order.
std::vector<float> wanted(const std::vector<uint32_t>& words) {
    const std::vector<float> plain = turnedOnHost(1), scaled = turnedOnHost(SCALE), slower = turnedOnHost(1, FACTOR);
    std::vector<float> out(kResults * TOKENS * DIM);
    for (uint32_t i = 0; i < TOKENS * kPairs; ++i) {
        const uint32_t whole = wholeOf(i / kPairs);
        const uint32_t* const exact = &words[4 * (i % kPairs)];
        const uint32_t* const compatible = exact + 4 * kPairs;
        const int64_t at = ROPE_WHOLE_POSITION(static_cast<int32_t>(whole));
        const int64_t between = at + whole * 0x85EBCA6Bu;
        float* const results = &out[2 * kResults * i];
        std::memcpy(results, &plain[2 * i], 2 * sizeof(float));
        std::memcpy(results + 2, &scaled[2 * i], 2 * sizeof(float));
        ropeShaderAngle(at, exact, 1, ROPE_ANGLE_EXACT, results + 4);
        std::swap(results[4], results[5]);
        ropeShaderAngle(between, exact, SCALE, ROPE_ANGLE_EXACT, results + 6);
        ropeShaderAngle(at, compatible, 1, ROPE_ANGLE_COMPATIBLE, results + 8);
        ropeShaderAngle(between, compatible, SCALE, ROPE_ANGLE_COMPATIBLE, results + 10);
        std::memcpy(results + 12, &slower[2 * i], 2 * sizeof(float));
    }
    return out;
}

class Hlsl : public gpu::OnDevice {
  protected:
    std::vector<float> run(const std::vector<uint32_t>& words) {
        const RopePlan plan = planTurns(device().limits());
        gpu::Slots slots;
        slots.set(ROPE_SLOT_K, kX);
        slots.set(ROPE_SLOT_FREQUENCIES, words);
        slots.bytes[ROPE_SLOT_X].resize(plan.bytes[ROPE_SLOT_X]);
        EXPECT_TRUE(gpu::run(&device(), plan, &slots));
        return slots.get<float>(ROPE_SLOT_X);
    }
};

std::vector<uint32_t> wordsOf(RopeAngle first, RopeAngle second) {
    std::vector<uint32_t> words = sample::words(kFrequencies, first);
    const std::vector<uint32_t> more = sample::words(kFrequencies, second);
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST_P(Hlsl, RotationHasTheHostsBits) {
    const std::vector<uint32_t> words = wordsOf(ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE);
    const std::vector<float> found = run(words), right = wanted(words);
    ASSERT_EQ(found.size(), right.size());
    for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(std::memcmp(&found[i], &right[i], sizeof found[i]), 0)
            << found[i] << " and not " << right[i] << ", result " << i / 2 % kResults << " of pair "
            << i / 2 / kResults;
    }
}

TEST_P(Hlsl, ResultsAreNanByFrequenciesOfTheOtherAngle) {
    for (const float value : run(wordsOf(ROPE_ANGLE_COMPATIBLE, ROPE_ANGLE_EXACT))) EXPECT_TRUE(std::isnan(value));
}

ROPE_ON_EVERY_DEVICE(Hlsl);

} // namespace
