// Plans that are refused, and in which words. No device needed.
#include "support/llama.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

using sample::llama;
using sample::table;

namespace {

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

TEST(Plan, RefusesRotaryDimAboveHeadDim) {
    expectRefused(ROPE_ERROR_INVALID, "rotary_dim is 130",
                  [](RopeRotateDescription* d) { d->rotation.rotary_dim = 130; });
    expectRefused(ROPE_ERROR_INVALID, "rotary_dim is 100, more than the 64 elements", [](RopeRotateDescription* d) {
        d->rotation.rotary_begin = 64;
        d->rotation.rotary_dim = 100;
    });
}

TEST(Plan, RefusesMoreHeadsThanShadersCount) {
    expectRefused(ROPE_ERROR_TOO_LARGE, "heads is 1073741825; it may be at most 1073741824",
                  [](RopeRotateDescription* d) { d->k.heads = (1u << 30) + 1; });
}

TEST(Plan, HasANameForEachResult) {
    EXPECT_STREQ(ropeResultName(ROPE_SUCCESS), "ROPE_SUCCESS");
    EXPECT_STREQ(ropeResultName(ROPE_ERROR_TOO_LARGE), "ROPE_ERROR_TOO_LARGE");
    EXPECT_STREQ(ropeResultName(ROPE_ERROR_OVERLAP), "ROPE_ERROR_OVERLAP");
    EXPECT_STREQ(ropeResultName(static_cast<RopeResult>(1)), "unknown RopeResult");
    EXPECT_STREQ(ropeResultName(static_cast<RopeResult>(ROPE_ERROR_OVERLAP - 1)), "unknown RopeResult");
}

TEST(Plan, RefusesWhatContradictsItself) {
    const RopeResult invalid = ROPE_ERROR_INVALID;
    expectRefused(invalid, "both 0", [](RopeRotateDescription* d) { d->q.heads = d->k.heads = 0; });
    expectRefused(invalid, "tokens is 0", [](RopeRotateDescription* d) { d->tokens = 0; });
    expectRefused(invalid, "head_dim is 0", [](RopeRotateDescription* d) { d->head_dim = 0; });
    expectRefused(invalid, "rotary_dim is 63; it must be even",
                  [](RopeRotateDescription* d) { d->rotation.rotary_dim = 63; });
    expectRefused(invalid, "rotary_begin is 128", [](RopeRotateDescription* d) { d->rotation.rotary_begin = 128; });
    expectRefused(invalid, "frequencies.count is 63",
                  [](RopeRotateDescription* d) { d->rotation.frequencies.count = 63; });
    expectRefused(invalid, "out_of_place",
                  [](RopeRotateDescription* d) { d->rotation.pairing_out = ROPE_PAIRING_INTERLEAVED; });
    expectRefused(invalid, "scale", [](RopeRotateDescription* d) { d->rotation.frequencies.scale = -0x1p21; });
    expectRefused(invalid, "scale", [](RopeRotateDescription* d) { d->rotation.frequencies.scale = NAN; });
    expectRefused(invalid, "operation is 4",
                  [](RopeRotateDescription* d) { d->rotation.operation = static_cast<RopeOperation>(4); });
    expectRefused(invalid, "pairing is -1", [](RopeRotateDescription* d) {
        const int other = -1;
        std::memcpy(&d->rotation.pairing, &other, sizeof other);
    });
    expectRefused(invalid, "source is 9",
                  [](RopeRotateDescription* d) { d->rotation.source = static_cast<RopeSource>(9); });
    expectRefused(invalid, "angle is 2",
                  [](RopeRotateDescription* d) { d->rotation.angle = static_cast<RopeAngle>(2); });
    expectRefused(invalid, "positions.kind is 7",
                  [](RopeRotateDescription* d) { d->positions.kind = static_cast<RopePositionKind>(7); });
    expectRefused(invalid, "rows.count is 0", [](RopeRotateDescription* d) { d->rotation.source = ROPE_SOURCE_TABLE; });
}

// A factor on rounded rows would be a second rounding.
TEST(Plan, RefusesRowsOfAnotherScaleThanTheOperationWants) {
    for (const RopeSource source : {ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
        for (const RopeOperation operation : {ROPE_OPERATION_INVERSE, ROPE_OPERATION_SHIFT}) {
            RopeRotateDescription d = llama();
            d.rotation.source = source;
            d.rotation.rows.count = 10;
            d.rotation.operation = operation;
            RopePlan plan;
            EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
            d.rotation.frequencies.scale = 1.25;
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
                  [](RopeRotateDescription* d) { d->rotation.frequencies.axes = kFive.data(); });
    expectRefused(ROPE_ERROR_TOO_LARGE, "frequencies.axes of 512 pairs; with several axes at most 256 turn",
                  [](RopeRotateDescription* d) {
                      static const std::vector<double> kMany(512, 0.5);
                      d->head_dim = 1024;
                      d->rotation.frequencies = {kMany.data(), 512, 1, kTwo.data(), 1};
                  });
    expectRefused(invalid, "positions.element is 4",
                  [](RopeRotateDescription* d) { d->positions.element = static_cast<RopePositionElement>(4); });
    expectRefused(invalid, "a table has rows of whole positions", [](RopeRotateDescription* d) {
        d->rotation.source = ROPE_SOURCE_TABLE;
        d->rotation.rows.count = 10;
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
        d->rotation.frequencies.values = kTwice.data();
        d->rotation.frequencies.sets = 2;
        d->positions.kind = ROPE_POSITIONS_COUNTED;
    });
    expectRefused(ROPE_ERROR_TOO_LARGE, "frequencies.sets is 65537",
                  [](RopeRotateDescription* d) { d->rotation.frequencies.sets = 65537; });
    expectRefused(invalid, "chunk_dim is 48; it must be even, and rotary_dim, 128, a multiple",
                  [](RopeRotateDescription* d) { d->rotation.chunk_dim = 48; });
    expectRefused(invalid, "skip_first is 4000 and skip_last is 100, together more than 4096 tokens",
                  [](RopeRotateDescription* d) {
                      d->rotation.skip_first = 4000;
                      d->rotation.skip_last = 100;
                  });
}

TEST(Plan, RefusesElementsThatOverlap) {
    expectRefused(ROPE_ERROR_INVALID, "q.from.head_stride is 100", [](RopeRotateDescription* d) {
        d->q.from = {0, 0, 4096, 100};
    });
    expectRefused(ROPE_ERROR_INVALID, "k.from.token_stride is 0", [](RopeRotateDescription* d) {
        d->k.from = {0, 0, 0, 128};
    });
    expectRefused(ROPE_ERROR_INVALID, "q.to.token_stride is 4000", [](RopeRotateDescription* d) {
        d->out_of_place = 1;
        d->q.to = {0, 0, 4000, 128};
    });
    RopeTableDescription d = table(10);
    d.rows.row_stride = 127;
    RopePlan plan;
    EXPECT_EQ(ropePlanTable(&d, nullptr, &plan), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plan.reason.text).find("overlap"), std::string::npos) << plan.reason.text;
}

TEST(Plan, RefusesSixteenBitElementsAtOddPlacesByTheWayThatWorks) {
    expectRefused(ROPE_ERROR_INVALID,
                  "k has 16-bit elements at an odd offset, stride, rotary_begin or head_dim, and they",
                  [](RopeRotateDescription* d) {
                      d->element = ROPE_ELEMENT_BF16;
                      d->k.from = {1, 0, 1024, 128};
                  });
    // MiniMax M3's vision part: 39 pairs.
    const std::vector<double> frequencies(39, 0.5);
    RopeRotateDescription d = {};
    d.tokens = 4;
    d.head_dim = 80;
    d.rotation.rotary_dim = 78;
    d.rotation.frequencies = {frequencies.data(), 39, 0, nullptr, 1};
    d.q.heads = 2;
    d.element = ROPE_ELEMENT_F16;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.enabled = ROPE_ENABLED_STORAGE_16;
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text,
                 "q has 16-bit elements in halves of 39, an odd number, and they move in twos; use float32, or weights "
                 "permuted to interleaved pairs (ropePairPermutation)");
    d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    d.rotation.pairing = ROPE_PAIRING_HALF;
    d.element = ROPE_ELEMENT_F32;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
}

TEST(Plan, RefusesAnotherElementInPlaceAndRowsThatReachBeforeTheBuffer) {
    expectRefused(ROPE_ERROR_INVALID, "element_out differs", [](RopeRotateDescription* d) {
        d->element = ROPE_ELEMENT_F32;
        d->element_out = ROPE_ELEMENT_F16;
    });
    expectRefused(ROPE_ERROR_INVALID, "element is 4",
                  [](RopeRotateDescription* d) { d->element = static_cast<RopeElement>(4); });
    expectRefused(ROPE_ERROR_INVALID, "reaches before the buffer", [](RopeRotateDescription* d) {
        d->rotation.source = ROPE_SOURCE_ROWS;
        d->rotation.rows.offset = 63;
        d->rotation.rows.sin_offset = -64;
    });
}

TEST(Plan, RefusesTableRowsThatShareAPlaceAndNoOthers) {
    RopeTableDescription d = table(10);
    RopePlan plan;
    for (int format = 0; format <= ROPE_ROWS_TWO_ARRAYS; ++format) {
        ropeSetRows(static_cast<RopeRowsFormat>(format), 64, 10, &d.rows);
        EXPECT_EQ(ropePlanTable(&d, nullptr, &plan), ROPE_SUCCESS) << format << ": " << plan.reason.text;
    }
    d.rows.element = ROPE_ELEMENT_F16;
    EXPECT_EQ(ropePlanTable(&d, nullptr, &plan), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text, "rows.element is 2; a table is written in ROPE_ELEMENT_F32");
    d.rows.element = ROPE_ELEMENT_DEFAULT;
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
    expectRefused(large, "64 bits", [](RopeRotateDescription* d) { d->q.from = {0, 0, UINT64_MAX / 2, 128}; });
    expectRefused(large, "64 bits", [](RopeRotateDescription* d) { d->q.from = {UINT64_MAX, 0, 4096, 128}; });
    expectRefused(large, "2^33", [](RopeRotateDescription* d) { d->positions.token_stride = UINT64_MAX; });
    expectRefused(large, "2^33", [](RopeRotateDescription* d) {
        d->rotation.source = ROPE_SOURCE_ROWS;
        d->rotation.rows.row_stride = UINT64_MAX;
    });
    expectRefused(large, "64 bits", [](RopeRotateDescription* d) {
        d->rotation.source = ROPE_SOURCE_ROWS;
        d->batch = d->tokens = 1 << 20;
        d->rotation.rows.row_stride = 1ull << 33;
    });
    expectRefused(large, "tokens is 4294967295", [](RopeRotateDescription* d) { d->tokens = UINT32_MAX; });
}

TEST(Plan, RefusesATablePastABindingAndSaysWhatToDo) {
    RopeRotateDescription d = llama();
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.count = 1 << 20; // 512 MiB
    RopePlan plan;
    EXPECT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_ERROR_TOO_LARGE);
    EXPECT_NE(std::string(plan.reason.text).find("ROPE_SOURCE_ROWS"), std::string::npos) << plan.reason.text;
    // Making it is split; only reading it at any position needs it whole.
    const RopeTableDescription made = table(1 << 20);
    EXPECT_EQ(ropePlanTable(&made, nullptr, &plan), ROPE_SUCCESS);
    EXPECT_GT(ropeDispatchCount(&plan), 3u);
}

TEST(Plan, RefusesLimitsThatNoDeviceHas) {
    const RopeRotateDescription d = llama();
    RopePlan plan;
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    limits.storage_alignment = 24;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(plan.reason.text).find("storage_alignment is 24"), std::string::npos) << plan.reason.text;
    ropeMinimumLimits(&limits);
    limits.group_count[0] = 0;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text, "limits.group_count is 0; ropeLimitsFromDevice fills it in");
    ropeMinimumLimits(&limits);
    limits.storage_range = 0;
    EXPECT_EQ(ropePlanRotate(&d, &limits, &plan), ROPE_ERROR_INVALID);
    EXPECT_STREQ(plan.reason.text, "limits.storage_range is 0; ropeLimitsFromDevice fills it in");
}

} // namespace
