// This file converts 16-bit floats to and from the bits of a float32. Every 16-bit number goes there and back
// unchanged, and a NaN becomes some NaN. The same text serves GLSL and C++ (in namespace rope), one element or a
// vector. ROPE_BITS, ROPE_VALUES and ROPE_WHERE_LESS are as in pair.h.
#ifndef ROPE_ELEMENT_H
#define ROPE_ELEMENT_H

#include "dialect.h"

ROPE_FUNCTION ROPE_BITS widen_f16(ROPE_BITS bits) {
    return shrunk_bits(((bits & 0x7FFFu) << 13) + 0x70000000u) | ((bits << 16) & 0x80000000u);
}

// One sum rounds. `grid` is a power of two so large that floats near it lie as far apart as float16 numbers do here. A
// magnitude of 2^16 or more becomes infinity. The sum must round to nearest. No denormal reaches its last place.
ROPE_FUNCTION ROPE_BITS narrow_f16(ROPE_BITS bits) {
    ROPE_BITS rest = bits & 0x7FFFFFFFu;
    ROPE_BITS size = min(rest, ROPE_BITS(0x47800000u));                             // 2^16
    ROPE_BITS grid = max(size & 0x7F800000u, ROPE_BITS(0x38800000u)) + 0x06800000u; // 2^13 times the binade, or 2^-14
    ROPE_PRECISE ROPE_VALUES raised = uintBitsToFloat(size) + uintBitsToFloat(grid);
    ROPE_BITS half_bits = floatBitsToUint(raised) - grid + ((grid - 0x3F000000u) >> 13);
    return ROPE_WHERE_LESS(ROPE_BITS(0x7F800000u), rest, ROPE_BITS(0x7E00u), half_bits) | ((bits >> 16) & 0x8000u);
}

// Leaves the bfloat16 in the high half. The low half is for the caller to cut off.
ROPE_FUNCTION ROPE_BITS high_narrowed_bf16(ROPE_BITS bits) {
    ROPE_BITS rounded = bits + 0x7FFFu + ((bits >> 16) & 1u);
    ROPE_BITS size = bits & 0x7FFFFFFFu;
    return ROPE_WHERE_LESS(ROPE_BITS(0x7F800000u), size, bits | 0x400000u, rounded);
}

ROPE_FUNCTION ROPE_BITS widen(ROPE_BITS bits, uint element) {
    return element == uint(ROPE_BF16) ? bits << 16 : widen_f16(bits);
}

ROPE_DIALECT_END
#endif
