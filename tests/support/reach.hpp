// This file finds what one dispatch of a plan reaches over, from its constants and push words alone, in 64 bits.
#pragma once

#include "plan/pass.h"
#include <vkrope/rope.h>

#include "shaders/interface.h"

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

// A place of a rotation's or an addition's tensor in elements. Push words count runs of so many.
inline rope::RopePlace inElements(uint32_t run, const rope::RopePlace& p) {
    return {p.offset * run, p.batch * run, p.token * run, p.head * run};
}

// The words that tell where tokens stand. A fused pass, or a count, has a part of them as constants.
inline rope::RopePush tokenWords(const RopeDispatch& dispatch) {
    rope::RopePush words = {};
    const bool fused = std::strncmp(dispatch.shader->name, "fused", 5) == 0;
    if (!fused && std::strcmp(dispatch.shader->name, "count") != 0) {
        std::memcpy(&words, dispatch.push, sizeof words);
        return words;
    }
    rope::RopeFusedPush push;
    std::memcpy(&push, dispatch.push, sizeof push);
    const uint32_t row = dispatch.constants[ROPE_ID_ROW_TOKEN];
    words.rows = {push.rows_offset, push.plan_tokens * row, row, dispatch.constants[ROPE_ID_ROW_PAIR]};
    words.tokens = push.tokens;
    words.position_offset = push.position_offset;
    words.position_batch = push.position_batch;
    words.position_token = dispatch.constants[ROPE_ID_POSITION_TOKEN];
    words.position_axis = push.position_axis;
    words.scale_exponent = push.scale_exponent;
    words.sin_offset = push.sin_offset;
    return words;
}

// The last position, length or set that any token can ask for, whatever the buffer holds.
inline void checkPositions(const RopeDispatch& dispatch, const rope::RopePush& push, const Last& asked) {
    const RopeBinding& binding = dispatch.bindings[ROPE_BINDING_POSITIONS];
    const uint32_t* constants = dispatch.constants;
    const uint32_t kind = constants[ROPE_ID_POSITIONS];
    if (kind == ROPE_KIND_COUNTED) return;
    const bool packed = kind >= ROPE_KIND_PACKED;
    const uint64_t rows =
        (packed ? kind - ROPE_KIND_PACKED + 1 : constants[ROPE_ID_AXES]) + (constants[ROPE_ID_SETS] != 0);
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
    const uint64_t sets = std::max(constants[ROPE_ID_SETS], 1u);
    if (constants[ROPE_ID_COS_SIN] == ROPE_FROM_INLINE) {
        ASSERT_EQ(binding.slot, ROPE_SLOT_FREQUENCIES);
        ASSERT_LE(sets * pairs * 16, binding.range);
        return;
    }
    uint64_t row = asked.batch * push.rows.batch + asked.token * push.rows.token;
    if (constants[ROPE_ID_COS_SIN] == ROPE_FROM_TABLE)
        row = (sets * static_cast<uint32_t>(push.ROPE_TABLE_ROWS) - 1) * push.rows.token;
    const int64_t sine = static_cast<int32_t>(push.sin_offset);
    const uint64_t last =
        push.rows.offset + row + (pairs - 1) * push.rows.head + static_cast<uint64_t>(std::max(sine, int64_t{0}));
    const uint64_t bytes = constants[ROPE_ID_ROW_ELEMENT] != ROPE_F32 ? 2 : 4;
    ASSERT_EQ(binding.slot, ROPE_SLOT_ROWS);
    ASSERT_GE(push.rows.offset + sine, 0);
    ASSERT_LE((last + 1) * bytes, binding.range);
    if (constants[ROPE_ID_ROWS] == ROPE_ROWS_SINGLE) return;
    const uint64_t starts = push.rows.offset | push.rows.batch | push.rows.token;
    ASSERT_EQ(starts % 4, 0u);
    if (constants[ROPE_ID_ROWS] == ROPE_ROWS_BY_EIGHT) {
        ASSERT_EQ((starts | static_cast<uint64_t>(sine)) % 8, 0u);
        ASSERT_EQ(bytes, 2u);
        ASSERT_EQ(constants[ROPE_ID_QUADS], 2u);
    }
    ASSERT_EQ(sine % 4, constants[ROPE_ID_ROWS] == ROPE_ROWS_WOVEN ? 1 : 0);
}

// Push words count whole runs of elements.
inline void checkPass(const rope::PlanPass& pass) {
    for (const int binding :
         {ROPE_BINDING_SOURCE, ROPE_BINDING_SOURCE_K, ROPE_BINDING_DESTINATION, ROPE_BINDING_DESTINATION_K}) {
        const rope::PassAccess& access = pass.access[binding];
        EXPECT_EQ(access.offset % pass.address_unit, 0u);
        for (int axis = 0; axis < 3; ++axis) {
            const uint64_t stride = pass.count[axis] > 1 ? access.stride[axis] : 0;
            EXPECT_EQ(stride % pass.address_unit, 0u) << axis;
        }
    }
}

// One dispatch of a pass, and what it was planned from.
struct Dispatched {
    const RopePlan& plan;
    const rope::PlanPass& pass;
    const RopeRotateDescription& d;
    RopeDispatch dispatch;
    uint64_t id(uint32_t constant) const { return dispatch.constants[constant]; }
};

// The tokens of a dispatch's heads, of Q and of K. An addition's one tensor counts as Q.
struct Taken {
    uint64_t q = 0, k = 0;
};

// One tensor lies within its bindings, wherever its tokens and heads are.
inline void checkTensor(const Dispatched& of, uint32_t source, const rope::RopePlace& from, uint32_t destination,
                        const rope::RopePlace& to, const Last& last) {
    const RopeRotateDescription& d = of.d;
    const RopeBinding* bindings = of.dispatch.bindings;
    const rope::RopePlace in = inElements(of.pass.address_unit, from), out = inElements(of.pass.address_unit, to);
    const Touched written =
        touched(bindings[destination], out, last, out.head, d.head_dim, d.element_out != 0 ? d.element_out : d.element);
    ASSERT_LE(written.end, of.plan.bytes[bindings[destination].slot]);
    if (d.out_of_place != 0) {
        touched(bindings[source], in, last, in.head, d.head_dim, d.element);
    } else {
        ASSERT_EQ(bindings[source].range, 0u);
        ASSERT_EQ(std::memcmp(&from, &to, sizeof from), 0) << "read where it is written";
    }
}

// The groups of a rotation or an addition are of a size that devices have, and no group is needless. Then every lane of
// every block of every token has one thread.
inline void checkGroups(const Dispatched& of, const RopeLimits& limits, uint64_t tokens, uint64_t blocks) {
    const uint64_t size[3] = {of.id(ROPE_ID_GROUP_SIZE), of.id(ROPE_ID_GROUP_BLOCKS), of.id(ROPE_ID_GROUP_TOKENS)};
    const uint64_t lanes = of.id(ROPE_ID_HEAD_LANES), parts = of.id(ROPE_ID_LANE_PARTS);
    const uint32_t* groups = of.dispatch.groups;
    ASSERT_GE(size[0] * size[1] * size[2], 1u);
    ASSERT_LE(size[0] * size[1] * size[2], of.d.tuning.group_size != 0 ? of.d.tuning.group_size : limits.group_size);
    ASSERT_LE(size[1], 128u) << "what every device has in y";
    ASSERT_LE(size[2], 64u) << "and in z";
    ASSERT_EQ(groups[0], (tokens + size[2] - 1) / size[2]);
    ASSERT_EQ(parts, (lanes + size[0] - 1) / size[0]);
    ASSERT_EQ(groups[2], (blocks + size[1] - 1) / size[1] * parts);
    ASSERT_LE(groups[2], 65535u);
}

// The shared memory of a rotation's group has room for all pairs of its tokens.
inline void checkShared(const Dispatched& of, const RopeLimits& limits) {
    if (of.id(ROPE_ID_SHARES) == 0) return;
    ASSERT_EQ(of.id(ROPE_ID_LANE_PARTS), 1u) << "all threads of a token are in one group";
    ASSERT_LE(of.id(ROPE_ID_GROUP_TOKENS) * (of.id(ROPE_ID_PAIR_COUNTS) & 0xFFFF) * 8, limits.shared_bytes);
}

inline void checkRotation(const Dispatched& of, const RopeLimits& limits, Taken* taken) {
    rope::RopeRotatePush push;
    std::memcpy(&push, of.dispatch.push, sizeof push);
    const uint64_t heads = of.id(ROPE_ID_HEADS), q_blocks = of.id(ROPE_ID_Q_BLOCKS);
    const bool both = q_blocks != 0;
    const uint64_t q_heads = both ? of.id(ROPE_ID_Q_HEADS) : push.heads, k_heads = both ? of.id(ROPE_ID_K_HEADS) : 0;
    if (both) {
        ASSERT_EQ(q_blocks, (q_heads + heads - 1) / heads);
    }
    ASSERT_TRUE(heads >= 1 && heads <= ROPE_MAX_ROTATED_HEADS);
    ASSERT_EQ(of.dispatch.bindings[ROPE_BINDING_DESTINATION_K].range != 0, both);
    checkGroups(of, limits, push.tokens, (q_heads + heads - 1) / heads + (k_heads + heads - 1) / heads);
    checkShared(of, limits);
    const uint64_t batches = of.dispatch.groups[1];
    checkTensor(of, ROPE_BINDING_SOURCE, push.source, ROPE_BINDING_DESTINATION, push.destination,
                {batches - 1, push.tokens - 1ull, q_heads - 1});
    const uint32_t slot = of.dispatch.bindings[ROPE_BINDING_DESTINATION].slot;
    const bool is_k = slot == ROPE_SLOT_K || slot == ROPE_SLOT_K_OUT;
    (is_k ? taken->k : taken->q) += batches * push.tokens * q_heads;
    if (!both) return;
    ASSERT_FALSE(is_k);
    checkTensor(of, ROPE_BINDING_SOURCE_K, push.source_k, ROPE_BINDING_DESTINATION_K, push.destination_k,
                {batches - 1, push.tokens - 1ull, k_heads - 1});
    taken->k += batches * push.tokens * k_heads;
}

// A group of an addition has several blocks of sequences only where it shares what it computes for them.
inline void checkAddition(const Dispatched& of, const RopeLimits& limits, Taken* taken) {
    rope::RopeRotatePush push;
    std::memcpy(&push, of.dispatch.push, sizeof push);
    const uint64_t sequences = of.id(ROPE_ID_HEADS), quads = of.id(ROPE_ID_QUADS);
    ASSERT_TRUE(sequences >= 1 && sequences <= ROPE_MAX_ROTATED_HEADS);
    checkGroups(of, limits, push.tokens, (push.heads + sequences - 1) / sequences);
    const uint64_t lane_pairs = 4 * quads, pairs = of.id(ROPE_ID_PAIR_COUNTS) & 0xFFFF;
    ASSERT_EQ(of.id(ROPE_ID_HEAD_LANES), (pairs + lane_pairs - 1) / lane_pairs);
    const bool computes = of.id(ROPE_ID_COS_SIN) == ROPE_FROM_INLINE;
    ASSERT_EQ(of.id(ROPE_ID_SHARES), computes && of.id(ROPE_ID_GROUP_BLOCKS) > 1);
    if (of.id(ROPE_ID_SHARES) != 0) {
        ASSERT_LE(of.id(ROPE_ID_GROUP_TOKENS) * of.id(ROPE_ID_GROUP_SIZE) * lane_pairs * 8, limits.shared_bytes);
    }
    checkTensor(of, ROPE_BINDING_SOURCE, push.source, ROPE_BINDING_DESTINATION, push.destination,
                {of.dispatch.groups[1] - 1ull, push.tokens - 1ull, push.heads - 1ull});
    taken->q += uint64_t{of.dispatch.groups[1]} * push.tokens * push.heads;
}

// The count of tokens has a thread for each.
inline void checkCount(const Dispatched& of, const rope::RopePush& push) {
    const uint64_t in_group = of.id(ROPE_ID_GROUP_TOKENS);
    ASSERT_TRUE(in_group >= 1 && in_group <= 64) << "what every device has in z";
    ASSERT_EQ(of.id(ROPE_ID_GROUP_SIZE) * of.id(ROPE_ID_GROUP_BLOCKS), 1u);
    ASSERT_EQ(of.dispatch.groups[0], (push.tokens + in_group - 1) / in_group);
    ASSERT_EQ(of.dispatch.groups[2], 1u);
}

// The pass of a plan's dispatch.
inline const rope::PlanPass& passOf(const RopePlan& plan, uint64_t index) {
    uint32_t pass = 0;
    for (;; ++pass) {
        const uint64_t count = plan.passes[pass].dispatches;
        if (index < count) return rope::passAt(plan, pass);
        index -= count;
    }
}

// Every dispatch stays inside what the plan names, and together they take every token of every head.
inline void checkDispatches(const RopePlan& plan, const RopeRotateDescription& d, const RopeLimits& limits) {
    for (uint32_t i = 0; i < plan.pass_count; ++i) checkPass(rope::passAt(plan, i));
    Taken taken;
    uint64_t counted = 0;
    const uint32_t count = ropeDispatchCount(&plan);
    for (uint32_t i = 0; i < count; ++i) {
        Dispatched of = {plan, passOf(plan, i), d, {}};
        const RopeDispatch& dispatch = of.dispatch;
        ropeGetDispatch(&plan, i, &of.dispatch);
        const rope::RopePush push = tokenWords(dispatch);
        ASSERT_LE(dispatch.groups[0], limits.group_count[0]);
        ASSERT_LE(dispatch.groups[1], limits.group_count[1]);
        for (const RopeBinding& binding : dispatch.bindings) {
            ASSERT_LE(binding.range, limits.storage_range);
            ASSERT_EQ(binding.offset % plan.limits.storage_alignment, 0u);
            if (binding.range == 0) continue;
            ASSERT_LE(binding.offset + binding.range, plan.bytes[binding.slot]);
        }
        const Last last = {dispatch.groups[1] - 1ull, push.tokens - 1ull, 0};
        const bool counts = dispatch.bindings[ROPE_BINDING_DESTINATION].slot == ROPE_SLOT_COUNTER;
        checkPositions(dispatch, push, last);
        if (counts)
            checkCount(of, push);
        else if (std::strstr(dispatch.shader->name, "rotate_") != nullptr)
            checkRotation(of, limits, &taken);
        else
            checkAddition(of, limits, &taken);
        if (testing::Test::HasFatalFailure()) return;
        if (counts)
            counted += uint64_t{dispatch.groups[1]} * push.tokens;
        else
            checkCosSin(dispatch, push, last, of.id(ROPE_ID_PAIR_COUNTS) & 0xFFFF);
        if (count > 5000 && i == 2500) i = count - 50; // enough of the same
    }
    if (count > 5000) return;
    const uint64_t tokens = uint64_t{d.batch == 0 ? 1 : d.batch} * d.tokens;
    EXPECT_EQ(counted, plan.bytes[ROPE_SLOT_COUNTER] != 0 ? tokens : 0);
    EXPECT_EQ(taken.q, tokens * d.q.heads);
    EXPECT_EQ(taken.k, tokens * d.k.heads);
}

} // namespace reach
