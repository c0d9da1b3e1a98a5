// Plans: what is refused and in which words, what is split and how, and that nothing ever wraps. No device needed.
#include "reach.hpp"
#include "sample.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <string>

namespace {

RopeRotateDescription llama() {
    static const std::vector<double> kFrequencies = sample::frequencies(500000, 128);
    RopeRotateDescription d = {};
    d.tokens = 4096;
    d.head_dim = 128;
    d.frequencies = {kFrequencies.data(), 64, 1, nullptr, 1};
    d.q.heads = 32;
    d.k.heads = 8;
    return d;
}

RopeTableDescription table(uint32_t rows) {
    RopeTableDescription d = {};
    d.frequencies = llama().frequencies;
    d.tokens = rows;
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    return d;
}

void expectRefused(RopeResult wanted, const std::string& piece,
                   const std::function<void(RopeRotateDescription*)>& spoil) {
    RopeRotateDescription d = llama();
    spoil(&d);
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), wanted) << piece;
    EXPECT_NE(std::string(plan.reason.text).find(piece), std::string::npos) << plan.reason.text;
    EXPECT_EQ(ropeDispatchCount(&plan), 0u);
    for (const uint64_t bytes : plan.bytes) EXPECT_EQ(bytes, 0u);
}

TEST(Plan, OfLlama3PrefillIsTwoDispatchesWithoutASurplusByte) {
    const RopeRotateDescription d = llama();
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q], 4096u * 32 * 128 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_K], 4096u * 8 * 128 * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_POSITIONS], 4096u * 4);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_FREQUENCIES], ropeFrequencyBytes(64));
    EXPECT_EQ(plan.bytes[ROPE_SLOT_ROWS], 0u);
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q_OUT], 0u);
    ASSERT_EQ(ropeDispatchCount(&plan), 2u);
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);
    EXPECT_STREQ(dispatch.shader->name, "rotate_wide");
    EXPECT_EQ(dispatch.groups[0], 4096u * 16 * 4 / 64);
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_SOURCE].slot, ROPE_SLOT_Q);
    EXPECT_EQ(dispatch.bindings[ROPE_BINDING_DESTINATION].slot, ROPE_SLOT_Q);
}

TEST(Plan, TellsATablesBytes) {
    const RopeTableDescription d = table(131072);
    RopePlan plan;
    ASSERT_EQ(ropePlanTable(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_ROWS], 131072u * 128 * 4);
}

TEST(Plan, RefusesRotaryDimAboveHeadDim) {
    expectRefused(ROPE_ERROR_INVALID, "rotary_dim is 130", [](RopeRotateDescription* d) { d->rotary_dim = 130; });
    expectRefused(ROPE_ERROR_INVALID, "rotary_dim is 100, more than the 64 elements", [](RopeRotateDescription* d) {
        d->rotary_begin = 64;
        d->rotary_dim = 100;
    });
}

TEST(Plan, RefusesWhatContradictsItself) {
    const RopeResult invalid = ROPE_ERROR_INVALID;
    expectRefused(invalid, "both 0", [](RopeRotateDescription* d) { d->q.heads = d->k.heads = 0; });
    expectRefused(invalid, "tokens is 0", [](RopeRotateDescription* d) { d->tokens = 0; });
    expectRefused(invalid, "head_dim is 0", [](RopeRotateDescription* d) { d->head_dim = 0; });
    expectRefused(invalid, "rotary_dim is 63; it must be even", [](RopeRotateDescription* d) { d->rotary_dim = 63; });
    expectRefused(invalid, "rotary_begin is 128", [](RopeRotateDescription* d) { d->rotary_begin = 128; });
    expectRefused(invalid, "frequencies.count is 63", [](RopeRotateDescription* d) { d->frequencies.count = 63; });
    expectRefused(invalid, "elsewhere", [](RopeRotateDescription* d) { d->pairing_out = ROPE_PAIRING_INTERLEAVED; });
    expectRefused(invalid, "scale", [](RopeRotateDescription* d) { d->frequencies.scale = -1; });
    expectRefused(invalid, "scale", [](RopeRotateDescription* d) { d->frequencies.scale = NAN; });
    expectRefused(invalid, "operation is 4",
                  [](RopeRotateDescription* d) { d->operation = static_cast<RopeOperation>(4); });
    expectRefused(invalid, "pairing_in is -1",
                  [](RopeRotateDescription* d) { d->pairing_in = static_cast<RopePairing>(-1); });
    expectRefused(invalid, "source is 9", [](RopeRotateDescription* d) { d->source = static_cast<RopeSource>(9); });
    expectRefused(invalid, "angle is 2", [](RopeRotateDescription* d) { d->angle = static_cast<RopeAngle>(2); });
    expectRefused(invalid, "positions.kind is 7",
                  [](RopeRotateDescription* d) { d->positions.kind = static_cast<RopePositionKind>(7); });
    expectRefused(invalid, "rows.count is 0", [](RopeRotateDescription* d) { d->source = ROPE_SOURCE_TABLE; });
    expectRefused(invalid, "frequencies", [](RopeRotateDescription* d) { d->frequencies.values = nullptr; });
}

// A factor on rounded rows would be a second rounding.
TEST(Plan, RefusesRowsOfAnotherScaleThanTheOperationWants) {
    for (const RopeSource source : {ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
        for (const RopeOperation operation : {ROPE_OPERATION_INVERSE, ROPE_OPERATION_SHIFT}) {
            RopeRotateDescription d = llama();
            d.source = source;
            d.rows.count = 10;
            d.operation = operation;
            RopePlan plan;
            EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
            d.frequencies.scale = 1.25;
            EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_INVALID);
            const bool inverse = operation == ROPE_OPERATION_INVERSE;
            const char* advice =
                inverse ? "wants a scale of 0.8, and the rows hold 1.25" : "wants a scale of 1, and the rows hold 1.25";
            EXPECT_NE(std::string(plan.reason.text).find(advice), std::string::npos) << plan.reason.text;
            EXPECT_NE(std::string(plan.reason.text).find(inverse ? "transpose" : "forward"), std::string::npos);
        }
    }
}

TEST(Plan, RefusesAxesSetsAndPositionsThatContradict) {
    const RopeResult invalid = ROPE_ERROR_INVALID;
    static const std::vector<uint8_t> kFive(64, 4), kTwo(512, 1);
    expectRefused(invalid, "frequencies.axes names axis 4; there are at most 4",
                  [](RopeRotateDescription* d) { d->frequencies.axes = kFive.data(); });
    expectRefused(ROPE_ERROR_TOO_LARGE, "frequencies.axes of 512 pairs; with several axes at most 256 turn",
                  [](RopeRotateDescription* d) {
                      static const std::vector<double> kMany(512, 0.5);
                      d->head_dim = 1024;
                      d->frequencies = {kMany.data(), 512, 1, kTwo.data(), 1};
                  });
    expectRefused(invalid, "positions.element is 4",
                  [](RopeRotateDescription* d) { d->positions.element = static_cast<RopePositionElement>(4); });
    expectRefused(invalid, "a table has rows of whole positions", [](RopeRotateDescription* d) {
        d->source = ROPE_SOURCE_TABLE;
        d->rows.count = 10;
        d->positions.element = ROPE_POSITION_FLOAT32;
    });
    expectRefused(invalid, "packed positions with batch 2 and 3 sequences; batch must be 1",
                  [](RopeRotateDescription* d) {
                      d->batch = 2;
                      d->positions.kind = ROPE_POSITIONS_PACKED;
                      d->positions.sequences = 3;
                  });
    expectRefused(invalid, "and 0 sequences",
                  [](RopeRotateDescription* d) { d->positions.kind = ROPE_POSITIONS_PACKED_STARTS; });
    expectRefused(invalid, "cumulative lengths are INT32", [](RopeRotateDescription* d) {
        d->positions.kind = ROPE_POSITIONS_PACKED;
        d->positions.sequences = 3;
        d->positions.element = ROPE_POSITION_FIXED64;
    });
    expectRefused(invalid, "frequencies.sets is 2, and counted positions read no buffer", [](RopeRotateDescription* d) {
        static const std::vector<double> kTwice(128, 0.5);
        d->frequencies.values = kTwice.data();
        d->frequencies.sets = 2;
        d->positions.kind = ROPE_POSITIONS_COUNTED;
    });
    expectRefused(ROPE_ERROR_TOO_LARGE, "frequencies.sets is 65537",
                  [](RopeRotateDescription* d) { d->frequencies.sets = 65537; });
    expectRefused(invalid, "chunk_dim is 48; it must be even, and rotary_dim, 128, a multiple",
                  [](RopeRotateDescription* d) { d->chunk_dim = 48; });
    expectRefused(invalid, "skip_first is 4000 and skip_last is 100, together more than 4096 tokens",
                  [](RopeRotateDescription* d) {
                      d->skip_first = 4000;
                      d->skip_last = 100;
                  });
}

TEST(Plan, TellsWhatAxesSetsAndLengthsTakeOfThePositions) {
    static const std::vector<uint8_t> kThree = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
    static const std::vector<double> kTwice(32, 0.5);
    RopeRotateDescription d = llama();
    d.batch = 2;
    d.tokens = 10;
    d.rotary_dim = 32;
    d.frequencies = {kTwice.data(), 16, 1, kThree.data(), 2};
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

TEST(Plan, RefusesElementsThatOverlap) {
    expectRefused(ROPE_ERROR_INVALID, "q.source.head_stride is 100", [](RopeRotateDescription* d) {
        d->q.source = {0, 0, 4096, 100};
    });
    expectRefused(ROPE_ERROR_INVALID, "k.source.token_stride is 0", [](RopeRotateDescription* d) {
        d->k.source = {0, 0, 0, 128};
    });
    expectRefused(ROPE_ERROR_INVALID, "q.destination.token_stride is 4000", [](RopeRotateDescription* d) {
        d->elsewhere = 1;
        d->q.destination = {0, 0, 4000, 128};
    });
    RopeTableDescription d = table(10);
    d.rows.row_stride = 127;
    RopePlan plan;
    EXPECT_EQ(ropePlanTable(&d, nullptr, &plan), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plan.reason.text).find("overlap"), std::string::npos) << plan.reason.text;
}

TEST(Plan, RefusesOddSixteenBitGeometryWithoutTheFeatureAndSaysSo) {
    const auto odd = [](RopeRotateDescription* d) {
        d->element_in = ROPE_ELEMENT_BF16;
        d->k.source = {1, 0, 1024, 128};
    };
    expectRefused(ROPE_ERROR_INVALID, "k has 16-bit elements at an odd offset", odd);
    expectRefused(ROPE_ERROR_INVALID, "storageBuffer16BitAccess", odd);
    RopeRotateDescription d = llama();
    odd(&d);
    RopeLimits limits;
    ropeFloorLimits(&limits);
    limits.enabled = ROPE_ENABLED_STORAGE_16;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_STREQ(plan.passes[0].shader->name, "rotate_wide");
    EXPECT_STREQ(plan.passes[1].shader->name, "rotate_odd");
}

TEST(Plan, RefusesAnotherElementInPlaceAndRowsThatReachBeforeTheBuffer) {
    expectRefused(ROPE_ERROR_INVALID, "element_out differs", [](RopeRotateDescription* d) {
        d->element_in = ROPE_ELEMENT_F32;
        d->element_out = ROPE_ELEMENT_F16;
    });
    expectRefused(ROPE_ERROR_INVALID, "element_in is 4",
                  [](RopeRotateDescription* d) { d->element_in = static_cast<RopeElement>(4); });
    expectRefused(ROPE_ERROR_INVALID, "reaches before the buffer", [](RopeRotateDescription* d) {
        d->source = ROPE_SOURCE_ROWS;
        d->rows.offset = 63;
        d->rows.sin_offset = -64;
    });
}

TEST(Plan, RefusesTableRowsThatShareAPlaceAndNoOthers) {
    RopeTableDescription d = table(10);
    RopePlan plan;
    for (int format = 0; format <= ROPE_ROWS_TWO_ARRAYS; ++format) {
        ropeSetRows(static_cast<RopeRowsFormat>(format), 64, 10, &d.rows);
        EXPECT_EQ(ropePlanTable(&d, nullptr, &plan), ROPE_SUCCESS) << format << ": " << plan.reason.text;
    }
    // Against every place written down, for all small strides.
    for (uint32_t code = 0; code < 5 * 4 * 25 * 8; ++code) {
        const uint32_t pairs = 1 + code % 5, step = 1 + code / 5 % 4;
        d.frequencies.count = pairs;
        d.tokens = 3;
        d.rows = {};
        d.rows.offset = 12;
        d.rows.pair_stride = step;
        d.rows.row_stride = 1 + code / 20 % 25;
        d.rows.sin_offset = static_cast<int64_t>(code / 500 % 8) * 3 - 11;
        d.rows.copy_offset = code % 3 == 0 ? 0 : code % 7;
        std::set<int64_t> places;
        size_t written = 0;
        for (uint32_t i = 0; i < 3 * pairs; ++i) {
            const int64_t at = static_cast<int64_t>(i / pairs * d.rows.row_stride + i % pairs * step);
            for (const int64_t copy : {int64_t{0}, static_cast<int64_t>(d.rows.copy_offset)}) {
                places.insert({at + copy, at + copy + d.rows.sin_offset});
                written += 2;
                if (d.rows.copy_offset == 0) break;
            }
        }
        const bool apart = places.size() == written;
        EXPECT_EQ(ropePlanTable(&d, nullptr, &plan) == ROPE_SUCCESS, apart) << code << ": " << plan.reason.text;
    }
}

TEST(Plan, RefusesWhatPassesSixtyFourBits) {
    const RopeResult large = ROPE_ERROR_TOO_LARGE;
    expectRefused(large, "64 bits", [](RopeRotateDescription* d) { d->q.source = {0, 0, UINT64_MAX / 2, 128}; });
    expectRefused(large, "64 bits", [](RopeRotateDescription* d) { d->q.source = {UINT64_MAX, 0, 4096, 128}; });
    expectRefused(large, "2^33", [](RopeRotateDescription* d) { d->positions.token_stride = UINT64_MAX; });
    expectRefused(large, "2^33", [](RopeRotateDescription* d) {
        d->source = ROPE_SOURCE_ROWS;
        d->rows.row_stride = UINT64_MAX;
    });
    expectRefused(large, "64 bits", [](RopeRotateDescription* d) {
        d->source = ROPE_SOURCE_ROWS;
        d->batch = d->tokens = 1 << 20;
        d->rows.row_stride = 1ull << 33;
    });
    expectRefused(large, "tokens is 4294967295", [](RopeRotateDescription* d) { d->tokens = UINT32_MAX; });
}

TEST(Plan, RefusesATablePastABindingAndSaysWhatToDo) {
    RopeRotateDescription d = llama();
    d.source = ROPE_SOURCE_TABLE;
    d.rows.count = 1 << 20; // 512 MiB
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_NE(std::string(plan.reason.text).find("ROPE_SOURCE_ROWS"), std::string::npos) << plan.reason.text;
    // Making it is split; only reading it at any position needs it whole.
    const RopeTableDescription made = table(1 << 20);
    EXPECT_EQ(ropePlanTable(&made, nullptr, &plan), ROPE_SUCCESS);
    EXPECT_GT(ropeDispatchCount(&plan), 3u);
}

TEST(Plan, SplitsATensorPastABindingsRangeWithoutWrapping) {
    RopeLimits limits;
    ropeFloorLimits(&limits);
    RopeRotateDescription d = llama();
    d.tokens = 1 << 20; // Q: 16 GiB, 2^32 elements
    d.q.heads = 32;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_EQ(plan.bytes[ROPE_SLOT_Q], (1ull << 20) * 32 * 128 * 4);
    EXPECT_GT(ropeDispatchCount(&plan), 128u);
    reach::checkDispatches(plan, d, limits);
}

TEST(Plan, SplitsAHeadMajorTensorByHeadsAndThenTokens) {
    RopeLimits limits;
    ropeFloorLimits(&limits);
    RopeRotateDescription d = llama();
    d.tokens = 1 << 19; // one head is 256 MiB
    d.k.heads = 0;
    d.q.source = {0, 0, 128, static_cast<uint64_t>(d.tokens) * 128};
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    reach::checkDispatches(plan, d, limits);
}

TEST(Plan, SplitsPast65535Groups) {
    RopeLimits limits;
    ropeFloorLimits(&limits);
    limits.storage_range = UINT32_MAX;
    RopeRotateDescription d = llama();
    d.head_dim = 2; // small elements, many threads
    d.frequencies.count = 1;
    d.tokens = 1 << 24;
    d.q.heads = 1;
    d.k.heads = 0;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_GT(ropeDispatchCount(&plan), 1u);
    reach::checkDispatches(plan, d, limits);
    d.batch = 70000; // and in y, where sequences cannot be joined
    d.tokens = 2;
    d.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
    ASSERT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_GT(ropeDispatchCount(&plan), 1u);
    reach::checkDispatches(plan, d, limits);
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
    other.operation = ROPE_OPERATION_TRANSPOSE;
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
    EXPECT_NE(std::string(text).find("rotate_wide: 1 x 4096 x 32"), std::string::npos) << text;
    EXPECT_NE(std::string(text).find("q: 67108864 bytes"), std::string::npos) << text;
    char small[8];
    EXPECT_EQ(ropePrintPlan(&plan, small, sizeof small), length);
    EXPECT_EQ(std::strlen(small), 7u);
    EXPECT_EQ(ropePrintPlan(&plan, nullptr, 0), length);
    d.tokens = 0;
    ropePlanRotate(&d, nullptr, &plan);
    ropePrintPlan(&plan, text, sizeof text);
    EXPECT_EQ(std::string(text).find("refused: tokens is 0"), 0u) << text;
}

// The self-test's operations in each rounding mode, on the CPU.
std::vector<uint32_t> selfTest(int sum_mode, int product_mode) {
    volatile float one = 1, tiny = 0x1p-24f, next = 1 + 0x1p-23f, third = 1 + 0x3p-23f, more = 1.5f + 0x1p-23f;
    const auto in = [](int mode, auto operation) {
        std::fesetround(mode);
        volatile float result = operation();
        std::fesetround(FE_TONEAREST);
        return static_cast<float>(result);
    };
    volatile float next_third = in(product_mode, [&] { return next * third; });
    volatile float tiny_third = in(product_mode, [&] { return tiny * third; });
    const float values[] = {
        in(sum_mode, [&] { return one + tiny; }),       in(sum_mode, [&] { return next + tiny; }),
        in(sum_mode, [&] { return -one - tiny; }),      in(product_mode, [&] { return next * next; }),
        in(product_mode, [&] { return next * more; }),  in(sum_mode, [&] { return next_third - one; }),
        in(sum_mode, [&] { return one + tiny_third; }), in(product_mode, [&] { return -next * more; })};
    std::vector<uint32_t> words(ROPE_SELF_TEST_WORDS);
    std::memcpy(words.data(), values, sizeof values);
    return words;
}

TEST(Plan, ReadsRoundingToNearestFromTheSelfTestsWordsAndNoOtherMode) {
    const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    for (const int sum : modes) {
        for (const int product : modes) {
            const bool nearest = sum == FE_TONEAREST && product == FE_TONEAREST;
            EXPECT_EQ(ropeReadSelfTest(selfTest(sum, product).data()),
                      nearest ? ROPE_ROUNDING_NEAREST : ROPE_ROUNDING_OTHER)
                << sum << ", " << product;
        }
    }
}

TEST(Plan, RefusesLimitsThatNoDeviceHas) {
    const RopeRotateDescription d = llama();
    RopePlan plan;
    RopeLimits limits;
    ropeFloorLimits(&limits);
    limits.storage_alignment = 24;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plan.reason.text).find("storage_alignment is 24"), std::string::npos) << plan.reason.text;
    ropeFloorLimits(&limits);
    limits.group_count[0] = 0;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plan.reason.text).find("group_count is 0"), std::string::npos) << plan.reason.text;
}

TEST(Plan, TakesATableOfExactlyABindingsRange) {
    static const std::vector<double> kFrequencies(128, 0.5);
    RopeRotateDescription d = llama();
    d.head_dim = 256;
    d.frequencies = {kFrequencies.data(), 128, 1, nullptr, 1};
    d.source = ROPE_SOURCE_TABLE;
    d.rows.count = 131072; // 128 MiB
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    d.rows.count += 1;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
}

TEST(Plan, IgnoresStridesOfWhatThereIsOnlyOneOf) {
    RopeRotateDescription d = llama();
    d.tokens = 1;
    d.k.heads = 0;
    d.element_in = ROPE_ELEMENT_F16;
    d.q.source = {0, 3, 257, 128};
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_STREQ(plan.passes[0].shader->name, "rotate_wide");
}

uint64_t anyStride(sample::Random* random) {
    switch (random->below(6)) {
    case 0:
        return 0;
    case 1:
        return random->below(300);
    case 2:
        return 128ull * random->below(100);
    case 3:
        return 4096;
    case 4:
        return 1ull << random->below(64);
    default:
        return random->next();
    }
}

uint32_t anyCount(sample::Random* random) {
    switch (random->below(5)) {
    case 0:
        return random->below(4);
    case 1:
        return 1u << random->below(32);
    case 2:
        return random->below(5000);
    case 3:
        return random->below(70000);
    default:
        return random->below(40);
    }
}

void anyPositions(sample::Random* random, RopeRotateDescription* d) {
    RopePositions& p = d->positions;
    p.kind = static_cast<RopePositionKind>(random->below(5));
    p.element = static_cast<RopePositionElement>(random->below(4));
    p.batch_stride = anyStride(random);
    p.token_stride = anyStride(random);
    p.axis_stride = anyStride(random);
    p.offset = anyStride(random);
    p.shared = random->below(2);
    p.sequences = anyCount(random);
    d->skip_first = random->below(4) == 0 ? anyCount(random) : 0;
    d->skip_last = random->below(4) == 0 ? anyCount(random) : 0;
    d->chunk_dim = random->below(4) == 0 ? random->below(100) : 0;
    if (p.kind >= ROPE_POSITIONS_PACKED && random->below(2) == 0) d->batch = 1;
}

RopeRotateDescription anyDescription(sample::Random* random) {
    static const std::vector<double> kFrequencies(4 * ROPE_MAX_PAIRS, 0.5);
    static const std::vector<uint8_t> kAxes[3] = {std::vector<uint8_t>(ROPE_MAX_PAIRS, 0),
                                                  std::vector<uint8_t>(ROPE_MAX_PAIRS, 1),
                                                  std::vector<uint8_t>(ROPE_MAX_PAIRS, 3)};
    RopeRotateDescription d = {};
    d.batch = anyCount(random) >> random->below(32);
    d.tokens = anyCount(random);
    d.head_dim = random->below(3) == 0 ? anyCount(random) : 64 * (1 + random->below(4));
    d.rotary_begin = random->below(3) == 0 ? random->below(200) : 0;
    d.rotary_dim = random->below(3) == 0 ? random->below(300) : 0;
    d.pairing_in = static_cast<RopePairing>(random->below(3));
    d.pairing_out = static_cast<RopePairing>(random->below(3));
    d.operation = static_cast<RopeOperation>(random->below(4));
    d.source = static_cast<RopeSource>(random->below(3));
    d.elsewhere = random->below(2);
    d.count_outside = random->below(2);
    anyPositions(random, &d);
    d.rows.count = anyCount(random);
    d.rows.row_stride = anyStride(random);
    d.rows.sin_offset = static_cast<int64_t>(random->below(300)) - 100;
    d.rows.pair_stride = random->below(4);
    d.rows.element = static_cast<RopeElement>(random->below(4));
    d.rows.offset = random->below(300);
    d.element_in = static_cast<RopeElement>(random->below(4));
    d.element_out = static_cast<RopeElement>(random->below(4));
    for (RopeTensor* t : {&d.q, &d.k}) {
        t->heads = anyCount(random) >> random->below(32);
        for (RopeLayout* layout : {&t->source, &t->destination}) {
            if (random->below(2) == 0)
                *layout = {anyStride(random), anyStride(random), anyStride(random), anyStride(random)};
        }
    }
    const uint32_t room = d.rotary_begin < d.head_dim ? d.head_dim - d.rotary_begin : 0;
    const uint32_t pairs = (d.rotary_dim != 0 ? d.rotary_dim : room) / 2;
    d.frequencies = {nullptr, pairs, 1, nullptr, random->below(3) == 0 ? anyCount(random) >> random->below(32) : 1};
    const bool fits = pairs <= ROPE_MAX_PAIRS && d.frequencies.sets <= 4;
    if (fits || d.source == ROPE_SOURCE_INLINE) d.frequencies.values = kFrequencies.data();
    if (!fits && d.source == ROPE_SOURCE_INLINE) d.frequencies.sets = 1;
    if (random->below(3) == 0 && pairs <= ROPE_MAX_PAIRS) d.frequencies.axes = kAxes[random->below(3)].data();
    return d;
}

// Any description is either refused with a sentence or has every index inside the sizes that its plan asked for.
TEST(Plan, IsRefusedOrInsideItsSizesForAnyDescription) {
    sample::Random random(42);
    uint32_t accepted = 0;
    for (int i = 0; i < 1000000; ++i) {
        const RopeRotateDescription d = anyDescription(&random);
        RopeLimits limits;
        ropeFloorLimits(&limits);
        limits.enabled = random.below(4);
        limits.storage_alignment = 1u << random.below(9);
        limits.group_size = 1 + random.below(200);
        if (random.below(4) == 0) limits.group_count[0] = 1 + random.below(70000);
        if (random.below(2) == 0) limits.storage_range = 1u << (12 + random.below(20));
        RopePlan plan;
        if (ropePlanRotate(&d, &limits, &plan) != ROPE_SUCCESS) {
            ASSERT_NE(plan.reason.text[0], '\0');
            ASSERT_LT(std::strlen(plan.reason.text), sizeof plan.reason.text - 1);
            continue;
        }
        ++accepted;
        reach::checkDispatches(plan, d, limits);
        if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "description " << i;
    }
    EXPECT_GT(accepted, 10000u);
}

// The same of tables, which the rotation's positions and rows describe as well.
TEST(Plan, OfAnyTableIsRefusedOrInsideItsSizes) {
    sample::Random random(43);
    uint32_t accepted = 0;
    for (int i = 0; i < 300000; ++i) {
        const RopeRotateDescription from = anyDescription(&random);
        RopeTableDescription d = {from.frequencies, from.angle, from.batch, from.tokens, from.positions, from.rows};
        d.rows.element = ROPE_ELEMENT_DEFAULT;
        d.rows.copy_offset = random.below(3) == 0 ? random.below(300) : 0;
        RopePlan plan;
        if (ropePlanTable(&d, nullptr, &plan) != ROPE_SUCCESS) {
            ASSERT_NE(plan.reason.text[0], '\0');
            continue;
        }
        ++accepted;
        const uint32_t count = std::min(ropeDispatchCount(&plan), 1000u);
        for (uint32_t part = 0; part < count; ++part) {
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, part, &dispatch);
            rope::RopePush push;
            std::memcpy(&push, dispatch.push, sizeof push);
            const reach::Last asked = {dispatch.groups[1] - 1ull, push.tokens - 1ull, 0};
            reach::checkPositions(dispatch, push, asked);
            reach::checkCosSin(dispatch, push, asked, push.pair_counts & 0xFFFF);
            const int64_t sine = static_cast<int32_t>(push.sin_offset);
            const rope::RopePlace& to = push.destination;
            const uint64_t first = uint64_t{to.offset} + push.rows.offset;
            const uint64_t last = first + (dispatch.groups[1] - 1ull) * to.batch + (push.tokens - 1ull) * to.token +
                                  (d.frequencies.count - 1ull) * push.rows.head + push.ROPE_ROW_COPY +
                                  (sine > 0 ? sine : 0);
            ASSERT_GE(static_cast<int64_t>(first) + sine, 0);
            ASSERT_LE((last + 1) * 4, dispatch.bindings[ROPE_BINDING_DESTINATION].range);
        }
    }
    EXPECT_GT(accepted, 3000u);
}

} // namespace
