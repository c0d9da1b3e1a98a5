// What one dispatch of a plan reaches over, from its constants and push words alone, in 64 bits.
#pragma once

#include "rope.h"

#include "../shaders/interface.h"

#include <gtest/gtest.h>

#include <algorithm>

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
    const uint64_t bytes = constants[ROPE_ID_ROWS] > ROPE_ROWS_SINGLE ? 2 : 4;
    ASSERT_EQ(binding.slot, ROPE_SLOT_ROWS);
    ASSERT_GE(push.rows.offset + sine, 0);
    ASSERT_LE((last + 1) * bytes, binding.range);
}

} // namespace reach
