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
    d.q.heads = kQueries;
    d.q.norm.weights = d.k.norm.weights = kWeights;
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
        d->q.norm.kind = d->k.norm.kind = ROPE_NORM_NONE;
        d->out_of_place = d->packed_qkv = 0;
        d->q.no_rotation = d->k.no_rotation = 1;
    });
}

// Without a rotation `axes` say how positions lie, and no pairs say how many axes there are.
TEST(HostFused, RefusesMorePairsThanThereAreBesideAxesWithoutARotation) {
    static const uint8_t kAxes[1] = {};
    expectRefused("frequencies.count is 4294967295 beside frequencies.axes; there are at most",
                  [](RopeFusedDescription* d) {
                      d->q.no_rotation = d->k.no_rotation = 1;
                      d->rotation.frequencies = {nullptr, UINT32_MAX, 1, kAxes, 1};
                  });
}

TEST(HostFused, RefusesNoTensorsAndAVInPlace) {
    expectRefused("all 0", [](RopeFusedDescription* d) { d->q.heads = d->k.heads = d->v.heads = 0; });
    expectRefused("v.heads is 2 in place", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_NONE;
        d->out_of_place = 0;
    });
    expectRefused(
        "heads is 4294967295", [](RopeFusedDescription* d) { d->v.heads = UINT32_MAX; }, ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesNormsBesideOtherOperations) {
    expectRefused("operation transpose with q.norm; send the gradient back through the rotation without a norm, and "
                  "through the norm in a pass of your own",
                  [](RopeFusedDescription* d) {
                      d->rotation.operation = ROPE_OPERATION_TRANSPOSE;
                      d->q.norm.kind = ROPE_NORM_RMS;
                  });
    for (const RopeOperation operation : {ROPE_OPERATION_INVERSE, ROPE_OPERATION_SHIFT}) {
        const char* name =
            operation == ROPE_OPERATION_INVERSE ? "operation inverse with k.norm" : "operation shift with k.norm";
        expectRefused(name, [operation](RopeFusedDescription* d) {
            d->rotation.operation = operation;
            d->cache.kind = ROPE_CACHE_NONE;
            d->k.element = d->v.element = ROPE_ELEMENT_DEFAULT;
            d->k.norm.kind = ROPE_NORM_L2;
        });
    }
}

TEST(HostFused, RefusesNormsThatAreNone) {
    expectRefused("q.norm.kind is 4", [](RopeFusedDescription* d) { d->q.norm.kind = static_cast<RopeNormKind>(4); });
    expectRefused("k.norm.kind is 1, and k has no heads", [](RopeFusedDescription* d) {
        d->k.heads = 0;
        d->k.norm.kind = ROPE_NORM_RMS;
    });
    for (const float epsilon : {-1.0f, NAN, INFINITY}) {
        expectRefused("q.norm.epsilon is ", [epsilon](RopeFusedDescription* d) {
            d->q.norm.kind = ROPE_NORM_RMS;
            d->q.norm.epsilon = epsilon;
        });
    }
    expectRefused(
        "q.norm.all_heads of 32768 heads of 64 elements",
        [](RopeFusedDescription* d) {
            d->q.heads = 32768;
            d->q.norm.kind = ROPE_NORM_RMS;
            d->q.norm.all_heads = 1;
        },
        ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesPartsAndBiasesOfNorms) {
    static const float kOne = 1;
    const auto k_norm = [](const std::string& piece, const std::function<void(RopeNorm*)>& spoil) {
        expectRefused(piece, [&spoil](RopeFusedDescription* d) {
            d->k.norm.kind = ROPE_NORM_LAYER;
            spoil(&d->k.norm);
        });
    };
    k_norm("k.norm.begin is 2 and k.norm.dim is 0; each must be a multiple of 4", [](RopeNorm* n) { n->begin = 2; });
    k_norm("k.norm.begin is 0 and k.norm.dim is 6", [](RopeNorm* n) { n->dim = 6; });
    k_norm("a head of 64 elements has no such part", [](RopeNorm* n) { n->begin = 64; });
    k_norm("k.norm.begin is 32 and k.norm.dim is 36", [](RopeNorm* n) { n->begin = 32, n->dim = 36; });
    k_norm("k.norm.all_heads is 1 with ROPE_NORM_LAYER", [](RopeNorm* n) { n->all_heads = 1; });
    k_norm("k.norm.biases is an address", [](RopeNorm* n) { n->kind = ROPE_NORM_RMS, n->biases = n->weights; });
    k_norm("k.norm.biases is an address", [](RopeNorm* n) { n->biases = n->weights, n->weights = nullptr; });
    expectRefused(
        "k.norm.weights are 2097152 floats; an array holds at most 1048576",
        [](RopeFusedDescription* d) {
            d->k.heads = d->v.heads = 32768;
            d->k.norm.kind = ROPE_NORM_RMS;
            d->k.norm.weights_head_stride = 64;
            d->k.norm.weights = &kOne;
        },
        ROPE_ERROR_TOO_LARGE);
    k_norm("k.norm.weights_head_stride is 32; in an array it is 0 or the 64 elements of the norm",
           [](RopeNorm* n) { n->weights = &kOne, n->weights_head_stride = 32; });
    expectRefused("v.norm.weights is null, and V has no buffer of weights",
                  [](RopeFusedDescription* d) { d->v.norm.kind = ROPE_NORM_RMS; });
    expectRefused("v.norm.kind is 1, and v has no heads", [](RopeFusedDescription* d) {
        d->v.heads = 0;
        d->v.norm.kind = ROPE_NORM_RMS;
    });
}

TEST(HostFused, RefusesHadamardBlocksThatCannotBe) {
    for (const uint32_t block : {8u, 48u, 1024u}) {
        expectRefused("k.hadamard is " + std::to_string(block) + "; it must be a power of two from 16 to 512, or 0",
                      [block](RopeFusedDescription* d) { d->k.hadamard = block; });
    }
    expectRefused("q.hadamard is 128, and q has heads of 64 elements, which are no whole blocks",
                  [](RopeFusedDescription* d) { d->q.hadamard = d->k.hadamard = 128; });
    expectRefused("q.hadamard is 32 and k.hadamard is 64; the attention's products would be others, so give both",
                  [](RopeFusedDescription* d) { d->q.hadamard = 32, d->k.hadamard = 64; });
    expectRefused("v.norm takes 32 elements from 16 on, and v.hadamard is 32; a norm takes whole blocks",
                  [](RopeFusedDescription* d) {
                      d->v.norm.kind = ROPE_NORM_RMS;
                      d->v.norm.no_weights = 1;
                      d->v.norm.begin = 16, d->v.norm.dim = 32;
                      d->v.hadamard = 32;
                  });
    expectRefused("operation is 1 with hadamard, which goes with forward, 0, and shift, 3",
                  [](RopeFusedDescription* d) {
                      d->rotation.operation = ROPE_OPERATION_TRANSPOSE;
                      d->q.hadamard = d->k.hadamard = 64;
                  });
}

TEST(HostFused, RefusesWidths) {
    expectRefused("k.head_dim is 64 and k.rotary_begin is 4; a rotary part of 64 elements",
                  [](RopeFusedDescription* d) { d->k.rotary_begin = 4; });
    expectRefused("k.head_dim is 96 and k.rotary_begin is 64; a rotary part of 64 elements",
                  [](RopeFusedDescription* d) {
                      d->k.head_dim = 96;
                      d->k.rotary_begin = 64;
                  });
    expectRefused("q.head_dim is 4294967295", [](RopeFusedDescription* d) { d->q.head_dim = UINT32_MAX; });
}

TEST(HostFused, RefusesClipsAndBiases) {
    for (const float clip : {-1.0f, NAN, INFINITY}) {
        expectRefused("it must be more than 0 and finite", [clip](RopeFusedDescription* d) { d->clip = clip; });
    }
    expectRefused("operation is 1 with a clip", [](RopeFusedDescription* d) {
        d->clip = 1;
        d->rotation.operation = ROPE_OPERATION_TRANSPOSE;
    });
    expectRefused("operation is 1 with biases", [](RopeFusedDescription* d) {
        d->q.bias = 1;
        d->rotation.operation = ROPE_OPERATION_TRANSPOSE;
    });
    expectRefused("bias_element is 4", [](RopeFusedDescription* d) {
        d->k.bias = 1;
        d->bias_element = ROPE_ELEMENT_I8;
    });
    expectRefused(
        "v.bias_offset is 4294967296",
        [](RopeFusedDescription* d) {
            d->v.bias = 1;
            d->v.bias_offset = uint64_t{1} << 32;
        },
        ROPE_ERROR_TOO_LARGE);
    expectRefused("operation shift with a cache turns K alone where it lies, but clip is set",
                  [](RopeFusedDescription* d) {
                      d->q.heads = d->v.heads = 0;
                      d->rotation.operation = ROPE_OPERATION_SHIFT;
                      d->clip = 1;
                  });
    expectRefused("q: head_dim is 66; with a norm, biases, a scale of queries or a quantized cache",
                  [](RopeFusedDescription* d) {
                      d->head_dim = 66;
                      d->rotation.rotary_dim = 64;
                      d->q.bias = 1;
                  });
}

TEST(HostFused, RefusesQueryScales) {
    static const float kOne = 1;
    expectRefused("query_scale.count is 1, and q has no heads", [](RopeFusedDescription* d) {
        d->q.heads = 0;
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
    expectRefused("k.element is " + std::to_string(rope::kElementCount), [](RopeFusedDescription* d) {
        d->k.element = d->v.element = static_cast<RopeElement>(rope::kElementCount);
    });
    expectRefused("cache.slots is 0", [](RopeFusedDescription* d) { d->cache.slots = 0; });
    expectRefused("cache.slots is 1073741825", [](RopeFusedDescription* d) { d->cache.slots = (1u << 30) + 1; });
    expectRefused("cache.slots is 64; it must be a multiple of cache.page_size, 48",
                  [](RopeFusedDescription* d) { d->cache.page_size = 48; });
    expectRefused("cache.page_size is 0 and cache.table_pages is 1", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_PAGE_TABLE;
        d->cache.table_pages = 1;
    });
    expectRefused("cache.table_pages is 0", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_PAGE_TABLE;
        d->cache.page_size = 16;
    });
    expectRefused(
        "cache.table_pages is 1073741825",
        [](RopeFusedDescription* d) {
            d->cache.kind = ROPE_CACHE_PAGE_TABLE;
            d->cache.page_size = 16;
            d->cache.table_pages = (1u << 30) + 1;
        },
        ROPE_ERROR_TOO_LARGE);
    expectRefused("cache.map_element is 2",
                  [](RopeFusedDescription* d) { d->cache.map_element = ROPE_POSITION_FLOAT32; });
    expectRefused(
        "cache.map_offset is 8589934593", [](RopeFusedDescription* d) { d->cache.map_offset = (1ull << 33) + 1; },
        ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesCachesThatOverlap) {
    expectRefused("k.to.token_stride is 100 and lets elements overlap; it must be at least 128",
                  [](RopeFusedDescription* d) {
                      d->k.to = {0, 0, 0, 100, 64};
                  });
    expectRefused("v.to.page_stride is 100", [](RopeFusedDescription* d) {
        d->cache.page_size = 16;
        d->v.to = {0, 0, 100, 128, 64};
    });
    expectRefused("k.to takes bytes 0 to 32767, and v.to bytes 32764 to 65531", [](RopeFusedDescription* d) {
        d->cache.one_buffer = 1;
        d->v.to.offset = 64 * 2 * kDim - 1;
    });
    expectRefused("k.to takes bytes 0 to 32767, and v.to bytes 4096 to ", [](RopeFusedDescription* d) {
        d->cache.one_buffer = 1;
        d->v.to = {1024, 0, 0, 1920, 64};
    });
    expectRefused("k.to takes bytes 0 to ", [](RopeFusedDescription* d) { // woven, but from one place on
        d->cache.one_buffer = 1;
        d->k.to = d->v.to = {0, 0, 0, 256, 64};
    });
    expectRefused("k.to takes bytes 0 to 8191, and k.stored_scales bytes 0 to 511",
                  [](RopeFusedDescription* d) { d->k.element = d->v.element = ROPE_ELEMENT_I8; });
    expectRefused(
        "more than 64 bits count",
        [](RopeFusedDescription* d) {
            d->cache.slots = 1u << 30;
            d->k.heads = d->v.heads = 1u << 30;
        },
        ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesGeometryThatRunsOfFourCannotTake) {
    expectRefused("k: head_dim is 80; with Q8_0", [](RopeFusedDescription* d) {
        d->head_dim = 80;
        d->rotation.rotary_dim = 64;
        d->k.element = d->v.element = ROPE_ELEMENT_Q8_0;
    });
    expectRefused("k: the cache's token_stride is 144; with Q4_1, whose blocks have 32 elements, it must be a multiple "
                  "of 32",
                  [](RopeFusedDescription* d) {
                      d->k.to = {0, 0, 0, 144, 64};
                      d->k.element = d->v.element = ROPE_ELEMENT_Q4_1;
                  });
    expectRefused("k: the cache's offset is 2; with a norm, biases, a scale of queries or a quantized cache it must be "
                  "a multiple of 4",
                  [](RopeFusedDescription* d) {
                      d->k.to.offset = 2;
                      d->k.stored_scales.offset = d->v.stored_scales.offset = 4096;
                      d->k.element = d->v.element = ROPE_ELEMENT_I8;
                  });
    expectRefused("q: head_dim is 62", [](RopeFusedDescription* d) { // a norm's sums are those of quads
        d->head_dim = 62;
        d->rotation.rotary_dim = 62;
        d->rotation.frequencies.count = 31;
        d->q.norm.kind = ROPE_NORM_RMS;
    });
    expectRefused(
        "head_dim is 1028; with a norm, biases, a scale of queries or a quantized cache it may be at most 1024",
        [](RopeFusedDescription* d) {
            d->head_dim = 1028;
            d->rotation.rotary_dim = 64;
            d->q.norm.kind = ROPE_NORM_RMS;
        },
        ROPE_ERROR_TOO_LARGE);
}

TEST(HostFused, RefusesGivenScalesThatCannotBe) {
    static const float kScales[2] = {1, 0};
    const auto given = [](RopeElement element, const float* values, uint32_t count) {
        return [=](RopeFusedDescription* d) {
            d->k.element = d->v.element = element;
            d->k.given_scale = d->v.given_scale = {values, count, 0};
        };
    };
    expectRefused("k.given_scale has 1 values, and k's element is 4; float8 (9 and 10) takes them",
                  given(ROPE_ELEMENT_I8, kScales, 1));
    expectRefused("k.given_scale has 3 values; it takes 1, or 2 for k's heads",
                  given(ROPE_ELEMENT_F8_E4M3, kScales, 3));
    expectRefused("k.given_scale has 1 values at null", given(ROPE_ELEMENT_F8_E4M3, nullptr, 1));
    expectRefused("k.given_scale.values[1] is 0; it must be from 2^-100 to 2^100",
                  given(ROPE_ELEMENT_F8_E5M2, kScales, 2));
}

TEST(HostFused, RefusesCountsOfPackedSequences) {
    expectRefused("tokens_counted with positions.kind 3", [](RopeFusedDescription* d) {
        d->tokens_counted = 1;
        d->positions.kind = ROPE_POSITIONS_PACKED;
    });
    expectRefused(
        "tokens_offset is 8589934593", [](RopeFusedDescription* d) { d->tokens_offset = (1ull << 33) + 1; },
        ROPE_ERROR_TOO_LARGE);
}

// On the CPU and in the plan, in the same words.
void expectRangesRefused(const std::string& sentence, const std::function<void(RopeFusedDescription*)>& spoil) {
    RopeFusedDescription d = cached(16, ROPE_CACHE_SLOTS, 64);
    d.positions.kind = ROPE_POSITIONS_PER_TOKEN;
    d.cache.map_offset = 16;
    spoil(&d);
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
    d->cache.kind = ROPE_CACHE_PAGE_TABLE;
    d->cache.page_size = 16;
    d->cache.table_pages = 4;
}

TEST(HostFused, RefusesPositionsThatOverlapSlotsTablesOrTheCount) {
    expectRangesRefused("a row of positions takes bytes 0 to 63, and the list of slots bytes 0 to 63 of one buffer; "
                        "move an offset",
                        [](RopeFusedDescription* d) { d->cache.map_offset = 0; });
    expectRangesRefused("a row of positions takes bytes 0 to 63, and the list of slots bytes 60 to 123 of one buffer; "
                        "move an offset",
                        [](RopeFusedDescription* d) { d->cache.map_offset = 15; });
    expectRangesRefused("a row of positions takes bytes 0 to 63, and the page table bytes 0 to 31 of one buffer; "
                        "move an offset",
                        [](RopeFusedDescription* d) {
                            makeTable(d);
                            d->cache.map_offset = 0;
                            d->cache.map_element = ROPE_POSITION_INT64;
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
    expectRangesRefused("a row of positions takes bytes 0 to 3, and the page table bytes 0 to 15 of one buffer; move "
                        "an offset",
                        [](RopeFusedDescription* d) {
                            makeTable(d);
                            d->positions.kind = ROPE_POSITIONS_START_PER_SEQUENCE;
                            d->cache.map_offset = 0;
                        });
    expectRangesRefused("a row of positions takes bytes 0 to 11, and the list of slots bytes 8 to 71 of one buffer; "
                        "move an offset",
                        [](RopeFusedDescription* d) {
                            d->positions.kind = ROPE_POSITIONS_PACKED;
                            d->positions.sequences = 2;
                            d->cache.map_offset = 2;
                        });
    static const uint8_t kAxes[kDim / 2] = {0, 1, 2};
    expectRangesRefused("a row of positions takes bytes 0 to 191, and the list of slots bytes 128 to 191 of one "
                        "buffer; move an offset",
                        [](RopeFusedDescription* d) {
                            d->rotation.frequencies.axes = kAxes;
                            d->cache.map_offset = 32;
                        });
    expectRangesRefused("a row of positions takes bytes 400 to 463, and the list of slots bytes 400 to 463 of one "
                        "buffer; move an offset",
                        [](RopeFusedDescription* d) {
                            d->rotation.frequencies.axes = kAxes;
                            d->positions.axis_stride = 100;
                            d->cache.map_offset = 100;
                        });
}

// Every tensor's pass reads the one buffer: Q the positions, K and V the slots.
TEST(HostFused, RefusesPositionsOfOneTensorThatOverlapTheSlotsOfAnother) {
    static const float kOne = 1;
    const std::string sentence =
        "a row of positions takes bytes 0 to 63, and the list of slots bytes 0 to 63 of one buffer; move an offset";
    const auto atOnePlace = [](RopeFusedDescription* d) {
        d->q.heads = 2;
        d->cache.map_offset = 0;
    };
    const auto scaled = [&](RopeFusedDescription* d) {
        atOnePlace(d);
        d->query_scale = {&kOne, 1, 1, 0};
    };
    expectRangesRefused(sentence, [&](RopeFusedDescription* d) {
        scaled(d);
        d->q.no_rotation = d->k.no_rotation = 1;
    });
    expectRangesRefused(sentence, [&](RopeFusedDescription* d) {
        scaled(d);
        d->rotation.source = ROPE_SOURCE_ROWS;
    });
    expectRangesRefused(sentence, [&](RopeFusedDescription* d) { // V alone in the cache
        atOnePlace(d);
        d->k.heads = 0;
    });
    // Q and K read the same rows, which are not refused beside each other.
    static const uint8_t kAxes[kDim / 2] = {0, 1, 2};
    expectRangesRefused("", [&](RopeFusedDescription* d) {
        scaled(d);
        d->rotation.frequencies.axes = kAxes;
        d->cache.map_offset = 48;
    });
}

// Positions that nothing reads are no range, and a range may lie between another's elements.
TEST(HostFused, TakesRangesThatDoNotMeet) {
    expectRangesRefused("", [](RopeFusedDescription*) {});
    expectRangesRefused("", [](RopeFusedDescription* d) {
        d->tokens_counted = 1;
        d->tokens_offset = 32;
    });
    const auto atOnePlace = [](RopeFusedDescription* d) { d->cache.map_offset = 0; };
    expectRangesRefused("", [&](RopeFusedDescription* d) {
        atOnePlace(d);
        d->positions.kind = ROPE_POSITIONS_COUNTED;
    });
    expectRangesRefused("", [&](RopeFusedDescription* d) {
        atOnePlace(d);
        d->q.no_rotation = d->k.no_rotation = 1;
    });
    expectRangesRefused("", [&](RopeFusedDescription* d) {
        atOnePlace(d);
        d->rotation.source = ROPE_SOURCE_ROWS;
    });
    expectRangesRefused("",
                        [](RopeFusedDescription* d) { // slots between the sequences' positions, the count between both
                            d->batch = 2;
                            d->positions.batch_stride = d->cache.map_batch_stride = 33;
                            d->tokens_counted = 1;
                            d->tokens_offset = 32;
                        });
    static const uint8_t kAxes[kDim / 2] = {0, 1, 2};
    expectRangesRefused("", [](RopeFusedDescription* d) { // and between rows
        d->rotation.frequencies.axes = kAxes;
        d->positions.axis_stride = 32;
    });
    expectRangesRefused("", [](RopeFusedDescription* d) { // a cache by positions alone
        d->cache.kind = ROPE_CACHE_POSITIONS;
        d->cache.map_offset = 0;
    });
}

void expectShiftRefused(const std::string& piece, const std::function<void(RopeFusedDescription*)>& spoil) {
    expectRefused(piece, [&spoil](RopeFusedDescription* d) {
        d->q.heads = d->v.heads = 0;
        d->rotation.operation = ROPE_OPERATION_SHIFT;
        d->cache.delta = 2;
        spoil(d);
    });
}

TEST(HostFused, RefusesShiftsThatAreNone) {
    expectShiftRefused("but q has heads", [](RopeFusedDescription* d) { d->q.heads = 1; });
    expectShiftRefused("but v has heads", [](RopeFusedDescription* d) { d->v.heads = 1; });
    expectShiftRefused("but k.norm is set", [](RopeFusedDescription* d) { d->k.norm.kind = ROPE_NORM_RMS; });
    expectShiftRefused("but packed_qkv is 1", [](RopeFusedDescription* d) { d->packed_qkv = 1; });
    expectShiftRefused("but pairing_out",
                       [](RopeFusedDescription* d) { d->rotation.pairing_out = ROPE_PAIRING_INTERLEAVED; });
    expectShiftRefused("cache.delta is 0 with cache.kind 3", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_RING;
        d->cache.delta = 0;
    });
    for (const RopeSource source : {ROPE_SOURCE_TABLE, ROPE_SOURCE_ROWS}) {
        expectShiftRefused("cache.delta is 2 with source", [source](RopeFusedDescription* d) {
            d->rotation.source = source;
            d->rotation.rows.count = 8;
        });
    }
}

TEST(HostFused, RefusesArraysThatAreNull) {
    expectRefused("positions is null", [](RopeFusedDescription* d) { d->q.heads = 0; }); // slots are read
    expectRefused("q is read from q, which is null", [](RopeFusedDescription* d) {
        d->cache.kind = ROPE_CACHE_NONE;
        d->positions.kind = ROPE_POSITIONS_COUNTED;
    });
}

} // namespace
