// Fused passes that are refused on the CPU, and in which words.
#include "support/host_pass.hpp"

#include "plan/cache_kinds.h"
#include "plan/element_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>

using namespace host_pass;

namespace {

void expectRefused(const std::string& piece, const std::function<void(RopeFusedDescription*)>& spoil,
                   RopeResult wanted = ROPE_ERROR_INVALID) {
    static const float kWeights[kDim] = {};
    RopeFusedDescription d = cached(16, ROPE_CACHE_SLOTS, 64);
    d.rotate.q.heads = kQueries;
    d.q_norm.weights = d.k_norm.weights = kWeights;
    RopeReason reason;
    RopeHostFused data = {};
    spoil(&d);
    EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), wanted) << piece << ": " << reason.text;
    EXPECT_NE(std::string(reason.text).find(piece), std::string::npos) << piece << " is not in: " << reason.text;
    EXPECT_LT(std::strlen(reason.text), sizeof reason.text - 1) << "cut off: " << reason.text;
    EXPECT_EQ(ropeHostRunFused(&d, &data, nullptr), wanted);
}

TEST(HostFused, RefusesAPassThatDoesNothing) {
    expectRefused("nothing turns, is normed, scaled or moved", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_NONE;
        d->v.heads = d->query_scale.count = 0;
        d->q_norm.kind = d->k_norm.kind = ROPE_NORM_NONE;
        d->rotate.out_of_place = d->packed = 0;
        d->no_rotation = 1;
    });
}

TEST(HostFused, RefusesNoTensorsAndAVInPlace) {
    expectRefused("all 0", [](RopeFusedDescription* d) { d->rotate.q.heads = d->rotate.k.heads = d->v.heads = 0; });
    expectRefused("v.heads is 2 in place", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_NONE;
        d->rotate.out_of_place = 0;
    });
    expectRefused(
        "heads is 4294967295", [](RopeFusedDescription* d) { d->v.heads = UINT32_MAX; }, ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesGradientsByName) {
    expectRefused("operation transpose with q_norm: the gradient through a norm is not computed",
                  [](RopeFusedDescription* d) {
                      d->rotate.operation = ROPE_OPERATION_TRANSPOSE;
                      d->q_norm.kind = ROPE_NORM_RMS;
                  });
    for (const RopeOperation operation : {ROPE_OPERATION_INVERSE, ROPE_OPERATION_SHIFT}) {
        const char* name =
            operation == ROPE_OPERATION_INVERSE ? "operation inverse with k_norm" : "operation shift with k_norm";
        expectRefused(name, [operation](RopeFusedDescription* d) {
            d->rotate.operation = operation;
            d->k_norm.kind = ROPE_NORM_L2;
        });
    }
}

TEST(HostFused, RefusesNormsThatAreNone) {
    expectRefused("q_norm.kind is 3", [](RopeFusedDescription* d) { d->q_norm.kind = static_cast<RopeNormKind>(3); });
    expectRefused("k_norm.kind is 1, and k has no heads", [](RopeFusedDescription* d) {
        d->rotate.k.heads = 0;
        d->k_norm.kind = ROPE_NORM_RMS;
    });
    for (const float epsilon : {-1.0f, NAN, INFINITY}) {
        expectRefused("q_norm.epsilon is ", [epsilon](RopeFusedDescription* d) {
            d->q_norm.kind = ROPE_NORM_RMS;
            d->q_norm.epsilon = epsilon;
        });
    }
    expectRefused(
        "q_norm.all_heads of 32768 heads of 64 elements",
        [](RopeFusedDescription* d) {
            d->rotate.q.heads = 32768;
            d->q_norm.kind = ROPE_NORM_RMS;
            d->q_norm.all_heads = 1;
        },
        ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesQueryScales) {
    static const float kOne = 1;
    expectRefused("query_scale.count is 1, and q has no heads", [](RopeFusedDescription* d) {
        d->rotate.q.heads = 0;
        d->query_scale = {&kOne, 1, 1, 0};
    });
    expectRefused("query_scale has 1 values at null", [](RopeFusedDescription* d) {
        d->query_scale = {nullptr, 1, 1, 0};
    });
    expectRefused("query_scale has 65537 values", [](RopeFusedDescription* d) {
        d->query_scale = {&kOne, 65537, 1, 0};
    });
    expectRefused("query_scale.interval is 0", [](RopeFusedDescription* d) { d->query_scale = {&kOne, 1, 0, 0}; });
    expectRefused("query_scale.offset is 2147483648", [](RopeFusedDescription* d) {
        d->query_scale = {&kOne, 1, 1, 1u << 31};
    });
    RopeReason reason;
    float value = 7;
    EXPECT_EQ(ropeMakeQueryScale(NAN, 1, &value, &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(ropeMakeQueryScale(-1048577, 1, &value, &reason), ROPE_ERROR_INVALID);
    EXPECT_STREQ(reason.text, "beta is -1048577; it must be from -2^20 to 2^20");
    EXPECT_EQ(ropeMakeQueryScale(1, 65537, &value, &reason), ROPE_ERROR_INVALID);
    EXPECT_NE(std::string(reason.text).find("count is 65537"), std::string::npos) << reason.text;
    EXPECT_EQ(ropeMakeQueryScale(1, 1, nullptr, &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(value, 7);
}

TEST(HostFused, RefusesCachesThatAreNone) {
    expectRefused("cache.kind is " + std::to_string(rope::kCacheKindCount),
                  [](RopeFusedDescription* d) { d->cache.kind = static_cast<RopeCacheKind>(rope::kCacheKindCount); });
    expectRefused("cache.order is 2", [](RopeFusedDescription* d) { d->cache.order = static_cast<RopeCacheOrder>(2); });
    expectRefused("cache.element is " + std::to_string(rope::kElementCount),
                  [](RopeFusedDescription* d) { d->cache.element = static_cast<RopeElement>(rope::kElementCount); });
    expectRefused("cache.slots is 0", [](RopeFusedDescription* d) { d->cache.slots = 0; });
    expectRefused("cache.slots is 1073741825", [](RopeFusedDescription* d) { d->cache.slots = (1u << 30) + 1; });
    expectRefused("cache.slots is 64; it must be a multiple of cache.page_size, 48",
                  [](RopeFusedDescription* d) { d->cache.page_size = 48; });
    expectRefused("cache.page_size is 0 and cache.table_pages is 1", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_BLOCK_TABLE;
        d->cache.table_pages = 1;
    });
    expectRefused("cache.table_pages is 0", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_BLOCK_TABLE;
        d->cache.page_size = 16;
    });
    expectRefused(
        "cache.table_pages is 1073741825",
        [](RopeFusedDescription* d) {
            d->cache.kind = ROPE_CACHE_BLOCK_TABLE;
            d->cache.page_size = 16;
            d->cache.table_pages = (1u << 30) + 1;
        },
        ROPE_ERROR_TOO_LARGE);
    expectRefused("cache.slot_map_element is 2",
                  [](RopeFusedDescription* d) { d->cache.slot_map_element = ROPE_POSITION_FLOAT32; });
    expectRefused(
        "cache.slot_map_offset is 8589934593",
        [](RopeFusedDescription* d) { d->cache.slot_map_offset = (1ull << 33) + 1; }, ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesCachesThatOverlap) {
    expectRefused("cache.k.slot_stride is 100 and lets elements overlap; it must be at least 128",
                  [](RopeFusedDescription* d) {
                      d->cache.k = {0, 0, 0, 100, 64};
                  });
    expectRefused("cache.v.page_stride is 100", [](RopeFusedDescription* d) {
        d->cache.page_size = 16;
        d->cache.v = {0, 0, 100, 128, 64};
    });
    expectRefused("cache.k takes bytes 0 to 32767, and cache.v bytes 32764 to 65531", [](RopeFusedDescription* d) {
        d->cache.v_shares_buffer = 1;
        d->cache.v.offset = 64 * 2 * kDim - 1;
    });
    expectRefused("cache.k takes bytes 0 to 32767, and cache.v bytes 4096 to ", [](RopeFusedDescription* d) {
        d->cache.v_shares_buffer = 1;
        d->cache.v = {1024, 0, 0, 1920, 64};
    });
    expectRefused("cache.k takes bytes 0 to ", [](RopeFusedDescription* d) { // woven, but from one place on
        d->cache.v_shares_buffer = 1;
        d->cache.k = d->cache.v = {0, 0, 0, 256, 64};
    });
    expectRefused("cache.k takes bytes 0 to 8191, and cache.k_scales bytes 0 to 511",
                  [](RopeFusedDescription* d) { d->cache.element = ROPE_ELEMENT_I8; });
    expectRefused(
        "more than 64 bits count",
        [](RopeFusedDescription* d) {
            d->cache.slots = 1u << 30;
            d->rotate.k.heads = d->v.heads = 1u << 30;
        },
        ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesGeometryThatRunsOfFourCannotTake) {
    expectRefused("k: head_dim is 96; with Q8_0", [](RopeFusedDescription* d) {
        d->rotate.head_dim = 96;
        d->rotate.rotary_dim = 64;
        d->cache.element = ROPE_ELEMENT_Q8_0;
    });
    expectRefused("k: the cache's slot_stride is 160; with Q8_0", [](RopeFusedDescription* d) {
        d->cache.k = {0, 0, 0, 160, 64};
        d->cache.element = ROPE_ELEMENT_Q8_0;
    });
    expectRefused("k: the cache's offset is 2; with a norm, a scale of queries or int8 it must be a multiple of 4",
                  [](RopeFusedDescription* d) {
                      d->cache.k.offset = 2;
                      d->k_norm.kind = ROPE_NORM_RMS;
                  });
    expectRefused("q: source.token_stride is 258", [](RopeFusedDescription* d) {
        d->rotate.q.source = {0, 0, 258, 64};
        d->q_norm.kind = ROPE_NORM_RMS;
    });
    expectRefused("q: rotary_dim is 60", [](RopeFusedDescription* d) {
        d->rotate.rotary_dim = 60;
        d->rotate.frequencies.count = 30;
        d->q_norm.kind = ROPE_NORM_RMS;
    });
    expectRefused("q: chunk_dim is 4", [](RopeFusedDescription* d) {
        d->rotate.chunk_dim = 4;
        d->q_norm.kind = ROPE_NORM_RMS;
    });
    expectRefused(
        "head_dim is 1028; with a norm, a scale of queries or int8 it may be at most 1024",
        [](RopeFusedDescription* d) {
            d->rotate.head_dim = 1028;
            d->rotate.rotary_dim = 64;
            d->q_norm.kind = ROPE_NORM_RMS;
        },
        ROPE_ERROR_TOO_LARGE);
    // One dispatch with K, which is normed.
    expectRefused("v: the cache's offset is 2", [](RopeFusedDescription* d) {
        d->cache.v.offset = 2;
        d->k_norm.kind = ROPE_NORM_RMS;
    });
}

TEST(HostFused, RefusesUnlikeKAndVInOneDispatch) {
    expectRefused("K's heads is 2 and V's 1", [](RopeFusedDescription* d) { d->v.heads = 1; });
    expectRefused("K's source.token_stride is 128 and V's 256", [](RopeFusedDescription* d) {
        d->v.source = {0, 0, 256, 64};
    });
    expectRefused("set v_separate_dispatch to 1", [](RopeFusedDescription* d) { d->cache.v = {0, 0, 0, 192, 64}; });
    RopeFusedDescription d = cached(2, ROPE_CACHE_POSITIONS, 16);
    d.cache.v = {0, 0, 0, 192, 64};
    d.v_separate_dispatch = 1;
    run(d, nullptr, 16 * 192);
}

TEST(HostFused, RefusesCountsOfPackedSequences) {
    expectRefused("tokens_counted with positions.kind 3", [](RopeFusedDescription* d) {
        d->tokens_counted = 1;
        d->rotate.positions.kind = ROPE_POSITIONS_PACKED;
    });
    expectRefused(
        "tokens_offset is 8589934593", [](RopeFusedDescription* d) { d->tokens_offset = (1ull << 33) + 1; },
        ROPE_ERROR_TOO_LARGE);
}

// On the CPU and in the plan, in the same words.
void expectRangesRefused(const std::string& sentence, const std::function<void(RopeFusedDescription*)>& spoil) {
    RopeFusedDescription d = cached(16, ROPE_CACHE_SLOTS, 64);
    d.rotate.positions.kind = ROPE_POSITIONS_PER_TOKEN;
    d.cache.slot_map_offset = 16;
    spoil(&d);
    d.v_separate_dispatch = 1;
    RopePlan plan;
    EXPECT_EQ(ropePlanFused(&d, nullptr, &plan), sentence.empty() ? ROPE_SUCCESS : ROPE_ERROR_INVALID);
    EXPECT_EQ(plan.reason.text, sentence);
    if (sentence.empty()) return;
    RopeReason reason;
    RopeHostFused data = {};
    EXPECT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_ERROR_INVALID);
    EXPECT_EQ(reason.text, sentence);
}

void makeTable(RopeFusedDescription* d) {
    d->cache.kind = ROPE_CACHE_BLOCK_TABLE;
    d->cache.page_size = 16;
    d->cache.table_pages = 4;
}

TEST(HostFused, RefusesPositionsThatOverlapSlotsTablesOrTheCount) {
    expectRangesRefused("a row of positions takes bytes 0 to 63, and the list of slots bytes 0 to 63 of one buffer; "
                        "move an offset",
                        [](RopeFusedDescription* d) { d->cache.slot_map_offset = 0; });
    expectRangesRefused("a row of positions takes bytes 0 to 63, and the list of slots bytes 60 to 123 of one buffer; "
                        "move an offset",
                        [](RopeFusedDescription* d) { d->cache.slot_map_offset = 15; });
    expectRangesRefused("a row of positions takes bytes 0 to 63, and the block table bytes 0 to 31 of one buffer; "
                        "move an offset",
                        [](RopeFusedDescription* d) {
                            makeTable(d);
                            d->cache.slot_map_offset = 0;
                            d->cache.slot_map_element = ROPE_POSITION_INT64;
                        });
    expectRangesRefused("a row of positions takes bytes 0 to 63, and the count of tokens bytes 0 to 3 of one buffer; "
                        "move an offset",
                        [](RopeFusedDescription* d) { d->tokens_counted = 1; });
    expectRangesRefused("the list of slots takes bytes 64 to 127, and the count of tokens bytes 124 to 127 of one "
                        "buffer; move an offset",
                        [](RopeFusedDescription* d) {
                            d->tokens_counted = 1;
                            d->tokens_offset = 31;
                        });
    // A start per sequence is one element, packed lengths one more than sequences, axes a row each.
    expectRangesRefused("a row of positions takes bytes 0 to 3, and the block table bytes 0 to 15 of one buffer; move "
                        "an offset",
                        [](RopeFusedDescription* d) {
                            makeTable(d);
                            d->rotate.positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
                            d->cache.slot_map_offset = 0;
                        });
    expectRangesRefused("a row of positions takes bytes 0 to 11, and the list of slots bytes 8 to 71 of one buffer; "
                        "move an offset",
                        [](RopeFusedDescription* d) {
                            d->rotate.positions.kind = ROPE_POSITIONS_PACKED;
                            d->rotate.positions.sequences = 2;
                            d->cache.slot_map_offset = 2;
                        });
    static const uint8_t kAxes[kDim / 2] = {0, 1, 2};
    expectRangesRefused("a row of positions takes bytes 0 to 191, and the list of slots bytes 128 to 191 of one "
                        "buffer; move an offset",
                        [](RopeFusedDescription* d) {
                            d->rotate.frequencies.axes = kAxes;
                            d->cache.slot_map_offset = 32;
                        });
    expectRangesRefused("a row of positions takes bytes 400 to 463, and the list of slots bytes 400 to 463 of one "
                        "buffer; move an offset",
                        [](RopeFusedDescription* d) {
                            d->rotate.frequencies.axes = kAxes;
                            d->rotate.positions.axis_stride = 100;
                            d->cache.slot_map_offset = 100;
                        });
}

// Every tensor's pass reads the one buffer: Q the positions, K and V the slots.
TEST(HostFused, RefusesPositionsOfOneTensorThatOverlapTheSlotsOfAnother) {
    static const float kOne = 1;
    const std::string sentence =
        "a row of positions takes bytes 0 to 63, and the list of slots bytes 0 to 63 of one buffer; move an offset";
    const auto atOnePlace = [](RopeFusedDescription* d) {
        d->rotate.q.heads = 2;
        d->cache.slot_map_offset = 0;
    };
    const auto scaled = [&](RopeFusedDescription* d) {
        atOnePlace(d);
        d->query_scale = {&kOne, 1, 1, 0};
    };
    expectRangesRefused(sentence, [&](RopeFusedDescription* d) {
        scaled(d);
        d->no_rotation = 1;
    });
    expectRangesRefused(sentence, [&](RopeFusedDescription* d) {
        scaled(d);
        d->rotate.source = ROPE_SOURCE_ROWS;
    });
    expectRangesRefused(sentence, [&](RopeFusedDescription* d) { // V alone in the cache
        atOnePlace(d);
        d->rotate.k.heads = 0;
    });
    // Q and K read the same rows, which are not refused beside each other.
    static const uint8_t kAxes[kDim / 2] = {0, 1, 2};
    expectRangesRefused("", [&](RopeFusedDescription* d) {
        scaled(d);
        d->rotate.frequencies.axes = kAxes;
        d->cache.slot_map_offset = 48;
    });
}

// Positions that nothing reads are no range, and a range may lie between another's elements.
TEST(HostFused, TakesRangesThatDoNotMeet) {
    expectRangesRefused("", [](RopeFusedDescription*) {});
    expectRangesRefused("", [](RopeFusedDescription* d) {
        d->tokens_counted = 1;
        d->tokens_offset = 32;
    });
    const auto atOnePlace = [](RopeFusedDescription* d) { d->cache.slot_map_offset = 0; };
    expectRangesRefused("", [&](RopeFusedDescription* d) {
        atOnePlace(d);
        d->rotate.positions.kind = ROPE_POSITIONS_COUNTED;
    });
    expectRangesRefused("", [&](RopeFusedDescription* d) {
        atOnePlace(d);
        d->no_rotation = 1;
    });
    expectRangesRefused("", [&](RopeFusedDescription* d) {
        atOnePlace(d);
        d->rotate.source = ROPE_SOURCE_ROWS;
    });
    expectRangesRefused("", [](RopeFusedDescription* d) { // a position, then a slot
        d->rotate.positions.token_stride = d->cache.slot_map_token_stride = 2;
        d->cache.slot_map_offset = 1;
    });
    expectRangesRefused("",
                        [](RopeFusedDescription* d) { // slots between the sequences' positions, the count between both
                            d->rotate.batch = 2;
                            d->rotate.positions.batch_stride = d->cache.slot_map_batch_stride = 33;
                            d->tokens_counted = 1;
                            d->tokens_offset = 32;
                        });
    static const uint8_t kAxes[kDim / 2] = {0, 1, 2};
    expectRangesRefused("", [](RopeFusedDescription* d) { // and between rows
        d->rotate.frequencies.axes = kAxes;
        d->rotate.positions.axis_stride = 32;
    });
    expectRangesRefused("", [](RopeFusedDescription* d) { // a cache by positions alone
        d->cache.kind = ROPE_CACHE_POSITIONS;
        d->cache.slot_map_offset = 0;
    });
}

void expectShiftRefused(const std::string& piece, const std::function<void(RopeFusedDescription*)>& spoil) {
    expectRefused(piece, [&spoil](RopeFusedDescription* d) {
        d->rotate.q.heads = d->v.heads = 0;
        d->rotate.operation = ROPE_OPERATION_SHIFT;
        d->cache.shift = 1;
        d->cache.delta = 2;
        spoil(d);
    });
}

TEST(HostFused, RefusesShiftsThatAreNone) {
    expectShiftRefused("but q has heads", [](RopeFusedDescription* d) { d->rotate.q.heads = 1; });
    expectShiftRefused("but v has heads", [](RopeFusedDescription* d) { d->v.heads = 1; });
    expectShiftRefused("but k_norm is set", [](RopeFusedDescription* d) { d->k_norm.kind = ROPE_NORM_RMS; });
    expectShiftRefused("but no_rotation is 1", [](RopeFusedDescription* d) { d->no_rotation = 1; });
    expectShiftRefused("but packed is 1", [](RopeFusedDescription* d) { d->packed = 1; });
    expectShiftRefused("but pairing_out",
                       [](RopeFusedDescription* d) { d->rotate.pairing_out = ROPE_PAIRING_INTERLEAVED; });
    expectShiftRefused("cache.kind 0", [](RopeFusedDescription* d) { d->cache.kind = ROPE_CACHE_NONE; });
    expectShiftRefused("with operation 0",
                       [](RopeFusedDescription* d) { d->rotate.operation = ROPE_OPERATION_FORWARD; });
    expectShiftRefused("cache.element 5", [](RopeFusedDescription* d) { d->cache.element = ROPE_ELEMENT_Q8_0; });
    expectShiftRefused("cache.delta is 0 with cache.kind 3", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_RING;
        d->cache.delta = 0;
    });
    for (const RopeSource source : {ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
        expectShiftRefused("cache.delta is 2 with source", [source](RopeFusedDescription* d) {
            d->rotate.source = source;
            d->rotate.rows.count = 8;
        });
    }
}

TEST(HostFused, RefusesArraysThatAreNull) {
    expectRefused("positions is null", [](RopeFusedDescription* d) { d->rotate.q.heads = 0; }); // slots are read
    expectRefused("q is read from q, which is null", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_NONE;
        d->rotate.positions.kind = ROPE_POSITIONS_COUNTED;
    });
}

} // namespace
