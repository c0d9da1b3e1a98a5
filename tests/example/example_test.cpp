// The example shader, which includes vkrope's GLSL, has the bits of the plans' own passes.
#include "shape.h"
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include "plan/pass.h"
#include "plan/planner.h"

#include <cmath>
#include <cstring>

extern "C" {
#define ROPE_SHADER(name, file, family, needs, defines) extern const RopeShader rope_shader_##name;
#include "list.def"
#undef ROPE_SHADER
}

namespace {

const std::vector<float> kX = sample::values(TOKENS * DIM, 1);
const std::vector<float> kRows = sample::values(TOKENS * DIM, 2); // as many as any of them is given
const std::vector<double> kFrequencies = sample::frequencies(10000, DIM);

RopeFrequencies frequencies() { return {kFrequencies.data(), DIM / 2, 0, nullptr, 1}; }
const std::vector<double> kDivided = [] {
    std::vector<double> all = kFrequencies;
    for (double& one : all) one /= FACTOR;
    return all;
}();

RopeBiasDescription bias(RopeBiasKind kind) {
    RopeBiasDescription d = {};
    d.kind = kind;
    d.heads = 1;
    d.queries = d.keys = TOKENS;
    d.bidirectional = kind == ROPE_BIAS_T5;
    d.buckets = BUCKETS;
    d.max_distance = MAX_DISTANCE;
    d.least = -CLIP;
    d.most = CLIP;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    return d;
}

RopePlan planExample(uint32_t encoding, const RopeLimits& limits) {
    RopePlan plan;
    rope::Planner planner(&limits, &plan);
    rope::PlanPass* pass = planner.addPass(rope_shader_example_attention, 1, TOKENS * TOKENS, 1);
    rope::setGroup(pass->group_size, 1, 1, pass);
    pass->tokens_per_thread = pass->group_size; // scores in x
    pass->constants[ID_ENCODING] = encoding;
    pass->access[0] = {ROPE_SLOT_K, 4, 0, {0, 0, 0}, TOKENS * DIM};
    pass->access[1] = {ROPE_SLOT_FREQUENCIES, 16, 0, {0, 0, 0}, DIM / 2};
    pass->access[2] = {ROPE_SLOT_ROWS, 4, 0, {0, 0, 0}, TOKENS * DIM};
    pass->access[5] = {ROPE_SLOT_X, 4, 0, {0, 0, 0}, TOKENS * TOKENS};
    pass->access[ROPE_BINDING_UNIFORM] = {ROPE_SLOT_PARAMETERS, 16, 0, {0, 0, 0}, 4};
    EXPECT_EQ(planner.finish(), ROPE_SUCCESS) << plan.reason.text;
    return plan;
}

std::vector<float> scoresOf(const std::vector<float>& x) {
    std::vector<float> scores(TOKENS * TOKENS);
    for (size_t i = 0; i < scores.size(); ++i) {
        volatile float sum = 0;
        for (size_t e = 0; e < DIM; ++e) {
            const volatile float product = x[i / TOKENS * DIM + e] * x[i % TOKENS * DIM + e];
            sum = sum + product;
        }
        scores[i] = sum;
    }
    return scores;
}

// Embeddings as an encoding places them, by the CPU's own runs of the plans.
std::vector<float> placed(uint32_t encoding) {
    std::vector<float> x = kX;
    if (encoding == ROTARY || encoding == DIVIDED) {
        RopeRotateDescription d = {};
        d.tokens = TOKENS;
        d.head_dim = DIM;
        d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
        d.rotation.frequencies = frequencies();
        if (encoding == DIVIDED) d.rotation.frequencies.values = kDivided.data();
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.q.heads = 1;
        RopeHostRotate host = {};
        host.q = kX.data();
        host.q_out = x.data();
        EXPECT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
    } else if (encoding == SINUSOIDAL || encoding == LEARNED) {
        RopeAddDescription d = {};
        d.tokens = TOKENS;
        d.dim = DIM;
        d.learned = encoding == LEARNED;
        d.rows.count = TOKENS;
        if (d.learned == 0) d.frequencies = frequencies();
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        RopeHostAdd host = {nullptr, d.learned != 0 ? kRows.data() : nullptr, kX.data(), nullptr, x.data(), 0};
        EXPECT_EQ(ropeHostRunAdd(&d, &host, nullptr), ROPE_SUCCESS);
    }
    return x;
}

std::vector<float> wanted(uint32_t encoding) {
    std::vector<float> scores = scoresOf(placed(encoding));
    if (encoding == RELATIVE_VECTORS) {
        RopeRelativeDescription d = {};
        d.heads = 1;
        d.queries = d.keys = TOKENS;
        d.dim = DIM;
        d.least = -CLIP;
        d.most = CLIP;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        RopeHostRelative host = {nullptr, kRows.data(), kX.data(), scores.data(), nullptr, scores.data()};
        EXPECT_EQ(ropeHostRunRelative(&d, &host, nullptr), ROPE_SUCCESS);
    } else if (encoding >= T5 && encoding <= ALIBI) {
        const RopeBiasDescription d = bias(static_cast<RopeBiasKind>(encoding - T5));
        RopeHostBias host = {nullptr, kRows.data(), scores.data(), nullptr, scores.data()};
        EXPECT_EQ(ropeHostRunBias(&d, &host, nullptr), ROPE_SUCCESS);
    }
    return scores;
}

class Example : public gpu::OnDevice {};

TEST_P(Example, AttentionWithIncludedEncodingsHasThePlansBits) {
    const RopeBiasDescription buckets = bias(ROPE_BIAS_T5);
    std::vector<uint32_t> thresholds(16);
    ASSERT_EQ(ropeBucketVectors(BUCKETS, 1), 4u);
    ASSERT_EQ(ropeWriteBuckets(&buckets, thresholds.data(), nullptr), ROPE_SUCCESS);
    for (uint32_t encoding = PLAIN; encoding <= DIVIDED; ++encoding) {
        const RopePlan plan = planExample(encoding, device().limits());
        gpu::Slots slots;
        slots.set(ROPE_SLOT_K, kX);
        slots.set(ROPE_SLOT_FREQUENCIES, sample::words(kFrequencies, ROPE_ANGLE_EXACT));
        slots.set(ROPE_SLOT_ROWS, kRows);
        slots.set(ROPE_SLOT_PARAMETERS, thresholds);
        slots.bytes[ROPE_SLOT_X].resize(plan.bytes[ROPE_SLOT_X]);
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        EXPECT_EQ(slots.get<float>(ROPE_SLOT_X), wanted(encoding)) << "encoding " << encoding;
        if (encoding != PLAIN) {
            EXPECT_NE(wanted(encoding), wanted(PLAIN)) << encoding;
        }
    }
}

TEST_P(Example, ScoresAreNanByFrequenciesOfTheOtherAngle) {
    for (const uint32_t encoding : std::initializer_list<uint32_t>{SINUSOIDAL, ROTARY, DIVIDED}) {
        const RopePlan plan = planExample(encoding, device().limits());
        gpu::Slots slots;
        slots.set(ROPE_SLOT_K, kX);
        slots.set(ROPE_SLOT_FREQUENCIES, sample::words(kFrequencies, ROPE_ANGLE_COMPATIBLE));
        slots.set(ROPE_SLOT_ROWS, kRows);
        slots.set(ROPE_SLOT_PARAMETERS, std::vector<uint32_t>(16));
        slots.bytes[ROPE_SLOT_X].resize(plan.bytes[ROPE_SLOT_X]);
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        for (const float score : slots.get<float>(ROPE_SLOT_X)) EXPECT_TRUE(std::isnan(score)) << encoding;
    }
}

ROPE_ON_EVERY_DEVICE(Example);

} // namespace
