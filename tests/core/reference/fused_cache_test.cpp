// Caches that fused passes fill on the CPU: which slot a token takes, how it is quantized there, and keys that turn
// where they lie.
#include "plan/description.h"
#include "plan/pass.h"
#include "support/host_pass.hpp"
#include "support/sample.hpp"

#include "shaders/interface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace host_pass;

namespace {

// Where each token's K lies: -1 for nowhere.
void expectSlots(const RopeFusedDescription& d, const Outcome& r, const std::vector<int64_t>& slots) {
    std::vector<float> wanted(r.v_out.size(), kUntouched);
    for (size_t t = 0; t < slots.size(); ++t) {
        for (size_t h = 0; h < kKeys && slots[t] >= 0; ++h) {
            const size_t slot = static_cast<size_t>(slots[t]);
            const size_t size = d.cache.page_size != 0 ? d.cache.page_size : d.cache.slots;
            const size_t to =
                d.cache.order == ROPE_CACHE_NHD ? slot * kKeys + h : (slot / size * kKeys + h) * size + slot % size;
            std::copy_n(r.v.begin() + static_cast<long>((t * kKeys + h) * kDim), kDim,
                        wanted.begin() + static_cast<long>(to * kDim));
        }
    }
    EXPECT_EQ(r.v_out, wanted);
    for (size_t e = 0; e < wanted.size(); ++e) { // K goes where V does
        ASSERT_EQ(r.k_out[e] == kUntouched, wanted[e] == kUntouched) << e;
    }
}

TEST(HostFused, SlotsAreTakenAsGivenAndMinusOneSkips) {
    for (const RopeCacheOrder order : {ROPE_CACHE_NHD, ROPE_CACHE_HND}) {
        const std::vector<int64_t> steps = {99, 3, -1, 0, 11, 12, -2, int64_t{1} << 32};
        RopeFusedDescription d = cached(7, ROPE_CACHE_SLOTS, 12);
        d.cache.order = order;
        d.cache.page_size = 4;
        d.cache.map_element = ROPE_POSITION_INT64;
        d.cache.map_offset = 1;
        const Outcome r = run(d, steps.data(), 12 * kKeys * kDim);
        expectSlots(d, r, {3, -1, 0, 11, -1, -1, -1});
        EXPECT_EQ(r.outside, 3u);
    }
}

TEST(HostFused, KeysInTheCacheAreTurnedByTheirPosition) {
    RopeFusedDescription d = cached(4, ROPE_CACHE_POSITIONS, 16);
    const Outcome r = run(d, nullptr, 16 * kKeys * kDim);
    for (size_t head = 0; head < 4 * kKeys; ++head) {
        Head x = headOf(r.k, head);
        turn(&x, 5.0 + static_cast<double>(head / kKeys));
        expectHead(x, r.k_out, r.reference_k, (5 * kKeys + head) * kDim);
    }
}

TEST(HostFused, APositionIsASlotOrIsCounted) {
    const std::vector<int32_t> positions = {3, -1, 15, 16, INT32_MIN};
    RopeFusedDescription d = cached(5, ROPE_CACHE_POSITIONS, 16);
    d.positions = {};
    const Outcome r = run(d, positions.data(), 16 * kKeys * kDim);
    expectSlots(d, r, {3, -1, 15, -1, -1});
    EXPECT_EQ(r.outside, 3u);
}

TEST(HostFused, EverySequenceHasACacheOfItsOwn) {
    RopeFusedDescription d = cached(2, ROPE_CACHE_POSITIONS, 8);
    d.batch = 2;
    const Outcome r = run(d, nullptr, 2 * 8 * kKeys * kDim);
    expectSlots(d, r, {5, 6, 13, 14});
}

TEST(HostFused, ARingTakesPositionsModuloItsSlots) {
    const std::vector<int32_t> positions = {7, 8, 18, -16, INT32_MAX - 2};
    RopeFusedDescription d = cached(5, ROPE_CACHE_RING, 8);
    d.positions = {};
    const Outcome r = run(d, positions.data(), 8 * kKeys * kDim);
    expectSlots(d, r, {7, 0, 2, -1, 5});
    EXPECT_EQ(r.outside, 1u);
}

// Token after token, a later one overwrites the slot of the one `slots` before it.
Outcome tokenAfterToken(RopeFusedDescription d, const std::vector<int32_t>& counts, uint32_t slots) {
    const uint32_t tokens = d.tokens, batch = d.batch;
    const size_t row = kKeys * kDim;
    Outcome all = run(d, nullptr, batch * slots * row);
    all.k_out.assign(all.k_out.size(), kUntouched);
    all.v_out = all.k_out;
    for (uint32_t b = 0; b < batch; ++b) {
        for (uint32_t t = 0; t < static_cast<uint32_t>(counts[b]); ++t) {
            d.batch = d.tokens = 1;
            d.positions.first = static_cast<int32_t>(5 + t);
            RopeHostFused step = {};
            step.k = &all.k[(b * tokens + t) * row];
            step.v = &all.v[(b * tokens + t) * row];
            step.k_out = &all.k_out[b * slots * row];
            step.v_out = &all.v_out[b * slots * row];
            EXPECT_EQ(ropeHostRunFused(&d, &step, nullptr), ROPE_SUCCESS);
        }
    }
    return all;
}

TEST(HostFused, ALongPrefillLeavesInARingWhatTokenAfterTokenLeaves) {
    for (const uint32_t slots : {1u, 3u, 8u, 10u}) {
        for (const bool counted : {false, true}) {
            RopeFusedDescription d = cached(10, ROPE_CACHE_RING, slots);
            d.batch = 3;
            std::vector<int32_t> counts = {10, 10, 10};
            const Outcome wanted = tokenAfterToken(d, counted ? counts = {10, 2, 7} : counts, slots);
            const std::vector<int32_t> list = {-9, counts[0], -9, counts[1], -9, counts[2]};
            d.tokens_counted = counted;
            d.tokens_offset = 1;
            d.tokens_batch_stride = 2;
            const Outcome r = run(d, list.data(), 3 * slots * kKeys * kDim);
            EXPECT_EQ(r.k_out, wanted.k_out) << slots;
            EXPECT_EQ(r.v_out, wanted.v_out) << slots;
            EXPECT_EQ(r.outside, 0u);
        }
    }
}

// Lengths 5, 1, 0 and 4; two tokens behind the last sequence. Each sequence stands from position 0 on.
TEST(HostFused, PackedSequencesKeepTheirLastTokensInTheirRings) {
    const std::vector<int32_t> lengths = {0, 5, 6, 6, 10};
    RopeFusedDescription d = cached(12, ROPE_CACHE_RING, 3);
    d.positions = {};
    d.positions.kind = ROPE_POSITIONS_PACKED;
    d.positions.sequences = 4;
    const Outcome r = run(d, lengths.data(), 4 * 3 * kKeys * kDim);
    expectSlots(d, r, {-1, -1, 2, 0, 1, 3, -1, 10, 11, 9, -1, -1});
    EXPECT_EQ(r.outside, 0u);
}

TEST(HostFused, APageTableNamesThePage) {
    for (const RopeCacheOrder order : {ROPE_CACHE_NHD, ROPE_CACHE_HND}) {
        // Positions of two tokens for each of two sequences, then a table of three pages for each.
        const std::vector<int32_t> all = {0, 12, 9, 5, 2, 0, 9, 1, 0, -1};
        RopeFusedDescription d = cached(2, ROPE_CACHE_PAGE_TABLE, 16);
        d.batch = 2;
        d.positions = {};
        d.cache.order = order;
        d.cache.page_size = 4;
        d.cache.table_pages = 3;
        d.cache.map_offset = 4;
        const Outcome r = run(d, all.data(), 16 * kKeys * kDim);
        expectSlots(d, r, {8, -1, -1, 1}); // position 12 is beyond the table, and entry -1 is no page
        EXPECT_EQ(r.outside, 2u);
    }
}

TEST(HostFused, PackedSequencesHaveTheirRowsOfTheTable) {
    // Lengths of two sequences that leave the last token out, then a table of two pages for each.
    const std::vector<int32_t> all = {0, 3, 5, 1, 0, 3, 2};
    RopeFusedDescription d = cached(6, ROPE_CACHE_PAGE_TABLE, 8);
    d.positions = {};
    d.positions.kind = ROPE_POSITIONS_PACKED;
    d.positions.sequences = 2;
    d.cache.page_size = 2;
    d.cache.table_pages = 2;
    d.cache.map_offset = 3;
    const Outcome r = run(d, all.data(), 8 * kKeys * kDim);
    expectSlots(d, r, {2, 3, 0, 6, 7, -1});
    EXPECT_EQ(r.outside, 0u);
}

// One dispatch may take Q and K, or each one of its own, and Q has the same bits: a token behind the last sequence does
// not turn where K's slots tell which it is.
TEST(HostFused, QByRowsDoesNotTurnBehindTheLastSequenceOfACache) {
    const std::vector<int32_t> lengths = {0, 1};
    RopeFusedDescription d = {};
    d.tokens = 2;
    d.head_dim = 4;
    d.rotation.source = ROPE_SOURCE_ROWS;
    d.out_of_place = 1;
    d.positions.kind = ROPE_POSITIONS_PACKED;
    d.positions.sequences = 1;
    d.q.heads = d.k.heads = 1;
    d.cache.kind = ROPE_CACHE_POSITIONS;
    d.cache.slots = 4;
    const float rows[8] = {0, 0, 1, 1, 0, 0, 1, 1}, q[8] = {1, 2, 3, 4, 5, 6, 7, 8}; // a quarter of a turn
    std::vector<float> q_out(8), k_out(16);
    RopeHostFused data = {};
    data.positions = lengths.data();
    data.rows = rows;
    data.q = data.k = q;
    data.q_out = q_out.data();
    data.k_out = k_out.data();
    ASSERT_EQ(ropeHostRunFused(&d, &data, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(q_out, (std::vector<float>{-3, -4, 1, 2, 5, 6, 7, 8}));
    for (const uint32_t threads : {64u, 1u << 20}) {
        RopeLimits limits;
        ropeMinimumLimits(&limits);
        limits.threads = threads;
        limits.storage_buffers = 8;
        RopePlan plan;
        ASSERT_EQ(ropePlanFused(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
        ASSERT_EQ(plan.pass_count, threads == 64 ? 2u : 1u);
        for (uint32_t i = 0; i < plan.pass_count; ++i)
            EXPECT_EQ(rope::passAt(plan, i).constants[ROPE_ID_POSITIONS], uint32_t{ROPE_KIND_PACKED});
    }
}

// Rows that are null are made from frequencies and positions, whether a reference is asked for or not.
TEST(HostFused, WithoutRowsTurnsByItsPositions) {
    const double frequency = 0.25;
    const int32_t position = 5;
    RopeFusedDescription d = {};
    d.tokens = 1;
    d.head_dim = 4;
    d.rotation.rotary_dim = 2;
    d.rotation.source = ROPE_SOURCE_ROWS;
    d.out_of_place = 1;
    d.rotation.frequencies = {&frequency, 1, 1, nullptr, 1};
    d.q.heads = 1;
    const float q[4] = {1, 0, 0, 0};
    for (const bool with_reference : {false, true}) {
        float out[4] = {}, rotated[4] = {};
        double reference[4];
        RopeHostFused data = {};
        data.positions = &position;
        data.q = q;
        data.q_out = out;
        data.reference_q = with_reference ? reference : nullptr;
        ASSERT_EQ(ropeHostRunFused(&d, &data, nullptr), ROPE_SUCCESS);
        EXPECT_NEAR(out[0], std::cos(1.25), 1e-6);
        EXPECT_NEAR(out[1], std::sin(1.25), 1e-6);
        RopeHostRotate plain = {};
        plain.positions = &position;
        plain.q = q;
        plain.q_out = rotated;
        plain.reference_q = data.reference_q;
        const RopeRotateDescription turned = rope::rotationOf(d);
        ASSERT_EQ(ropeHostRunRotate(&turned, &plain, nullptr), ROPE_SUCCESS);
        EXPECT_TRUE(std::equal(out, out + 4, rotated));
    }
}

// The buffer may then hold nothing else.
TEST(HostFused, ReadsNoPositionsThatItDoesNotNeed) {
    const std::vector<int32_t> slots = {1, 0};
    for (const bool by_delta : {false, true}) {
        RopeFusedDescription d = cached(2, ROPE_CACHE_SLOTS, 2);
        d.positions = {};
        d.positions.offset = 1 << 20;
        if (by_delta) {
            d.v.heads = 0;
            d.rotation.operation = ROPE_OPERATION_SHIFT;
            d.cache.delta = 4;
        } else {
            d.q.no_rotation = d.k.no_rotation = 1;
        }
        run(d, slots.data(), 2 * kKeys * kDim);
    }
}

// Three axes and two sets: the slot goes by axis 0 alone, whatever the others say.
TEST(HostFused, SlotsGoByTheFirstAxis) {
    std::vector<uint8_t> axes(kDim / 2);
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<uint8_t>(i % 3);
    std::vector<double> frequencies = sample::frequencies(10000, kDim);
    frequencies.resize(kDim, 0.0); // the second set does not turn
    constexpr int64_t kNone = int64_t{1} << 40;
    const std::vector<int64_t> all = {2, 4, 6, kNone, 9, kNone, 9, 9, 9, 9, 9, 9, 1, 0, 5, 1};
    RopeFusedDescription d = cached(4, ROPE_CACHE_POSITIONS, 8);
    d.positions = {};
    d.positions.element = ROPE_POSITION_INT64;
    d.rotation.frequencies = {frequencies.data(), kDim / 2, 1, axes.data(), 2};
    const Outcome r = run(d, all.data(), 8 * kKeys * kDim);
    expectSlots(d, r, {2, 4, 6, -1});
    EXPECT_EQ(r.outside, 3u); // the second has no position on axis 1, the third no set, the last no slot
    const size_t slot = kKeys * kDim;
    for (size_t t = 0; t < 3; ++t) { // none of them turns
        EXPECT_TRUE(std::equal(&r.k[t * slot], &r.k[t * slot] + slot, &r.k_out[(2 + 2 * t) * slot])) << t;
    }
}

TEST(HostFused, RowsByTokenStillLeaveSlotsToPositions) {
    RopeFusedDescription d = cached(2, ROPE_CACHE_RING, 4);
    d.rotation.source = ROPE_SOURCE_ROWS;
    d.rotation.frequencies.values = nullptr;
    std::vector<float> rows(2 * kDim, 0.0f); // a quarter turn
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = i % kDim < kDim / 2 ? 0.0f : 1.0f;
    const std::vector<float> k = sample::values(2 * kKeys * kDim, 2);
    std::vector<float> out(4 * kKeys * kDim, kUntouched), v_out = out;
    RopeHostFused data = {};
    data.rows = rows.data();
    data.k = data.v = k.data();
    data.k_out = out.data();
    data.v_out = v_out.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    for (size_t t = 0; t < 2; ++t) {
        EXPECT_EQ(out[(t + 1) * kKeys * kDim], -k[t * kKeys * kDim + kDim / 2]); // positions 5 and 6
        EXPECT_EQ(v_out[(t + 1) * kKeys * kDim], k[t * kKeys * kDim]);
    }
    EXPECT_EQ(std::count(out.begin(), out.end(), kUntouched), 2 * kKeys * kDim);
}

TEST(HostFused, PackedSequencesHaveTheirCaches) {
    const std::vector<int32_t> lengths = {0, 3, 5};
    RopeFusedDescription d = cached(5, ROPE_CACHE_POSITIONS, 4);
    d.positions = {};
    d.positions.kind = ROPE_POSITIONS_PACKED;
    d.positions.sequences = 2;
    const Outcome r = run(d, lengths.data(), 2 * 4 * kKeys * kDim);
    expectSlots(d, r, {0, 1, 2, 4, 5});
}

TEST(HostFused, ATokenOfNoSequenceHasNoSlot) {
    const std::vector<int32_t> all = {0, 2, 3, 2, 1}; // the length of one sequence, then slots
    RopeFusedDescription d = cached(3, ROPE_CACHE_SLOTS, 4);
    d.q.no_rotation = d.k.no_rotation = 1;
    d.positions = {};
    d.positions.kind = ROPE_POSITIONS_PACKED;
    d.positions.sequences = 1;
    d.cache.map_offset = 2;
    const Outcome r = run(d, all.data(), 4 * kKeys * kDim);
    expectSlots(d, r, {3, 2, -1});
    EXPECT_EQ(r.outside, 0u);
}

TEST(HostFused, ATokenIsCountedOnce) {
    const std::vector<int32_t> positions = {1, 50, 100};
    RopeFusedDescription d = cached(3, ROPE_CACHE_POSITIONS, 10);
    d.positions = {};
    d.rotation.source = ROPE_SOURCE_TABLE;
    d.rotation.rows.count = 60;
    const Outcome r = run(d, positions.data(), 10 * kKeys * kDim);
    EXPECT_EQ(r.outside, 2u); // 50 has no slot, 100 no row either
}

TEST(HostFused, AShiftTurnsKeysWhereTheyLie) {
    for (const int32_t delta : {-3, 0}) {
        const std::vector<int32_t> all = {10, 20, 4, 6}; // positions, then slots
        RopeFusedDescription d = cached(2, ROPE_CACHE_SLOTS, 8);
        d.v.heads = 0;
        d.positions = {};
        d.rotation.operation = ROPE_OPERATION_SHIFT;
        d.rotation.frequencies.scale = 1.5; // a shift has none
        d.cache.map_offset = 2;
        d.cache.delta = delta;
        const std::vector<float> before = sample::values(8 * kKeys * kDim, 7);
        std::vector<float> k = before;
        std::vector<double> reference(k.size());
        RopeHostFused data = {};
        data.positions = all.data();
        data.k_out = k.data();
        data.reference_k = reference.data();
        RopeReason reason;
        ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
        for (size_t head = 0; head < 8 * kKeys; ++head) {
            const size_t slot = head / kKeys;
            Head x = headOf(before, head);
            if (slot != 4 && slot != 6) {
                EXPECT_EQ(headOf(k, head), x);
                continue;
            }
            turn(&x, delta != 0 ? delta : slot == 4 ? 10 : 20);
            expectHead(x, k, reference, head * kDim);
        }
    }
}

// ---- Quantizers

// llama.cpp's quantize_row_q8_0_ref, of one block.
void quantizeAsLlama(const float* x, uint8_t* block) {
    float amax = 0;
    for (int i = 0; i < 32; ++i) amax = std::max(amax, std::fabs(x[i]));
    const float d = amax / 127;
    const float id = d != 0 ? 1.0f / d : 0.0f;
    ropeConvertElements(&d, ROPE_ELEMENT_F32, block, ROPE_ELEMENT_F16, 1);
    for (int i = 0; i < 32; ++i) {
        const float scaled = x[i] * id;
        block[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(scaled)));
    }
}

TEST(HostFused, BlocksOfQ8AreLlamaCpps) {
    constexpr uint32_t kTokens = 50;
    RopeFusedDescription d = cached(kTokens, ROPE_CACHE_POSITIONS, 64);
    d.k.heads = 0;
    d.k.element = d.v.element = ROPE_ELEMENT_Q8_0;
    std::vector<float> v = sample::values(kTokens * kKeys * kDim, 4);
    sample::Random random(8);
    for (size_t i = 0; i < v.size(); i += 32) { // of all sizes, some of zeros, some with halves
        const float size = std::ldexp(1.0f, static_cast<int>(random.below(40)) - 30);
        const uint32_t kind = random.below(4);
        for (size_t j = i; j < i + 32; ++j) v[j] = kind == 0 ? 0 : kind == 1 ? std::floor(v[j] * 100) / 2 : v[j] * size;
        if (kind == 1) v[i] = 127;
    }
    std::vector<uint8_t> out(64 * kKeys * kDim / 32 * 34, 0xEE);
    std::vector<double> reference(64 * kKeys * kDim);
    RopeHostFused data = {};
    data.v = v.data();
    data.v_out = out.data();
    data.reference_v = reference.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    for (size_t block = 0; block < v.size() / 32; ++block) {
        const size_t place = 5 * kKeys * kDim / 32 + block; // slots go by position
        uint8_t wanted[34];
        quantizeAsLlama(&v[block * 32], wanted);
        ASSERT_EQ(std::memcmp(wanted, &out[place * 34], 34), 0) << block;
        ASSERT_EQ(reference[place * 32 + 7], v[block * 32 + 7]);
    }
    EXPECT_EQ(out[5 * kKeys * kDim / 32 * 34 - 1], 0xEE);
    EXPECT_EQ(out[55 * kKeys * kDim / 32 * 34], 0xEE);
}

TEST(HostFused, Int8HasAScaleForEachSlotAndHead) {
    RopeFusedDescription d = cached(3, ROPE_CACHE_POSITIONS, 16);
    d.k.heads = 0;
    d.k.element = d.v.element = ROPE_ELEMENT_I8;
    d.cache.order = ROPE_CACHE_HND;
    d.v.stored_scales.offset = 16 * kKeys * kDim / 4;
    std::vector<float> v = sample::values(3 * kKeys * kDim, 5);
    std::vector<int8_t> out(16 * kKeys * (kDim + 4), 99);
    RopeHostFused data = {};
    data.v = v.data();
    data.v_out = out.data();
    RopeReason reason;
    ASSERT_EQ(ropeHostRunFused(&d, &data, &reason), ROPE_SUCCESS) << reason.text;
    for (size_t head = 0; head < 3 * kKeys; ++head) {
        const float* x = &v[head * kDim];
        float amax = 0;
        for (uint32_t i = 0; i < kDim; ++i) amax = std::max(amax, std::fabs(x[i]));
        const size_t slot = head % kKeys * 16 + 5 + head / kKeys;
        float scale;
        std::memcpy(&scale, &out[16 * kKeys * kDim + slot * 4], 4);
        EXPECT_EQ(scale, amax / 127);
        const float inverse = 1 / scale;
        for (uint32_t i = 0; i < kDim; ++i) {
            const float scaled = x[i] * inverse;
            ASSERT_EQ(out[slot * kDim + i], static_cast<int8_t>(std::round(scaled))) << head << " " << i;
        }
    }
    EXPECT_EQ(std::count(out.begin(), out.begin() + 5 * kDim, 99), 5 * kDim);
}

} // namespace
