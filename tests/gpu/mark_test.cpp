// Frequencies of the other angle, or of none: on every device whatever they turn or are added to is NaN.
#include "bench/cases/description.hpp"
#include "plan/pass.h"
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include "shaders/interface.h"

#include <cmath>

namespace {

constexpr uint32_t kTokens = 6;
constexpr uint32_t kHeads = 2;

class Marks : public gpu::OnDevice {
  protected:
    // All words that are not for this angle: written for the other one, and never written. One pair has frequency 0.
    static std::vector<std::vector<uint32_t>> wrongWords(const std::vector<double>& frequencies, RopeAngle angle) {
        const RopeAngle other = angle == ROPE_ANGLE_EXACT ? ROPE_ANGLE_COMPATIBLE : ROPE_ANGLE_EXACT;
        return {sample::words(frequencies, other), std::vector<uint32_t>(4 * frequencies.size(), 0)};
    }

    // The slots after the plan has run; those that hold nothing before are full of ones.
    gpu::Slots run(const RopePlan& plan, gpu::Slots slots) {
        for (uint32_t slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
            if (slots.bytes[slot].empty()) slots.bytes[slot].assign(plan.bytes[slot], 1);
        }
        EXPECT_TRUE(gpu::run(&device(), plan, &slots));
        return slots;
    }

    static std::vector<float> floats(const std::vector<uint8_t>& bytes, RopeElement element) {
        std::vector<float> values(bytes.size() / ropeElementBytes(element));
        ropeConvertElements(bytes.data(), element, values.data(), ROPE_ELEMENT_F32, values.size());
        return values;
    }

    static void expectNan(const std::vector<float>& got, const char* what) {
        ASSERT_FALSE(got.empty()) << what;
        for (const float value : got) ASSERT_TRUE(std::isnan(value)) << what << ": " << value;
    }
};

constexpr RopeAngle kAngles[] = {ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE};

std::vector<double> frequenciesOf(uint32_t rotary_dim) {
    std::vector<double> all = sample::frequencies(10000, rotary_dim);
    all.back() = 0;
    return all;
}

TEST_P(Marks, MakeRowsNan) {
    const std::vector<double> frequencies = frequenciesOf(16);
    for (const RopeAngle angle : kAngles) {
        RopeTableDescription d = {};
        d.frequencies = {frequencies.data(), 8, 1.5, nullptr, 1};
        d.angle = angle;
        d.tokens = kTokens;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        RopePlan plan;
        ASSERT_EQ(ropePlanTable(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        for (const std::vector<uint32_t>& words : wrongWords(frequencies, angle)) {
            gpu::Slots slots;
            slots.set(ROPE_SLOT_FREQUENCIES, words);
            expectNan(run(plan, slots).get<float>(ROPE_SLOT_ROWS), "rows");
        }
    }
}

struct Head {
    const char* shader;
    uint32_t dim, begin;
    RopeElement element;
};
const Head kEveryWidth[] = {{"rotate_wide", 24, 4, ROPE_ELEMENT_F32},
                            {"rotate_wide", 24, 4, ROPE_ELEMENT_BF16},
                            {"rotate_wide", 21, 3, ROPE_ELEMENT_F32},
                            {"rotate_wide", 22, 2, ROPE_ELEMENT_F16}};

RopeRotateDescription describe(const Head& head, const std::vector<double>& frequencies, RopeAngle angle) {
    RopeRotateDescription d = {};
    d.tokens = kTokens;
    d.head_dim = head.dim;
    d.rotation.rotary_begin = head.begin;
    d.rotation.rotary_dim = 16;
    d.element = head.element;
    d.rotation.angle = angle;
    d.rotation.frequencies = {frequencies.data(), 8, 0, nullptr, 1};
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.q.heads = kHeads;
    return d;
}

// The rotary part of each head is NaN, and the rest stays.
void expectRotaryNan(const Head& head, const std::vector<float>& before, const std::vector<float>& after) {
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < after.size(); ++i) {
        const size_t element = i % head.dim;
        const bool rotary = element >= head.begin && element < head.begin + 16;
        ASSERT_TRUE(rotary ? std::isnan(after[i]) : after[i] == before[i])
            << head.shader << " element " << element << ": " << after[i];
    }
}

TEST_P(Marks, MakeWhatTurnsNanAndLeaveTheRest) {
    const std::vector<double> frequencies = frequenciesOf(16);
    for (const RopeAngle angle : kAngles) {
        for (const Head& head : kEveryWidth) {
            const RopeRotateDescription d = describe(head, frequencies, angle);
            RopePlan plan;
            ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
            EXPECT_STREQ(plan.passes[0].shader->name, head.shader);
            for (const std::vector<uint32_t>& words : wrongWords(frequencies, angle)) {
                gpu::Slots slots;
                slots.set(ROPE_SLOT_FREQUENCIES, words);
                slots.bytes[ROPE_SLOT_Q] = sample::tensor(head.element, plan.bytes[ROPE_SLOT_Q], 5);
                const std::vector<float> before = floats(slots.bytes[ROPE_SLOT_Q], head.element);
                expectRotaryNan(head, before, floats(run(plan, slots).bytes[ROPE_SLOT_Q], head.element));
            }
        }
    }
}

TEST_P(Marks, MakeFusedPassesNan) {
    const std::vector<double> frequencies = frequenciesOf(16);
    const Head head = {"fused_wide", 24, 4, ROPE_ELEMENT_F32};
    for (const RopeAngle angle : kAngles) {
        RopeFusedDescription d = {};
        measure::setRotation(describe(head, frequencies, angle), &d);
        d.q.norm.kind = ROPE_NORM_RMS;
        d.q.norm.no_weights = 1;
        d.q.norm.after = 1; // the whole head then
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        for (const std::vector<uint32_t>& words : wrongWords(frequencies, angle)) {
            gpu::Slots slots;
            slots.set(ROPE_SLOT_FREQUENCIES, words);
            slots.set(ROPE_SLOT_Q, sample::values(plan.bytes[ROPE_SLOT_Q] / 4, 5));
            expectNan(run(plan, slots).get<float>(ROPE_SLOT_Q), "a fused pass");
        }
    }
}

// Each thread computes its own sinusoids, or a group computes those of several sequences.
TEST_P(Marks, MakeSumsNan) {
    const std::vector<double> frequencies = frequenciesOf(16);
    for (const RopeAngle angle : kAngles) {
        for (const uint32_t sequences : {1u, 4u}) {
            RopeAddDescription d = {};
            d.batch = sequences;
            d.tokens = 70;
            d.dim = 16;
            d.angle = angle;
            d.frequencies = {frequencies.data(), 8, 0, nullptr, 1};
            d.positions.kind = ROPE_POSITIONS_COUNTED;
            RopeLimits limits = device().limits();
            limits.threads = 16384;
            RopePlan plan;
            ASSERT_EQ(ropePlanAdd(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
            EXPECT_EQ(rope::passAt(plan, 0).constants[ROPE_ID_SHARES], sequences != 1);
            for (const std::vector<uint32_t>& words : wrongWords(frequencies, angle)) {
                gpu::Slots slots;
                slots.set(ROPE_SLOT_FREQUENCIES, words);
                slots.set(ROPE_SLOT_X, sample::values(sequences * d.tokens * 16, 5));
                expectNan(run(plan, slots).get<float>(ROPE_SLOT_X), "sums");
            }
        }
    }
}

ROPE_ON_EVERY_DEVICE(Marks);

} // namespace
