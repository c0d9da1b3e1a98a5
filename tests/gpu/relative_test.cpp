// Shaw's relative vectors: on every device with the CPU's bits, near the reference, and as the formulas have them.
#include "support/reach.hpp"
#include "support/rotation.hpp"
#include "support/sample.hpp"

#include "plan/relative.h"

#include <cmath>
#include <cstring>
#include <functional>

namespace {

using sample::Random;

RopeRelativeDescription draw(uint64_t seed) {
    Random random(seed * 15485863 + 7);
    RopeRelativeDescription d = {};
    d.side = static_cast<RopeRelativeSide>(random.below(2));
    d.batch = 1 + random.below(2);
    d.heads = 1 + random.below(3);
    d.queries = 1 + random.below(9);
    d.keys = 2 * (1 + random.below(40));
    d.dim = 2 * (1 + random.below(12));
    d.least = -static_cast<int32_t>(random.below(9));
    d.most = d.least + static_cast<int32_t>(random.below(16));
    d.first_key = static_cast<int32_t>(random.below(5)) - 2;
    d.scale = random.below(2) == 0 ? 0 : 1 / std::sqrt(static_cast<float>(d.dim));
    d.element_q = static_cast<RopeElement>(random.below(4));
    d.element_x = static_cast<RopeElement>(random.below(4));
    d.positions.kind = static_cast<RopePositionKind>(random.below(3));
    d.positions.element = static_cast<RopePositionElement>(random.below(2));
    d.positions.first = static_cast<int32_t>(random.below(30)) - 5;
    d.rows.element = static_cast<RopeElement>(random.below(4));
    d.rows.offset = random.below(3);
    d.rows.pair_stride = random.below(2) == 0 ? 0 : 16 * d.dim + 1;
    const bool narrow = d.element_q > ROPE_ELEMENT_F32 || d.element_x > ROPE_ELEMENT_F32;
    if (!narrow && random.below(2) == 0) { // float32 may lie anywhere
        d.keys |= 1;
        d.dim |= 1;
    }
    if (random.below(2) == 0) { // [batch][queries][heads]
        const uint64_t row = (d.side == ROPE_RELATIVE_KEYS ? d.keys : d.dim) + 2;
        d.x = {2, row * d.heads * d.queries, row * d.heads, row};
    }
    return d;
}

// Sums of so many terms in float32 are within 2^-24 of all magnitudes together for each of their roundings.
double allowed(const RopeRelativeDescription& d, RopeElement element) {
    const double terms = d.side == ROPE_RELATIVE_KEYS ? d.dim : d.keys;
    const double magnitude = 4 * terms * std::fmax(1.0, d.scale) + 2; // values are less than 2
    const double stored = element == ROPE_ELEMENT_F16 ? 0x1p-11 : element == ROPE_ELEMENT_BF16 ? 0x1p-8 : 0;
    return magnitude * ((terms + 4) * 0x1p-24 + stored) + 0x1p-25;
}

testing::AssertionResult check(rope::Device* device, const RopeRelativeDescription& d, uint64_t seed,
                               const RopeLimits& limits) {
    Random random(seed);
    rope::ResolvedRelative relative;
    RopePlan plan;
    RopeReason reason;
    if (rope::resolveRelative(d, &relative, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    if (ropePlanRelative(&d, &limits, &plan) != ROPE_SUCCESS) return testing::AssertionFailure() << plan.reason.text;
    gpu::Slots slots;
    const std::vector<uint8_t> positions = rotation::makePositions(relative.d, &random);
    slots.bytes[ROPE_SLOT_POSITIONS] = positions;
    slots.bytes[ROPE_SLOT_POSITIONS].resize(plan.bytes[ROPE_SLOT_POSITIONS]);
    const RopeRelativeDescription& g = relative.filled;
    slots.bytes[ROPE_SLOT_ROWS] = sample::tensor(g.rows.element, plan.bytes[ROPE_SLOT_ROWS], random.next());
    slots.bytes[ROPE_SLOT_Q] = sample::tensor(g.element_q, plan.bytes[ROPE_SLOT_Q], random.next());
    slots.bytes[ROPE_SLOT_X] = sample::tensor(g.element_x, plan.bytes[ROPE_SLOT_X], random.next());
    gpu::Slots after = slots;
    const testing::AssertionResult ran = gpu::run(device, plan, &after);
    if (!ran) return ran;
    std::vector<uint8_t> wanted = slots.bytes[ROPE_SLOT_X];
    std::vector<float> values(wanted.size() / ropeElementBytes(g.element_x));
    ropeConvertElements(wanted.data(), g.element_x, values.data(), ROPE_ELEMENT_F32, values.size());
    std::vector<double> reference(values.begin(), values.end()); // what lies between rows
    RopeHostRelative host = {positions.data(),
                             slots.bytes[ROPE_SLOT_ROWS].data(),
                             slots.bytes[ROPE_SLOT_Q].data(),
                             slots.bytes[ROPE_SLOT_X].data(),
                             reference.data(),
                             wanted.data()};
    if (ropeHostRunRelative(&d, &host, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    const std::string difference = rotation::firstDifference(after.bytes[ROPE_SLOT_X], wanted);
    if (!difference.empty()) return testing::AssertionFailure() << difference;
    ropeConvertElements(wanted.data(), g.element_x, values.data(), ROPE_ELEMENT_F32, values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        if (!(std::fabs(values[i] - reference[i]) <= allowed(g, g.element_x)))
            return testing::AssertionFailure() << i << " is " << values[i] << ", not " << reference[i];
    }
    return testing::AssertionSuccess();
}

class Relative : public gpu::OnDevice {};

TEST_P(Relative, HasTheCpusBitsOverAllItsChoices) {
    for (uint64_t seed = 0; seed < 120; ++seed)
        ASSERT_TRUE(check(&device(), draw(seed), seed, device().limits())) << "draw " << seed;
}

TEST_P(Relative, IsSplitIntoPartsOfTheSameBits) {
    for (const RopeRelativeSide side : {ROPE_RELATIVE_KEYS, ROPE_RELATIVE_VALUES}) {
        RopeRelativeDescription d = {};
        d.side = side;
        d.batch = 2;
        d.heads = 3;
        d.queries = 50;
        d.keys = 64;
        d.dim = 16;
        d.least = -4;
        d.most = 4;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        RopeLimits limits = device().limits();
        limits.storage_range = 4000;
        RopePlan plan;
        ASSERT_EQ(ropePlanRelative(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_GT(ropeDispatchCount(&plan), 10u);
        EXPECT_TRUE(check(&device(), d, 3, limits));
    }
}

// The formulas, written out for small whole numbers, which float32 holds exactly.
struct Small {
    static constexpr int kQueries = 4, kKeys = 6, kDim = 3, kClip = 2;
    std::vector<float> rows, q, weights, scores, output;
    Small() {
        for (int i = 0; i < (2 * kClip + 1) * kDim; ++i) rows.push_back(static_cast<float>(i * 7 % 11 - 5));
        for (int i = 0; i < kQueries * kDim; ++i) q.push_back(static_cast<float>(i * 5 % 7 - 3));
        for (int i = 0; i < kQueries * kKeys; ++i) weights.push_back(static_cast<float>(i * 3 % 5));
        for (int i = 0; i < kQueries * kKeys; ++i) scores.push_back(static_cast<float>(i));
        for (int i = 0; i < kQueries * kDim; ++i) output.push_back(static_cast<float>(100 + i));
    }
    const float* row(int i, int j) const { return &rows[(std::max(-kClip, std::min(kClip, j - i)) + kClip) * kDim]; }
    RopeRelativeDescription describe(RopeRelativeSide side) const {
        RopeRelativeDescription d = {};
        d.side = side;
        d.heads = 1;
        d.queries = kQueries;
        d.keys = kKeys;
        d.dim = kDim;
        d.least = -kClip;
        d.most = kClip;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        return d;
    }
};

std::vector<float> runSmall(rope::Device* device, const Small& s, RopeRelativeSide side) {
    const bool keys = side == ROPE_RELATIVE_KEYS;
    const RopeRelativeDescription d = s.describe(side);
    RopePlan plan;
    EXPECT_EQ(ropePlanRelative(&d, &device->limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots slots;
    slots.set(ROPE_SLOT_ROWS, s.rows);
    slots.set(ROPE_SLOT_Q, keys ? s.q : s.weights);
    slots.set(ROPE_SLOT_X, keys ? s.scores : s.output);
    EXPECT_TRUE(gpu::run(device, plan, &slots));
    return slots.get<float>(ROPE_SLOT_X);
}

TEST_P(Relative, AreTheFormulas) {
    const Small s;
    const std::vector<float> scores = runSmall(&device(), s, ROPE_RELATIVE_KEYS);
    const std::vector<float> output = runSmall(&device(), s, ROPE_RELATIVE_VALUES);
    for (int i = 0; i < Small::kQueries; ++i) {
        for (int j = 0; j < Small::kKeys; ++j) {
            float wanted = s.scores[i * Small::kKeys + j];
            for (int e = 0; e < Small::kDim; ++e) wanted += s.q[i * Small::kDim + e] * s.row(i, j)[e];
            EXPECT_EQ(scores[i * Small::kKeys + j], wanted) << i << ", " << j;
        }
        for (int e = 0; e < Small::kDim; ++e) {
            float wanted = s.output[i * Small::kDim + e];
            for (int j = 0; j < Small::kKeys; ++j) wanted += s.weights[i * Small::kKeys + j] * s.row(i, j)[e];
            EXPECT_EQ(output[i * Small::kDim + e], wanted) << i << ", " << e;
        }
    }
}

ROPE_ON_EVERY_DEVICE(Relative);

// ---- Plans: no device ---------------------------------------------------------------------------------------------

void expectRefused(RopeResult wanted, const std::string& piece,
                   const std::function<void(RopeRelativeDescription*)>& spoil) {
    RopeRelativeDescription d = Small().describe(ROPE_RELATIVE_KEYS);
    spoil(&d);
    RopePlan plan;
    EXPECT_EQ(ropePlanRelative(&d, nullptr, &plan), wanted) << piece;
    EXPECT_NE(std::string(plan.reason.text).find(piece), std::string::npos) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 0u);
}

TEST(PlanRelative, RefusesWhatContradictsItself) {
    const RopeResult invalid = ROPE_ERROR_INVALID;
    expectRefused(invalid, "side is 2", [](RopeRelativeDescription* d) { d->side = static_cast<RopeRelativeSide>(2); });
    expectRefused(invalid, "heads is 0", [](RopeRelativeDescription* d) { d->heads = 0; });
    expectRefused(invalid, "dim is 0", [](RopeRelativeDescription* d) { d->dim = 0; });
    expectRefused(invalid, "keys is 0", [](RopeRelativeDescription* d) { d->keys = 0; });
    expectRefused(invalid, "least is 3 and most is 2", [](RopeRelativeDescription* d) { d->least = 3; });
    expectRefused(invalid, "scale is -2", [](RopeRelativeDescription* d) { d->scale = -2; });
    expectRefused(invalid, "element_x is 4", [](RopeRelativeDescription* d) { d->element_x = ROPE_ELEMENT_I8; });
    expectRefused(invalid, "positions of kind 4",
                  [](RopeRelativeDescription* d) { d->positions.kind = ROPE_POSITIONS_PACKED_STARTS; });
    expectRefused(invalid, "q has 16-bit elements at an odd offset",
                  [](RopeRelativeDescription* d) { d->element_q = ROPE_ELEMENT_F16; });
    expectRefused(invalid, "x has 16-bit elements at an odd offset", [](RopeRelativeDescription* d) {
        d->element_x = ROPE_ELEMENT_BF16;
        d->x = {1, 0, 6, 0};
    });
    expectRefused(invalid, "x.token_stride is 5", [](RopeRelativeDescription* d) { d->x = {0, 0, 5, 0}; });
}

// Any description is refused or stays inside the sizes that it asks for, and takes every query of every head once.
TEST(PlanRelative, OfAnyDescriptionStaysInsideItsSlots) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    uint32_t planned = 0;
    for (uint64_t seed = 0; seed < 3000; ++seed) {
        RopeRelativeDescription d = draw(seed);
        Random random(seed);
        if (seed % 2 == 0) {
            d.queries *= 1u << random.below(12);
            d.x = {};
            limits.storage_range = 1u << (13 + random.below(14));
        }
        RopePlan plan;
        rope::ResolvedRelative r;
        if (ropePlanRelative(&d, &limits, &plan) != ROPE_SUCCESS) continue;
        ASSERT_EQ(rope::resolveRelative(d, &r, nullptr), ROPE_SUCCESS);
        ++planned;
        uint64_t taken = 0;
        const uint32_t count = ropeDispatchCount(&plan);
        for (uint32_t i = 0; i < count && i < 3000; ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, i, &dispatch);
            rope::RopePush push;
            std::memcpy(&push, dispatch.push, sizeof push);
            const reach::Last last = {dispatch.groups[1] - 1ull, push.tokens - 1ull, push.heads - 1ull};
            reach::checkPositions(dispatch, push, last);
            reach::touched(dispatch.bindings[ROPE_BINDING_SOURCE], push.source, last, push.source.head, r.q_count,
                           r.filled.element_q);
            reach::touched(dispatch.bindings[ROPE_BINDING_DESTINATION], push.destination, last, push.destination.head,
                           r.x_count, r.filled.element_x);
            const uint64_t value =
                push.rows.offset + last.head * push.rows.head + (r.row_count - 1ull) * push.ROPE_ROW_STRIDE + d.dim - 1;
            ASSERT_LE((value + 1) * ropeElementBytes(r.filled.rows.element),
                      dispatch.bindings[ROPE_BINDING_COS_SIN].range);
            taken += uint64_t{dispatch.groups[1]} * push.tokens * push.heads;
        }
        if (count <= 3000) {
            EXPECT_EQ(taken, uint64_t{d.batch} * d.queries * d.heads) << seed;
        }
    }
    EXPECT_GT(planned, 1500u);
}

} // namespace
