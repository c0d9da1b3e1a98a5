// Any description is refused, or planned so that nothing ever wraps. No device needed.
#include "support/reach.hpp"
#include "support/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

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
    p.same_for_all_sequences = random->below(2);
    p.sequences = anyCount(random);
    d->rotation.skip_first = random->below(4) == 0 ? anyCount(random) : 0;
    d->rotation.skip_last = random->below(4) == 0 ? anyCount(random) : 0;
    d->rotation.chunk_dim = random->below(4) == 0 ? random->below(100) : 0;
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
    d.rotation.rotary_begin = random->below(3) == 0 ? random->below(200) : 0;
    d.rotation.rotary_dim = random->below(3) == 0 ? random->below(300) : 0;
    d.rotation.pairing = static_cast<RopePairing>(random->below(3));
    d.rotation.pairing_out = static_cast<RopePairing>(random->below(3));
    d.rotation.operation = static_cast<RopeOperation>(random->below(4));
    d.rotation.source = static_cast<RopeSource>(random->below(3));
    d.out_of_place = random->below(2);
    d.count_outside = random->below(2);
    anyPositions(random, &d);
    d.rotation.rows.count = anyCount(random);
    d.rotation.rows.row_stride = anyStride(random);
    d.rotation.rows.sin_offset = static_cast<int64_t>(random->below(300)) - 100;
    d.rotation.rows.pair_stride = random->below(4);
    d.rotation.rows.element = static_cast<RopeElement>(random->below(4));
    d.rotation.rows.offset = random->below(300);
    d.element = static_cast<RopeElement>(random->below(4));
    d.element_out = static_cast<RopeElement>(random->below(4));
    for (RopeTensor* t : {&d.q, &d.k}) {
        t->heads = anyCount(random) >> random->below(32);
        for (RopeLayout* layout : {&t->from, &t->to}) {
            if (random->below(2) == 0)
                *layout = {anyStride(random), anyStride(random), anyStride(random), anyStride(random)};
        }
    }
    const uint32_t room = d.rotation.rotary_begin < d.head_dim ? d.head_dim - d.rotation.rotary_begin : 0;
    const uint32_t pairs = (d.rotation.rotary_dim != 0 ? d.rotation.rotary_dim : room) / 2;
    d.rotation.frequencies = {nullptr, pairs, 1, nullptr,
                              random->below(3) == 0 ? anyCount(random) >> random->below(32) : 1};
    const bool fits = pairs <= ROPE_MAX_PAIRS && d.rotation.frequencies.sets <= 4;
    if (fits || d.rotation.source == ROPE_SOURCE_INLINE) d.rotation.frequencies.values = kFrequencies.data();
    if (!fits && d.rotation.source == ROPE_SOURCE_INLINE) d.rotation.frequencies.sets = 1;
    if (random->below(3) == 0 && pairs <= ROPE_MAX_PAIRS) d.rotation.frequencies.axes = kAxes[random->below(3)].data();
    return d;
}

// Any description is either refused with a sentence or has every index inside the sizes that its plan asked for.
TEST(Plan, IsRefusedOrInsideItsSizesForAnyDescription) {
    sample::Random random(42);
    uint32_t accepted = 0;
    for (int i = 0; i < 1000000; ++i) {
        const RopeRotateDescription d = anyDescription(&random);
        RopeLimits limits;
        ropeMinimumLimits(&limits);
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
        RopeTableDescription d = {
            from.rotation.frequencies, from.rotation.angle, from.batch, from.tokens, from.positions,
            from.rotation.rows};
        d.rows.element = ROPE_ELEMENT_DEFAULT;
        d.rows.copy_offset = random.below(3) == 0 ? random.below(300) : 0;
        RopePlan plan;
        if (ropePlanTable(&d, nullptr, &plan) != ROPE_SUCCESS) {
            ASSERT_NE(plan.reason.text[0], '\0');
            continue;
        }
        ++accepted;
        const uint32_t count = ropeDispatchCount(&plan);
        for (uint32_t part = 0; part < count; ++part) {
            if (count > 1050 && part == 1000) part = count - 50; // enough of the same
            RopeDispatch dispatch;
            ropeGetDispatch(&plan, part, &dispatch);
            rope::RopePush push; // the words that the families share
            rope::RopeTablePush own;
            std::memcpy(&push, dispatch.push, sizeof push);
            std::memcpy(&own, dispatch.push, sizeof own);
            const reach::Last asked = {dispatch.groups[1] - 1ull, push.tokens - 1ull, 0};
            const uint64_t pairs = dispatch.constants[ROPE_ID_PAIR_COUNTS] & 0xFFFF;
            const uint64_t size[3] = {dispatch.constants[ROPE_ID_GROUP_SIZE], dispatch.constants[ROPE_ID_GROUP_BLOCKS],
                                      dispatch.constants[ROPE_ID_GROUP_TOKENS]};
            ASSERT_EQ(pairs, d.frequencies.count);
            ASSERT_TRUE(size[0] * size[2] <= 64 && size[1] == 1);
            ASSERT_EQ(dispatch.groups[0], (push.tokens + size[2] - 1) / size[2]);
            ASSERT_EQ(dispatch.groups[2], (pairs + size[0] - 1) / size[0]);
            reach::checkPositions(dispatch, push, asked);
            reach::checkCosSin(dispatch, push, asked, pairs);
            const int64_t sine = static_cast<int32_t>(push.sin_offset);
            const rope::RopePlace& to = push.destination;
            const uint64_t first = uint64_t{to.offset} + push.rows.offset;
            const uint64_t last = first + (dispatch.groups[1] - 1ull) * to.batch + (push.tokens - 1ull) * to.token +
                                  (d.frequencies.count - 1ull) * push.rows.head + own.row_copy +
                                  static_cast<uint64_t>(std::max(sine, int64_t{0}));
            ASSERT_GE(static_cast<int64_t>(first) + sine, 0);
            ASSERT_LE((last + 1) * 4, dispatch.bindings[ROPE_BINDING_DESTINATION].range);
        }
    }
    EXPECT_GT(accepted, 3000u);
}

} // namespace
