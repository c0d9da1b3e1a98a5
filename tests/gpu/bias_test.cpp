// Biases on scores: on every device the CPU's bits, the reference and the formulas.
#include "support/buckets.hpp"
#include "support/combinations.hpp"
#include "support/reach.hpp"
#include "support/rotation.hpp"
#include "support/sample.hpp"

#include "plan/encodings/bias_resolve.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace {

using buckets::exactBuckets;
using buckets::kFar;
using buckets::kShapes;
using buckets::Shape;
using combinations::choiceIf;
using sample::Random;

struct Inputs {
    gpu::Slots slots;
    std::vector<uint8_t> positions;
};

using Positions = std::vector<int64_t>;

Inputs makeInputs(const RopeBiasDescription& d, const rope::ResolvedBias& bias, const RopePlan& plan,
                  const Positions& positions, Random* random) {
    Inputs inputs;
    inputs.positions = rotation::makePositions(bias.d, random);
    if (!positions.empty()) std::memcpy(inputs.positions.data(), positions.data(), positions.size() * 8);
    inputs.slots.bytes[ROPE_SLOT_POSITIONS] = inputs.positions;
    inputs.slots.bytes[ROPE_SLOT_POSITIONS].resize(plan.bytes[ROPE_SLOT_POSITIONS]);
    inputs.slots.bytes[ROPE_SLOT_ROWS] =
        sample::tensor(bias.filled.rows.element, plan.bytes[ROPE_SLOT_ROWS], random->next());
    inputs.slots.bytes[ROPE_SLOT_X] =
        sample::tensor(bias.d.element, (plan.bytes[ROPE_SLOT_X] + 3) / 4 * 4, random->next());
    inputs.slots.bytes[ROPE_SLOT_X].resize(plan.bytes[ROPE_SLOT_X]);
    if (d.kind == ROPE_BIAS_T5) {
        std::vector<uint8_t>& words = inputs.slots.bytes[ROPE_SLOT_PARAMETERS];
        words.resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
        EXPECT_EQ(ropeWriteBuckets(&d, words.data(), nullptr), ROPE_SUCCESS);
    }
    return inputs;
}

// One rounding of the sum, and of a product before it: half an ulp of each magnitude; then that of what is stored.
testing::AssertionResult checkReference(const rope::ResolvedBias& bias, const std::vector<double>& reference,
                                        const std::vector<uint8_t>& got, const std::vector<uint8_t>& before) {
    const RopeElement element = bias.d.element;
    std::vector<float> values(reference.size()), scores(reference.size());
    ropeConvertElements(got.data(), element, values.data(), ROPE_ELEMENT_F32, values.size());
    ropeConvertElements(before.data(), element, scores.data(), ROPE_ELEMENT_F32, scores.size());
    const double stored = element == ROPE_ELEMENT_F16 ? 0x1p-11 : element == ROPE_ELEMENT_BF16 ? 0x1p-8 : 0;
    for (size_t i = 0; i < reference.size(); ++i) {
        if (reference[i] == -HUGE_VAL && values[i] == -HUGE_VALF) continue;
        const double large = element == ROPE_ELEMENT_F16 && std::fabs(reference[i]) > 65503 ? HUGE_VAL : 0;
        const double magnitude = std::fabs(scores[i]) + std::fabs(reference[i] - scores[i]);
        if (std::fabs(values[i] - reference[i]) > magnitude * (3 * 0x1p-24 + stored) * (1 + 0x1p-20) + 0x1p-25 + large)
            return testing::AssertionFailure() << i << " is " << values[i] << ", not " << reference[i];
    }
    return testing::AssertionSuccess();
}

testing::AssertionResult check(rope::Device* device, const RopeBiasDescription& d, uint64_t seed,
                               const RopeLimits& limits, const Positions& positions = {}) {
    Random random(seed);
    rope::ResolvedBias bias;
    RopeReason reason;
    RopePlan plan;
    if (rope::resolveBias(d, &bias, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    if (ropePlanBias(&d, &limits, &plan) != ROPE_SUCCESS) {
        const bool odd = (limits.enabled & ROPE_ENABLED_STORAGE_16) == 0 && std::strstr(plan.reason.text, "odd offset");
        return odd ? testing::AssertionSuccess() : testing::AssertionFailure() << plan.reason.text;
    }
    const Inputs inputs = makeInputs(d, bias, plan, positions, &random);
    gpu::Slots after = inputs.slots;
    const testing::AssertionResult ran = gpu::run(device, plan, &after);
    if (!ran) return ran;
    std::vector<uint8_t> wanted = inputs.slots.bytes[ROPE_SLOT_X];
    std::vector<double> reference(wanted.size() / ropeElementBytes(bias.d.element));
    std::vector<float> untouched(reference.size()); // what lies between rows
    ropeConvertElements(wanted.data(), bias.d.element, untouched.data(), ROPE_ELEMENT_F32, untouched.size());
    reference.assign(untouched.begin(), untouched.end());
    RopeHostBias host = {inputs.positions.data(), inputs.slots.bytes[ROPE_SLOT_ROWS].data(), wanted.data(),
                         reference.data(), wanted.data()};
    if (ropeHostRunBias(&d, &host, &reason) != ROPE_SUCCESS) return testing::AssertionFailure() << reason.text;
    const std::string difference = rotation::firstDifference(after.bytes[ROPE_SLOT_X], wanted);
    if (!difference.empty()) return testing::AssertionFailure() << difference;
    const std::vector<uint8_t> zeros(wanted.size());
    return checkReference(bias, reference, wanted, d.write_only != 0 ? zeros : inputs.slots.bytes[ROPE_SLOT_X]);
}

RopeLayout layoutOf(const RopeBiasDescription& d, Random* random) {
    RopeLayout x = {};
    if (random->below(2) == 0) return x;
    const uint64_t step = 1ull << random->below(3);
    const bool by_query = random->below(2) == 0; // [batch][queries][heads][keys]
    const uint64_t row = (d.keys + step * (1 + random->below(3)) - 1) / step * step;
    x.offset = step * random->below(5);
    x.token_stride = by_query ? row * d.heads : row;
    x.head_stride = by_query ? row : row * d.queries;
    x.batch_stride = row * d.heads * d.queries + step * random->below(3);
    return x;
}

RopeBiasDescription draw(uint64_t seed) {
    Random random(seed * 104729 + 11);
    RopeBiasDescription d = {};
    d.kind = static_cast<RopeBiasKind>(random.below(3));
    d.write_only = random.below(3) == 0;
    d.batch = d.write_only != 0 ? 1 : 1 + random.below(3);
    d.heads = 1 + random.below(4);
    d.queries = random.below(3) == 0 ? 256 + random.below(40) : 1 + random.below(60);
    d.keys = 1 + random.below(random.below(4) == 0 ? 300 : 50);
    if (random.below(2) == 0) d.keys = (d.keys + 3) & ~3u;
    d.bidirectional = random.below(2);
    d.causal = random.below(2);
    if (random.below(2) == 0) {
        const Shape& shape = kShapes[random.below(13)];
        d.buckets = shape.buckets;
        d.max_distance = shape.max_distance;
        d.bidirectional = shape.bidirectional;
    }
    d.least = -static_cast<int32_t>(random.below(20));
    d.most = d.least + static_cast<int32_t>(random.below(40));
    d.first_key = static_cast<int32_t>(random.below(7)) - 3;
    d.element = static_cast<RopeElement>(random.below(4));
    d.positions.kind = static_cast<RopePositionKind>(random.below(3));
    d.positions.element = static_cast<RopePositionElement>(random.below(2));
    d.positions.first = static_cast<int32_t>(random.below(100)) - 20;
    d.positions.offset = random.below(3);
    d.positions.same_for_all_sequences = random.below(2);
    d.rows.element = static_cast<RopeElement>(random.below(4));
    d.rows.offset = random.below(3);
    if (random.below(2) == 0) { // [heads][rows]
        d.rows.row_stride = 1;
        d.rows.pair_stride = 1100;
    }
    d.x = layoutOf(d, &random);
    return d;
}

// The choices of a draw, each a small number; those that mean nothing in it are none.
combinations::Choices choicesOf(uint64_t seed) {
    const RopeBiasDescription d = draw(seed);
    const bool counted = d.positions.kind == ROPE_POSITIONS_COUNTED, t5 = d.kind == ROPE_BIAS_T5;
    return {choiceIf(true, d.kind),
            choiceIf(true, d.write_only),
            choiceIf(d.write_only == 0, d.batch > 1),
            choiceIf(true, d.queries > 255),
            choiceIf(true, d.keys % 4 == 0),
            choiceIf(d.kind != ROPE_BIAS_CLIPPED, d.bidirectional),
            choiceIf(true, d.causal),
            choiceIf(t5, d.buckets != 0),
            choiceIf(true, d.element),
            choiceIf(true, d.positions.kind),
            choiceIf(!counted, d.positions.element),
            choiceIf(!counted, d.positions.same_for_all_sequences),
            choiceIf(true, d.rows.element),
            choiceIf(true, d.rows.row_stride),
            choiceIf(true, d.x.token_stride != 0),
            choiceIf(true, seed % 2)};
}

class Bias : public gpu::OnDevice {};

TEST_P(Bias, HasTheCpusBitsOverAllItsChoices) {
    uint32_t taken = 0;
    for (const uint64_t seed : share(combinations::draws(240, strength() - 1, choicesOf))) {
        if (++taken % 120 == 0) reopenDevice();
        RopeLimits limits = device().limits();
        if (seed % 2 != 0) limits.threads = 16384; // as a GPU cuts it
        ASSERT_TRUE(check(&device(), draw(seed), seed, limits)) << "draw " << seed;
    }
}

// Positions of which some follow the last, whose row is then not found anew.
TEST_P(Bias, HasTheCpusBitsWherePositionsFollowAndWhereNot) {
    RopeBiasDescription d = {};
    d.batch = 2;
    d.heads = 3;
    d.queries = 150;
    d.least = -16;
    d.most = 15;
    d.positions.element = ROPE_POSITION_INT64;
    Positions positions;
    Random random(3);
    while (positions.size() < d.batch * d.queries) {
        const int64_t last = positions.empty() ? 0 : positions.back();
        const int64_t others[] = {last, last - 1, INT32_MAX - 3ll, last + (1ll << 32) + 1, random.below(100)};
        positions.push_back(random.below(6) != 0 ? last + 1 : others[random.below(5)]);
    }
    RopeLimits limits = device().limits();
    for (const uint32_t threads : {1u, 16384u}) {
        limits.threads = threads;
        for (const RopeBiasKind kind : {ROPE_BIAS_T5, ROPE_BIAS_CLIPPED, ROPE_BIAS_ALIBI}) {
            for (const uint32_t keys : {1u, 37u, 64u, 130u}) {
                d.kind = kind;
                d.keys = keys;
                EXPECT_TRUE(check(&device(), d, keys, limits, positions)) << kind << ", " << keys << " keys";
            }
        }
    }
}

TEST_P(Bias, IsSplitIntoPartsOfTheSameBits) {
    RopeBiasDescription d = {};
    d.kind = ROPE_BIAS_ALIBI;
    d.batch = 2;
    d.heads = 3;
    d.queries = 301;
    d.keys = 64;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    RopeLimits limits = device().limits();
    for (const uint64_t range : {100000u, 9000u}) { // by heads, then by queries too
        limits.storage_range = range;
        RopePlan plan;
        ASSERT_EQ(ropePlanBias(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        EXPECT_GE(ropeDispatchCount(&plan), range > 10000 ? 6u : 54u);
        EXPECT_TRUE(check(&device(), d, 5, limits));
    }
}

// Values that name their buckets come out where the formula says, at every distance up to 2^20 on either side.
TEST_P(Bias, OfT5TakesTheFormulasBucketAtEveryDistanceTo2To20) {
    for (const Shape& s : kShapes) {
        RopeBiasDescription d = {};
        d.write_only = d.heads = d.queries = 1;
        d.keys = 2 * kFar + 1;
        d.buckets = s.buckets;
        d.max_distance = s.max_distance;
        d.bidirectional = s.bidirectional;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.positions.first = kFar;
        RopePlan plan;
        ASSERT_EQ(ropePlanBias(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots slots;
        std::vector<float> values(s.buckets);
        for (uint32_t b = 0; b < s.buckets; ++b) values[b] = static_cast<float>(b);
        slots.set(ROPE_SLOT_ROWS, values);
        slots.bytes[ROPE_SLOT_PARAMETERS].resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
        ASSERT_EQ(ropeWriteBuckets(&d, slots.bytes[ROPE_SLOT_PARAMETERS].data(), nullptr), ROPE_SUCCESS);
        slots.bytes[ROPE_SLOT_X].resize(plan.bytes[ROPE_SLOT_X]);
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        const std::vector<float> got = slots.get<float>(ROPE_SLOT_X);
        const std::vector<uint32_t> wanted = exactBuckets(s);
        const uint32_t side = s.bidirectional != 0 ? s.buckets / 2 : 0;
        for (uint32_t n = 0; n <= kFar; ++n) {
            ASSERT_EQ(got[kFar - n], static_cast<float>(wanted[n])) << nameOf(s) << ", distance -" << n;
            const uint32_t after = n == 0 || s.bidirectional == 0 ? 0 : side + wanted[n];
            ASSERT_EQ(got[kFar + n], static_cast<float>(after)) << nameOf(s) << ", distance " << n;
        }
    }
}

// Thresholds that nobody wrote are zeros, which every distance has reached.
TEST_P(Bias, OfT5StaysInItsRowsWhateverTheThresholdsAre) {
    for (const uint32_t bidirectional : {0u, 1u}) {
        RopeBiasDescription d = {};
        d.write_only = d.heads = d.queries = 1;
        d.keys = 101;
        d.buckets = 8;
        d.max_distance = 200;
        d.bidirectional = bidirectional;
        d.positions.kind = ROPE_POSITIONS_COUNTED;
        d.positions.first = 50;
        RopePlan plan;
        ASSERT_EQ(ropePlanBias(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots slots;
        slots.set(ROPE_SLOT_ROWS, std::vector<float>{10, 11, 12, 13, 14, 15, 16, 17});
        slots.bytes[ROPE_SLOT_PARAMETERS].resize(plan.bytes[ROPE_SLOT_PARAMETERS]);
        slots.bytes[ROPE_SLOT_X].resize(plan.bytes[ROPE_SLOT_X]);
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        const std::vector<float> got = slots.get<float>(ROPE_SLOT_X);
        EXPECT_EQ(got[0], bidirectional != 0 ? 13 : 17);
        EXPECT_EQ(got[50], 10);
        EXPECT_EQ(got[100], bidirectional != 0 ? 17 : 10);
    }
}

TEST_P(Bias, OfAlibiIsTheFormulaAndMasksWhatComesAfter) {
    RopeBiasDescription d = {};
    d.kind = ROPE_BIAS_ALIBI;
    d.heads = 2;
    d.queries = 3;
    d.keys = 5;
    d.causal = 1;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.positions.first = 2; // decode
    RopePlan plan;
    ASSERT_EQ(ropePlanBias(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    gpu::Slots slots;
    slots.set(ROPE_SLOT_ROWS, std::vector<float>{0.5f, 0.25f});
    std::vector<float> scores(30, 1);
    scores[3] = HUGE_VALF; // masked all the same
    slots.set(ROPE_SLOT_X, scores);
    ASSERT_TRUE(gpu::run(&device(), plan, &slots));
    const std::vector<float> got = slots.get<float>(ROPE_SLOT_X);
    for (int h = 0; h < 2; ++h) {
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 5; ++j) {
                const float slope = h == 0 ? 0.5f : 0.25f, behind = static_cast<float>(i + 2 - j);
                EXPECT_EQ(got[(h * 3 + i) * 5 + j], behind < 0 ? -HUGE_VALF : 1 - slope * behind) << h << i << j;
            }
        }
    }
}

TEST_P(Bias, OfAQueryWithoutAPositionIsNothing) {
    for (const uint32_t written : {0u, 1u}) {
        RopeBiasDescription d = {};
        d.kind = ROPE_BIAS_ALIBI;
        d.write_only = written;
        d.heads = 1;
        d.queries = 2;
        d.keys = 4;
        d.causal = 1;
        d.positions.element = ROPE_POSITION_INT64;
        RopePlan plan;
        ASSERT_EQ(ropePlanBias(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        gpu::Slots slots;
        slots.set(ROPE_SLOT_POSITIONS, std::vector<int64_t>{1ll << 40, 3});
        slots.set(ROPE_SLOT_ROWS, std::vector<float>{1});
        slots.set(ROPE_SLOT_X, std::vector<float>{-0.0f, 6, 7, 8, 5, 6, 7, 8});
        ASSERT_TRUE(gpu::run(&device(), plan, &slots));
        const std::vector<float> wanted = written != 0 ? std::vector<float>{0, 0, 0, 0, -3, -2, -1, 0}
                                                       : std::vector<float>{-0.0f, 6, 7, 8, 2, 4, 6, 8};
        EXPECT_EQ(std::memcmp(slots.bytes[ROPE_SLOT_X].data(), wanted.data(), 32), 0) << written;
    }
}

ROPE_ON_EVERY_DEVICE(Bias);

// ---- Plans: no device ---------------------------------------------------------------------------------------------

RopeBiasDescription t5() {
    RopeBiasDescription d = {};
    d.batch = 2;
    d.heads = 12;
    d.queries = d.keys = 512;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    return d;
}

void expectRefused(RopeResult wanted, const std::string& piece,
                   const std::function<void(RopeBiasDescription*)>& spoil) {
    RopeBiasDescription d = t5();
    spoil(&d);
    RopePlan plan;
    EXPECT_EQ(ropePlanBias(&d, nullptr, &plan), wanted) << piece;
    EXPECT_NE(std::string(plan.reason.text).find(piece), std::string::npos) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 0u);
}

TEST(PlanBias, OfT5IsOneDispatchWithoutASurplusByte) {
    const RopeBiasDescription d = t5();
    RopePlan plan;
    ASSERT_EQ(ropePlanBias(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropeDispatchCount(&plan), 1u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_X], 2u * 12 * 512 * 512 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_ROWS], 32u * 12 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_PARAMETERS], 16u * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 0u);
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    EXPECT_STREQ(dispatch.shader->name, "bias_wide");
    const uint32_t groups[] = {512 / 8, 2, 12 * 2}; // of 8 queries and 256 keys each
    EXPECT_TRUE(std::equal(dispatch.groups, dispatch.groups + 3, groups))
        << dispatch.groups[0] << ", " << dispatch.groups[1] << ", " << dispatch.groups[2];
}

TEST(PlanBias, RefusesWhatContradictsItself) {
    const RopeResult invalid = ROPE_ERROR_INVALID;
    expectRefused(invalid, "kind is 3", [](RopeBiasDescription* d) { d->kind = static_cast<RopeBiasKind>(3); });
    expectRefused(invalid, "heads is 0", [](RopeBiasDescription* d) { d->heads = 0; });
    expectRefused(invalid, "queries is 0", [](RopeBiasDescription* d) { d->queries = 0; });
    expectRefused(invalid, "keys is 4294967295", [](RopeBiasDescription* d) { d->keys = UINT32_MAX; });
    expectRefused(invalid, "write_only with batch 2", [](RopeBiasDescription* d) { d->write_only = 1; });
    expectRefused(invalid, "buckets is 1; it must be from 2 to 1024", [](RopeBiasDescription* d) { d->buckets = 1; });
    expectRefused(invalid, "from 4, as bidirectional, to 1024", [](RopeBiasDescription* d) {
        d->buckets = 3;
        d->bidirectional = 1;
    });
    expectRefused(invalid, "max_distance is 16; it must be more than the 16",
                  [](RopeBiasDescription* d) { d->max_distance = 16; });
    expectRefused(invalid, "at most 1073741823", [](RopeBiasDescription* d) { d->max_distance = 1u << 30; });
    expectRefused(invalid, "least is 1 and most is 0", [](RopeBiasDescription* d) {
        d->kind = ROPE_BIAS_CLIPPED;
        d->least = 1;
    });
    expectRefused(invalid, "least is -2147483648", [](RopeBiasDescription* d) {
        d->kind = ROPE_BIAS_CLIPPED;
        d->least = INT32_MIN;
        d->most = INT32_MAX;
    });
    expectRefused(invalid, "positions of kind 3",
                  [](RopeBiasDescription* d) { d->positions.kind = ROPE_POSITIONS_PACKED; });
    expectRefused(invalid, "element 2", [](RopeBiasDescription* d) {
        d->positions = {};
        d->positions.element = ROPE_POSITION_FLOAT32;
    });
    expectRefused(invalid, "element is 4", [](RopeBiasDescription* d) { d->element = ROPE_ELEMENT_I8; });
    expectRefused(invalid, "rows.element is 5", [](RopeBiasDescription* d) { d->rows.element = ROPE_ELEMENT_Q8_0; });
    expectRefused(invalid, "odd offset", [](RopeBiasDescription* d) {
        d->element = ROPE_ELEMENT_F16;
        d->keys = 511;
    });
    expectRefused(invalid, "x.token_stride is 100", [](RopeBiasDescription* d) { d->x = {0, 1 << 20, 100, 51200}; });
    expectRefused(ROPE_ERROR_TOO_LARGE, "64 bits",
                  [](RopeBiasDescription* d) { d->heads = d->queries = d->keys = 1u << 30; });
}

// Any description is refused or stays inside the sizes that it asks for, and takes every query of every head once.
TEST(PlanBias, OfAnyDescriptionStaysInsideItsSlots) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.enabled = ROPE_ENABLED_STORAGE_16;
    uint32_t planned = 0;
    for (uint64_t seed = 0; seed < 4000; ++seed) {
        RopeBiasDescription d = draw(seed);
        Random random(seed);
        if (seed % 3 == 0) {
            d.queries *= 1u << random.below(12);
            d.x = {};
            limits.storage_range = 1u << (14 + random.below(13));
        }
        RopePlan plan;
        rope::ResolvedBias bias;
        if (ropePlanBias(&d, &limits, &plan) != ROPE_SUCCESS) continue;
        ASSERT_EQ(rope::resolveBias(d, &bias, nullptr), ROPE_SUCCESS);
        ++planned;
        uint64_t taken = 0;
        const uint32_t count = ropeDispatchCount(&plan);
        for (uint32_t i = 0; i < count && i < 3000; ++i) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, i, &dispatch);
            rope::RopeBiasPush push;
            std::memcpy(&push, dispatch.push, sizeof push);
            const rope::PlanPass& pass = rope::passAt(plan, 0);
            const uint64_t threads = dispatch.constants[ROPE_ID_GROUP_SIZE], lanes = 1u << push.lane_bits;
            const uint64_t queries = threads / lanes * dispatch.constants[ROPE_ID_QUERIES];
            const uint64_t run = 4 * dispatch.constants[ROPE_ID_QUADS];
            ASSERT_LE(threads, limits.group_size);
            ASSERT_LE(lanes, threads);
            ASSERT_LE(dispatch.groups[0], limits.group_count[0]);
            ASSERT_EQ(dispatch.groups[0], (push.tokens + queries - 1) / queries);
            ASSERT_EQ(push.lane_parts, (push.keys + lanes * run - 1) / (lanes * run));
            ASSERT_EQ(dispatch.groups[2], push.lane_parts * push.heads);
            for (const RopeBinding& binding : dispatch.bindings) {
                ASSERT_LE(binding.range, limits.storage_range);
                ASSERT_LE(binding.offset + binding.range, plan.bytes[binding.slot]);
            }
            const reach::Last last = {dispatch.groups[1] - 1ull, push.tokens - 1ull, push.heads - 1ull};
            rope::RopePush shared;
            std::memcpy(&shared, dispatch.push, sizeof shared);
            reach::checkPositions(dispatch, shared, last);
            const rope::RopePlace place = reach::inElements(pass.address_unit, push.destination);
            reach::touched(dispatch.bindings[ROPE_BINDING_DESTINATION], place, last, place.head, d.keys,
                           bias.d.element);
            const uint64_t value =
                push.rows.offset + (push.heads - 1ull) * push.rows.head + (bias.row_count - 1ull) * push.row_stride;
            ASSERT_LE((value + 1) * ropeElementBytes(bias.filled.rows.element),
                      dispatch.bindings[ROPE_BINDING_COS_SIN].range);
            taken += uint64_t{dispatch.groups[1]} * push.tokens * push.heads;
        }
        if (count <= 3000) {
            EXPECT_EQ(taken, uint64_t{d.batch} * d.queries * d.heads) << seed;
        }
    }
    EXPECT_GT(planned, 2500u);
}

} // namespace
