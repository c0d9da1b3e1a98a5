// The enumerators of rope.h as the shaders number them in shaders/interface.h. Each function casts one enumeration and
// holds its numbers equal to the shaders'.
#pragma once

#include "rope.h"

#include "../shaders/interface.h"

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

inline uint32_t shaderCache(RopeCacheKind kind) {
    static_assert(ROPE_CACHE_OFF == ROPE_CACHE_NONE);
    static_assert(ROPE_CACHE_BY_SLOTS == ROPE_CACHE_SLOTS);
    static_assert(ROPE_CACHE_BY_POSITION == ROPE_CACHE_POSITIONS);
    static_assert(ROPE_CACHE_BY_RING == ROPE_CACHE_RING);
    static_assert(ROPE_CACHE_BY_TABLE == ROPE_CACHE_BLOCK_TABLE);
    return static_cast<uint32_t>(kind);
}

inline uint32_t shaderBias(RopeBiasKind kind) {
    static_assert(ROPE_BIAS_BUCKETS == ROPE_BIAS_T5);
    static_assert(ROPE_BIAS_CLIP == ROPE_BIAS_CLIPPED);
    static_assert(ROPE_BIAS_LINEAR == ROPE_BIAS_ALIBI);
    return static_cast<uint32_t>(kind);
}

// RopeElement begins with a default, which no shader knows: the numbers of the others are one more than the shaders'.
inline uint32_t shaderElement(RopeElement element) {
    static_assert(ROPE_F32 + 1 == ROPE_ELEMENT_F32);
    static_assert(ROPE_F16 + 1 == ROPE_ELEMENT_F16);
    static_assert(ROPE_BF16 + 1 == ROPE_ELEMENT_BF16);
    static_assert(ROPE_I8 + 1 == ROPE_ELEMENT_I8);
    static_assert(ROPE_Q8_0 + 1 == ROPE_ELEMENT_Q8_0);
    return element == ROPE_ELEMENT_DEFAULT ? ROPE_F32 : static_cast<uint32_t>(element) - 1;
}

} // namespace rope
