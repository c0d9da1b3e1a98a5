// What one dispatch of a plan reaches over, from its constants and push words alone, in 64 bits.
#pragma once

#include "rope.h"

#include "../shaders/interface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace reach {

// The last of what it asks for, counted from what is bound.
struct Last {
    uint64_t batch, token, head;
};

struct Touched {
    uint64_t begin, end; // bytes within the slot
};

// `head_stride`: a fused pass has it as a constant.
inline Touched touched(const RopeBinding& binding, const rope::RopePlace& place, const Last& last, uint64_t head_stride,
                       uint64_t extent, RopeElement element) {
    const uint64_t size = ropeElementBytes(element);
    const uint64_t end =
        place.offset + last.batch * place.batch + last.token * place.token + last.head * head_stride + extent;
    EXPECT_LE(end * size, binding.range);
    return {binding.offset + place.offset * size, binding.offset + end * size};
}

// Of a rotation's or an addition's tensor, in elements: their wide shaders count runs of four.
inline rope::RopePlace inElements(const RopeDispatch& dispatch, const rope::RopePlace& p) {
    const uint32_t run = std::strstr(dispatch.shader->name, "_wide") != nullptr ? 4 : 1;
    return {p.offset * run, p.batch * run, p.token * run, p.head * run};
}

// The last position, length or set that any token can ask for, whatever the buffer holds.
inline void checkPositions(const RopeDispatch& dispatch, const rope::RopePush& push, const Last& asked) {
    const RopeBinding& binding = dispatch.bindings[ROPE_BINDING_POSITIONS];
    const uint32_t* constants = dispatch.constants;
    const uint32_t kind = constants[ROPE_ID_POSITIONS];
    if (kind == ROPE_KIND_COUNTED) return;
    const bool packed = kind >= ROPE_KIND_PACKED;
    const uint64_t rows = (packed ? kind - ROPE_KIND_PACKED + 1 : constants[ROPE_ID_AXES]) + constants[ROPE_ID_SETS];
    uint64_t last = push.position_offset + (rows - 1) * push.position_axis;
    if (packed) {
        last = std::max(last + push.ROPE_SEQUENCES - 1, uint64_t{push.position_offset} + push.ROPE_SEQUENCES);
    } else {
        last += asked.batch * push.position_batch;
        if (kind == ROPE_KIND_PER_TOKEN) last += asked.token * push.position_token;
    }
    const bool wide =
        constants[ROPE_ID_POSITION_ELEMENT] == ROPE_WHOLE_64 || constants[ROPE_ID_POSITION_ELEMENT] == ROPE_FIXED_64;
    ASSERT_EQ(binding.slot, ROPE_SLOT_POSITIONS);
    ASSERT_LE((last + 1) * (wide ? 8 : 4), binding.range);
}

// The last frequency, or the first and last entry of a row.
inline void checkCosSin(const RopeDispatch& dispatch, const rope::RopePush& push, const Last& asked, uint64_t pairs) {
    const RopeBinding& binding = dispatch.bindings[ROPE_BINDING_COS_SIN];
    const uint32_t* constants = dispatch.constants;
    const uint64_t sets = constants[ROPE_ID_SETS] != 0 ? push.sets : 1;
    if (constants[ROPE_ID_COS_SIN] == ROPE_FROM_INLINE) {
        ASSERT_EQ(binding.slot, ROPE_SLOT_FREQUENCIES);
        ASSERT_LE(sets * pairs * 16, binding.range);
        return;
    }
    uint64_t row = asked.batch * push.rows.batch + asked.token * push.rows.token;
    if (constants[ROPE_ID_COS_SIN] == ROPE_FROM_TABLE) row = (sets * push.ROPE_TABLE_ROWS - 1) * push.rows.token;
    const int64_t sine = static_cast<int32_t>(push.sin_offset);
    const uint64_t last = push.rows.offset + row + (pairs - 1) * push.rows.head + (sine > 0 ? sine : 0);
    const uint64_t bytes = constants[ROPE_ID_ROW_ELEMENT] != ROPE_F32 ? 2 : 4;
    ASSERT_EQ(binding.slot, ROPE_SLOT_ROWS);
    ASSERT_GE(push.rows.offset + sine, 0);
    ASSERT_LE((last + 1) * bytes, binding.range);
    if (constants[ROPE_ID_ROWS] == ROPE_ROWS_SINGLE) return;
    const uint64_t starts = push.rows.offset | push.rows.batch | push.rows.token;
    ASSERT_EQ(starts % 4, 0u);
    ASSERT_EQ(sine % 4, constants[ROPE_ID_ROWS] == ROPE_ROWS_WOVEN ? 1 : 0);
}

// What the push words count in runs of elements is of whole ones, and a thread that is told of all heads has them.
inline void checkPasses(const RopePlan& plan) {
    for (uint32_t i = 0; i < plan.pass_count; ++i) {
        const RopePass& pass = plan.passes[i];
        for (const int binding : {ROPE_BINDING_SOURCE, ROPE_BINDING_DESTINATION}) {
            const RopeAccess& access = pass.access[binding];
            EXPECT_EQ(access.offset % pass.address_unit, 0u);
            for (int axis = 0; axis < 3; ++axis) {
                const uint64_t stride = pass.count[axis] > 1 ? access.stride[axis] : 0;
                EXPECT_EQ(stride % pass.address_unit, 0u) << axis;
            }
        }
        EXPECT_TRUE(pass.constants[ROPE_ID_HEADS] != ROPE_EVERY_HEAD || pass.heads_per_thread >= pass.count[2]);
    }
}

// Every dispatch stays inside what the plan names, and together they take every token of every head.
inline void checkDispatches(const RopePlan& plan, const RopeRotateDescription& d, const RopeLimits& limits) {
    checkPasses(plan);
    uint64_t taken = 0, counted = 0;
    const uint32_t count = ropeDispatchCount(&plan);
    for (uint32_t i = 0; i < count; ++i) {
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, i, &dispatch);
        rope::RopePush push;
        std::memcpy(&push, dispatch.push, sizeof push);
        const uint32_t given = dispatch.constants[ROPE_ID_HEADS], heads = given == ROPE_EVERY_HEAD ? push.heads : given;
        const uint64_t tokens = std::max(dispatch.constants[ROPE_ID_TOKENS], 1u);
        ASSERT_LE(dispatch.groups[0], limits.group_count[0]);
        ASSERT_LE(dispatch.groups[1], limits.group_count[1]);
        ASSERT_GE(static_cast<uint64_t>(dispatch.groups[0]) * dispatch.constants[ROPE_ID_GROUP_SIZE],
                  (push.tokens + tokens - 1) / tokens * push.head_lanes * ((push.heads + heads - 1) / heads));
        for (const RopeBinding& binding : dispatch.bindings) {
            ASSERT_LE(binding.range, limits.storage_range);
            ASSERT_EQ(binding.offset % plan.limits.storage_alignment, 0u);
            if (binding.range == 0) continue;
            ASSERT_LE(binding.offset + binding.range, plan.bytes[binding.slot]);
        }
        const uint64_t batches = dispatch.groups[1];
        const Last last = {batches - 1, push.tokens - 1ull, push.heads - 1ull};
        checkPositions(dispatch, push, last);
        if (dispatch.bindings[ROPE_BINDING_DESTINATION].slot == ROPE_SLOT_COUNTER) {
            counted += batches * push.tokens;
            continue;
        }
        checkCosSin(dispatch, push, last, push.pair_counts & 0xFFFF);
        const rope::RopePlace source = inElements(dispatch, push.source),
                              destination = inElements(dispatch, push.destination);
        const Touched to = touched(dispatch.bindings[ROPE_BINDING_DESTINATION], destination, last, destination.head,
                                   d.head_dim, d.element_out != 0 ? d.element_out : d.element_in);
        ASSERT_LE(to.end, plan.bytes[dispatch.bindings[ROPE_BINDING_DESTINATION].slot]);
        if (d.out_of_place != 0) {
            touched(dispatch.bindings[ROPE_BINDING_SOURCE], source, last, source.head, d.head_dim, d.element_in);
        } else {
            ASSERT_EQ(dispatch.bindings[ROPE_BINDING_SOURCE].range, 0u);
            ASSERT_EQ(std::memcmp(&push.source, &push.destination, sizeof push.source), 0)
                << "read where it is written";
        }
        taken += batches * push.tokens * push.heads;
        if (count > 5000 && i == 2500) return; // enough of the same
    }
    const uint64_t batch = d.batch == 0 ? 1 : d.batch;
    EXPECT_EQ(counted, plan.bytes[ROPE_SLOT_COUNTER] != 0 ? batch * d.tokens : 0);
    EXPECT_EQ(taken, batch * d.tokens * (static_cast<uint64_t>(d.q.heads) + d.k.heads));
}

} // namespace reach
