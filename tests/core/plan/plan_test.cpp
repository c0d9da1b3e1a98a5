// These tests hold what plans ask for and say, and which rounding a self-test shows. They need no device.
#include "plan/pass.h"
#include "support/llama.hpp"

#include "shaders/interface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using sample::llama;
using sample::table;

namespace {

TEST(Plan, OfLlama3PrefillIsOneDispatchWithoutASurplusByte) {
    const RopeRotateDescription d = llama();
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q], 4096u * 32 * 128 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_K], 4096u * 8 * 128 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 4096u * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_FREQUENCIES], ropeFrequencyBytes(64));
    EXPECT_EQ(plan.bytes[ROPE_SLOT_ROWS], 0u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q_OUT], 0u);
    ASSERT_EQ(ropeDispatchCount(&plan), 1u);
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    EXPECT_STREQ(dispatch.shader->name, "rotate_wide");
    EXPECT_EQ(std::vector<uint32_t>(dispatch.groups, dispatch.groups + 3), (std::vector<uint32_t>{4096, 1, 40 / 8}))
        << "a token a group, eight heads of it";
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_SOURCE].range, 0u) << "in place";
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_DESTINATION].slot, ROPE_SLOT_Q);
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_DESTINATION_K].slot, ROPE_SLOT_K);
}

// The bindings of a rotation of one tensor.
std::vector<uint32_t> boundBy(const RopeRotateDescription& d, uint32_t storage_buffers) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = storage_buffers;
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    std::vector<uint32_t> bound;
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        if (dispatch.bindings[i].range != 0) bound.push_back(i);
    }
    return bound;
}

TEST(Plan, BindsOnlyWhatAPassReadsOrWrites) {
    using Numbers = std::vector<uint32_t>;
    RopeRotateDescription d = llama();
    d.k.heads = 0;
    EXPECT_EQ(boundBy(d, 3), Numbers({ROPE_BINDING_POSITIONS, ROPE_BINDING_COS_SIN, ROPE_BINDING_DESTINATION}));
    d.out_of_place = 1;
    EXPECT_EQ(boundBy(d, 4),
              Numbers({ROPE_BINDING_POSITIONS, ROPE_BINDING_COS_SIN, ROPE_BINDING_SOURCE, ROPE_BINDING_DESTINATION}));
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    EXPECT_EQ(boundBy(d, 3), Numbers({ROPE_BINDING_COS_SIN, ROPE_BINDING_SOURCE, ROPE_BINDING_DESTINATION}));
    d.out_of_place = 0;
    EXPECT_EQ(boundBy(d, 2), Numbers({ROPE_BINDING_COS_SIN, ROPE_BINDING_DESTINATION}));
}

TEST(Plan, RefusesMoreStorageBuffersThanTheLimitsHave) {
    RopeRotateDescription d = llama();
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_buffers = 2;
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text, "rotate_wide takes 3 storage buffers, and limits.storage_buffers is 2; "
                                   "ropeLimitsFromDevice fills it in");
    EXPECT_EQ(plan.pass_count, 0u);
}

TEST(Plan, HashesWhatAPipelineIsMadeOf) {
    RopeRotateDescription d = llama();
    RopePlan plan, other;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    d.tokens = 4095;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &other), ROPE_SUCCESS) << other.reason.text;
    EXPECT_EQ(plan.passes[0].pipeline_hash, other.passes[0].pipeline_hash) << "one pipeline serves both";
    d.rotation.operation = ROPE_OPERATION_TRANSPOSE;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &other), ROPE_SUCCESS) << other.reason.text;
    EXPECT_NE(plan.passes[0].pipeline_hash, other.passes[0].pipeline_hash) << "a constant is another";
}

// An array of axes has as many entries as the caller says, whatever the pairs are.
TEST(Plan, RefusesAxesOfAnotherCount) {
    const uint8_t axes[4] = {0, 1, 0, 1};
    for (const RopeSource source : {ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
        RopeRotateDescription d = llama();
        d.rotation.source = source;
        d.rotation.rows.count = 100;
        d.rotation.frequencies = {nullptr, 4, 1, axes, 1};
        RopePlan plan;
        EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_INVALID);
        EXPECT_STREQ(plan.reason.text, "frequencies.count is 4; a rotary part of 128 elements has 64 pairs");
        const std::vector<uint8_t> all(64, 0); // one for each pair
        for (const RopeFrequencies& taken :
             {RopeFrequencies{nullptr, 4, 1, nullptr, 1}, RopeFrequencies{nullptr, 0, 1, all.data(), 1},
              RopeFrequencies{nullptr, 64, 1, all.data(), 1}}) {
            d.rotation.frequencies = taken;
            EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
        }
    }
}

TEST(Plan, KeepsGroupsOfTablesAndCountsWithinTheLimit) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.group_size = 16;
    const RopeTableDescription table = sample::table(100);
    RopePlan plan;
    ASSERT_EQ(ropePlanTable(&table, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_LE(plan.passes[0].group_size, 16u);
    RopeRotateDescription d = llama();
    d.positions.element = ROPE_POSITION_INT64;
    d.count_outside = 1;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(plan.pass_count, 2u);
    EXPECT_LE(plan.passes[1].group_size, 16u);
}

TEST(Plan, RefusesBucketsThatAUniformBindingCannotHold) {
    RopeBiasDescription d = {};
    d.kind = ROPE_BIAS_T5;
    d.heads = d.queries = d.keys = 1;
    d.buckets = 32;
    d.max_distance = 128;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    RopePlan plan;
    ASSERT_EQ(ropePlanBias(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    limits.uniform_range = 16;
    EXPECT_EQ(ropePlanBias(&d, &limits, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_STREQ(plan.reason.text, "parameters spans 64 bytes, and a binding 16 at most; give fewer values");
}

// The CPU refuses too what no device takes.
TEST(Plan, AndTheCpuRefuseTheSameTuning) {
    RopeRotateDescription d = llama();
    d.tuning.pairs = 5;
    RopePlan plan;
    RopeHostRotate host = {};
    RopeReason reason;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text, reason.text);
    d.tuning = {0, ROPE_MAX_TUNED_HEADS + 1, 0};
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeHostRunRotate(&d, &host, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text, reason.text);
}

TEST(Plan, TellsATablesBytes) {
    const RopeTableDescription d = table(131072);
    RopePlan plan;
    ASSERT_EQ(ropePlanTable(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_ROWS], 131072u * 128 * 4);
}

TEST(Plan, TellsWhatAxesSetsAndLengthsTakeOfThePositions) {
    static const std::vector<uint8_t> kThree = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
    static const std::vector<double> kTwice(32, 0.5);
    RopeRotateDescription d = llama();
    d.batch = 2;
    d.tokens = 10;
    d.rotation.rotary_dim = 32;
    d.rotation.frequencies = {kTwice.data(), 16, 1, kThree.data(), 2};
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 4u * 2 * 10 * 4) << "three axes and the sets, of two sequences";
    EXPECT_EQ(plan.bytes[ROPE_SLOT_FREQUENCIES], 2u * 16 * 16);
    d.positions.element = ROPE_POSITION_INT64;
    d.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 4u * 2 * 8);
    d.batch = 1;
    d.positions.kind = ROPE_POSITIONS_PACKED_STARTS;
    d.positions.sequences = 5;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], (6u + 6 + 5) * 8) << "lengths, starts and sets";
}

// If every token must turn, the shader has no branch for it, and nothing is counted.
void expectEveryToken(const RopeRotateDescription& d, bool every, bool counts, const char* of) {
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << of << ": " << plan.reason.text;
    const uint32_t passes = d.out_of_place != 0 ? 2 : 1; // of the floor's storage buffers
    for (uint32_t i = 0; i < passes; ++i) EXPECT_EQ(rope::passAt(plan, i).constants[ROPE_ID_EVERY_TOKEN], every) << of;
    EXPECT_EQ(plan.pass_count, passes + counts) << of;
}

TEST(Plan, TellsTheShaderWhereEveryTokenTurns) {
    std::vector<double> of_two_sets(128, 0.5);
    const auto expect = [&](bool every, bool counts, const char* of, void (*change)(RopeRotateDescription*)) {
        RopeRotateDescription d = llama();
        d.count_outside = d.out_of_place = 1;
        change(&d);
        if (d.rotation.frequencies.sets == 2) d.rotation.frequencies.values = of_two_sets.data();
        expectEveryToken(d, every, counts, of);
    };
    using D = RopeRotateDescription;
    expect(true, false, "out_of_place", [](D*) {});
    expect(true, false, "in place", [](D* d) { d->out_of_place = 0; });
    expect(false, false, "the first left out", [](D* d) { d->rotation.skip_first = 1; });
    expect(false, false, "the last left out", [](D* d) { d->rotation.skip_last = 1; });
    expect(false, true, "floats", [](D* d) { d->positions.element = ROPE_POSITION_FLOAT32; });
    expect(false, true, "int64", [](D* d) { d->positions.element = ROPE_POSITION_INT64; });
    expect(true, false, "2^-32ths", [](D* d) { d->positions.element = ROPE_POSITION_FIXED64; });
    expect(false, true, "sets", [](D* d) { d->rotation.frequencies.sets = 2; });
    expect(true, false, "rows", [](D* d) {
        d->positions.element = ROPE_POSITION_FLOAT32; // which are not read
        d->rotation.source = ROPE_SOURCE_ROWS;
    });
    expect(false, true, "a table", [](D* d) {
        d->rotation.source = ROPE_SOURCE_TABLE;
        d->rotation.rows.count = 4100;
    });
    expect(false, false, "packed", [](D* d) { // a token behind the last sequence does not turn
        d->positions.kind = ROPE_POSITIONS_PACKED;
        d->positions.sequences = 2;
    });
    expect(true, false, "a part of the head",
           [](D* d) { d->rotation.rotary_dim = 64, d->rotation.frequencies.count = 32; });
}

TEST(Plan, KnowsCountedPositionsInsideATable) {
    RopeRotateDescription d = llama();
    d.count_outside = 1;
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.first_position = -1;
    d.rotation.rows.count = 4100;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    for (const int first : {-2, -1, 3, 4, INT32_MAX, INT32_MIN}) {
        const bool inside = first == -1 || first == 3; // of 4096 tokens
        d.positions.first = first;
        expectEveryToken(d, inside, !inside, std::to_string(first).c_str());
    }
}

TEST(Plan, IsAValue) {
    const RopeRotateDescription d = llama();
    RopePlan a, b;
    std::memset(&a, 1, sizeof a);
    std::memset(&b, 2, sizeof b);
    ropePlanRotate(&d, nullptr, &a);
    ropePlanRotate(&d, nullptr, &b);
    EXPECT_TRUE(ropePlansEqual(&a, &b));
    RopeRotateDescription other = d;
    other.rotation.operation = ROPE_OPERATION_TRANSPOSE;
    ropePlanRotate(&other, nullptr, &b);
    EXPECT_FALSE(ropePlansEqual(&a, &b));
}

TEST(Plan, PrintsItselfAndItsRefusal) {
    RopeRotateDescription d = llama();
    RopePlan plan;
    ropePlanRotate(&d, nullptr, &plan);
    char text[1024];
    const size_t length = ropePrintPlan(&plan, text, sizeof text);
    EXPECT_EQ(length, std::strlen(text));
    EXPECT_NE(std::string(text).find("rotate_wide: 1 x 4096 x 40"), std::string::npos) << text;
    EXPECT_NE(std::string(text).find("q: 67108864 bytes"), std::string::npos) << text;
    char small[8];
    EXPECT_EQ(ropePrintPlan(&plan, small, sizeof small), length);
    EXPECT_EQ(std::strlen(small), 7u);
    EXPECT_EQ(ropePrintPlan(&plan, nullptr, 0), length);
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_range = 1u << 24; // a quarter of Q
    ropePlanRotate(&d, &limits, &plan);
    ropePrintPlan(&plan, text, sizeof text);
    EXPECT_NE(std::string(text).find(" in 1 x 5 x 1 parts"), std::string::npos) << text;
    d.tokens = 0;
    ropePlanRotate(&d, nullptr, &plan);
    ropePrintPlan(&plan, text, sizeof text);
    EXPECT_EQ(std::string(text).find("refused: tokens is 0"), 0u) << text;
}

// The self-test's operations on the CPU, in each rounding mode; the pairs with no product fused, or their first or
// second.
enum class Fused { kNone, kFirst, kSecond };

float in(int mode, float (*operation)(float, float), float a, float b) {
    volatile float x = a, y = b;
    std::fesetround(mode);
    volatile float result = operation(x, y);
    std::fesetround(FE_TONEAREST);
    return result;
}

float sum(float a, float b) { return a + b; }
float product(float a, float b) { return a * b; }

// a * b + c * d.
float turned(int sum_mode, int product_mode, Fused fused, float a, float b, float c, float d) {
    if (fused == Fused::kFirst) return std::fma(a, b, in(product_mode, product, c, d));
    if (fused == Fused::kSecond) return std::fma(c, d, in(product_mode, product, a, b));
    return in(sum_mode, sum, in(product_mode, product, a, b), in(product_mode, product, c, d));
}

std::vector<uint32_t> selfTest(int sums, int products, Fused fused = Fused::kNone) {
    const float one = 1, tiny = 0x1p-24f, next = 1 + 0x1p-23f, third = 1 + 0x3p-23f, more = 1.5f + 0x1p-23f;
    std::vector<float> values = {in(sums, sum, one, tiny),
                                 in(sums, sum, next, tiny),
                                 in(sums, sum, -one, -tiny),
                                 in(products, product, next, next),
                                 in(products, product, next, more),
                                 in(sums, sum, in(products, product, next, third), -one),
                                 in(sums, sum, one, in(products, product, tiny, third)),
                                 in(products, product, -next, more)};
    const float pairs[4][4] = {
        {next, next, third, next}, {next, -next, third, next}, {next, 0, more, more}, {one, tiny, third, one}};
    for (const auto& [x, y, c, s] : pairs) values.push_back(turned(sums, products, fused, x, c, -y, s));
    for (const auto& [x, y, c, s] : pairs) values.push_back(turned(sums, products, fused, x, s, y, c));
    std::vector<uint32_t> words(ROPE_SELF_TEST_WORDS); // with nothing counted
    EXPECT_EQ(values.size(), 16u);
    std::memcpy(words.data(), values.data(), values.size() * sizeof(float));
    return words;
}

TEST(Plan, ReadsRoundingToNearestFromTheSelfTestsWordsAndNoOtherMode) {
    const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    const std::vector<uint32_t> right = selfTest(FE_TONEAREST, FE_TONEAREST);
    for (const int sum : modes) {
        for (const int product : modes) {
            const bool nearest = sum == FE_TONEAREST && product == FE_TONEAREST;
            std::vector<uint32_t> words = selfTest(sum, product);
            EXPECT_EQ(ropeReadSelfTest(words.data()), nearest ? ROPE_ROUNDING_NEAREST : ROPE_ROUNDING_OTHER)
                << sum << ", " << product;
            std::copy_n(right.begin(), 8, words.begin()); // by the turned pairs alone
            EXPECT_EQ(ropeReadSelfTest(words.data()), nearest ? ROPE_ROUNDING_NEAREST : ROPE_ROUNDING_OTHER)
                << "pairs, " << sum << ", " << product;
        }
    }
}

TEST(Plan, ReadsFromTheSelfTestsPairsThatTheirProductsAreFused) {
    for (const Fused fused : {Fused::kFirst, Fused::kSecond}) {
        EXPECT_EQ(ropeReadSelfTest(selfTest(FE_TONEAREST, FE_TONEAREST, fused).data()), ROPE_ROUNDING_OTHER);
        const std::vector<uint32_t> words = selfTest(FE_TONEAREST, FE_TONEAREST, fused);
        const std::vector<uint32_t> right = selfTest(FE_TONEAREST, FE_TONEAREST);
        EXPECT_NE(words[8], right[8]) << "x*c - y*s";
        EXPECT_NE(words[13], right[13]) << "x*s + y*c";
    }
}

// A device that takes denormal floats for 0 has the promised bits, which leave these out, and so the same words.
TEST(Plan, ReadsNothingOfDenormalFloatsFromTheSelfTestsWords) {
    const std::vector<uint32_t> right = selfTest(FE_TONEAREST, FE_TONEAREST);
    for (size_t i = 0; i < 16; ++i) EXPECT_NE(right[i] & 0x7F800000u, 0u) << i;
}

TEST(Plan, ReadsFromTheSelfTestsCountsThatTheDevicesHalvesAreProven) {
    std::vector<uint32_t> words(ROPE_SELF_TEST_WORDS);
    EXPECT_EQ(ropeEnabledBySelfTest(words.data()), 0u) << "nothing was counted";
    words[16] = 262144;
    words[18] = 829440;
    EXPECT_EQ(ropeEnabledBySelfTest(words.data()), ROPE_ENABLED_NATIVE_HALVES) << "the rounding counts for nothing";
    for (size_t i = 16; i < words.size(); ++i) {
        for (const uint32_t other : {words[i] + 1, words[i] - 1, ~words[i]}) {
            std::vector<uint32_t> spoiled = words;
            spoiled[i] = other;
            EXPECT_EQ(ropeEnabledBySelfTest(spoiled.data()), 0u) << "word " << i << " is " << other;
        }
    }
    const RopeRounding nearest = ropeReadSelfTest(selfTest(FE_TONEAREST, FE_TONEAREST).data());
    EXPECT_EQ(nearest, ROPE_ROUNDING_NEAREST) << "the counts say nothing of the rounding";
}

TEST(Plan, TakesATableOfExactlyABindingsRange) {
    static const std::vector<double> kFrequencies(128, 0.5);
    RopeRotateDescription d = llama();
    d.head_dim = 256;
    d.rotation.frequencies = {kFrequencies.data(), 128, 1, nullptr, 1};
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.count = 131072; // 128 MiB
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    d.rotation.rows.count += 1;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
}

TEST(Plan, IgnoresStridesOfWhatThereIsOnlyOneOf) {
    RopeRotateDescription d = llama();
    d.tokens = 1;
    d.k.heads = 0;
    d.element = ROPE_ELEMENT_F16;
    d.q.from = {0, 3, 257, 128};
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_STREQ(plan.passes[0].shader->name, "rotate_wide");
}

} // namespace
