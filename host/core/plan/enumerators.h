// This file casts the enumerators of rope.h to the shaders' numbers in shaders/interface.h, and holds them equal. The
// numbers of elements and of caches stand in tables of their own, element_formats.h and cache_kinds.h.
#pragma once

#include <vkrope/rope.h>

#include "shaders/interface.h"

namespace rope {

template <typename Enumeration> constexpr uint32_t shaderNumber(Enumeration enumerator) {
    return static_cast<uint32_t>(enumerator);
}
static_assert(ROPE_KIND_PER_TOKEN == shaderNumber(ROPE_POSITIONS_PER_TOKEN));
static_assert(ROPE_KIND_PER_SEQUENCE == shaderNumber(ROPE_POSITIONS_START_PER_SEQUENCE));
static_assert(ROPE_KIND_COUNTED == shaderNumber(ROPE_POSITIONS_COUNTED));
static_assert(ROPE_KIND_PACKED == shaderNumber(ROPE_POSITIONS_PACKED));
static_assert(ROPE_KIND_PACKED_STARTS == shaderNumber(ROPE_POSITIONS_PACKED_STARTS));
static_assert(ROPE_WHOLE_32 == shaderNumber(ROPE_POSITION_INT32));
static_assert(ROPE_WHOLE_64 == shaderNumber(ROPE_POSITION_INT64));
static_assert(ROPE_FLOAT_32 == shaderNumber(ROPE_POSITION_FLOAT32));
static_assert(ROPE_FIXED_64 == shaderNumber(ROPE_POSITION_FIXED64));
static_assert(ROPE_FROM_INLINE == shaderNumber(ROPE_SOURCE_INLINE));
static_assert(ROPE_FROM_TABLE == shaderNumber(ROPE_SOURCE_TABLE));
static_assert(ROPE_FROM_ROWS == shaderNumber(ROPE_SOURCE_ROWS));
static_assert(ROPE_PHASE_EXACT == shaderNumber(ROPE_ANGLE_EXACT));
static_assert(ROPE_PHASE_COMPATIBLE == shaderNumber(ROPE_ANGLE_COMPATIBLE));
static_assert(ROPE_BIAS_BUCKETS == shaderNumber(ROPE_BIAS_T5));
static_assert(ROPE_BIAS_CLIP == shaderNumber(ROPE_BIAS_CLIPPED));
static_assert(ROPE_BIAS_LINEAR == shaderNumber(ROPE_BIAS_ALIBI));

} // namespace rope
