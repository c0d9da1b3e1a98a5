// This file casts the enumerators of rope.h to the shaders' numbers in shaders/interface.h. Each function casts one
// enumeration and holds its numbers equal to the shaders'. The numbers of elements and of caches stand in tables of
// their own, element_formats.h and cache_kinds.h.
#pragma once

#include <vkrope/rope.h>

#include "shaders/interface.h"

namespace rope {

inline uint32_t shaderPositions(RopePositionKind kind) {
    static_assert(ROPE_KIND_PER_TOKEN == ROPE_POSITIONS_PER_TOKEN);
    static_assert(ROPE_KIND_PER_SEQUENCE == ROPE_POSITIONS_START_PER_SEQUENCE);
    static_assert(ROPE_KIND_COUNTED == ROPE_POSITIONS_COUNTED);
    static_assert(ROPE_KIND_PACKED == ROPE_POSITIONS_PACKED);
    static_assert(ROPE_KIND_PACKED_STARTS == ROPE_POSITIONS_PACKED_STARTS);
    return static_cast<uint32_t>(kind);
}

inline uint32_t shaderPositionElement(RopePositionElement element) {
    static_assert(ROPE_WHOLE_32 == ROPE_POSITION_INT32);
    static_assert(ROPE_WHOLE_64 == ROPE_POSITION_INT64);
    static_assert(ROPE_FLOAT_32 == ROPE_POSITION_FLOAT32);
    static_assert(ROPE_FIXED_64 == ROPE_POSITION_FIXED64);
    return static_cast<uint32_t>(element);
}

inline uint32_t shaderSource(RopeSource source) {
    static_assert(ROPE_FROM_INLINE == ROPE_SOURCE_INLINE);
    static_assert(ROPE_FROM_TABLE == ROPE_SOURCE_TABLE);
    static_assert(ROPE_FROM_ROWS == ROPE_SOURCE_ROWS);
    return static_cast<uint32_t>(source);
}

inline uint32_t shaderAngle(RopeAngle angle) {
    static_assert(ROPE_PHASE_EXACT == ROPE_ANGLE_EXACT);
    static_assert(ROPE_PHASE_COMPATIBLE == ROPE_ANGLE_COMPATIBLE);
    return static_cast<uint32_t>(angle);
}

inline uint32_t shaderBias(RopeBiasKind kind) {
    static_assert(ROPE_BIAS_BUCKETS == ROPE_BIAS_T5);
    static_assert(ROPE_BIAS_CLIP == ROPE_BIAS_CLIPPED);
    static_assert(ROPE_BIAS_LINEAR == ROPE_BIAS_ALIBI);
    return static_cast<uint32_t>(kind);
}

} // namespace rope
