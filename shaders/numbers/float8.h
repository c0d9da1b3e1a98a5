// This file converts float8 elements, which only caches have, to and from the bits of a float32. The same text serves
// GLSL and C++ (in namespace rope), one element or a vector, as in element.h.
#ifndef ROPE_FLOAT8_H
#define ROPE_FLOAT8_H

#include "element.h"

#include "dialect.h"

// Returns float8 with 3 bits below the leading 1 (e4m3fn) or 2 (e5m2), rounded as narrow_f16 rounds. A number that is
// too large becomes the largest number, and a NaN becomes 0x7F.
ROPE_FUNCTION ROPE_BITS narrow_f8(ROPE_BITS bits, uint mantissa) {
    uint least = choose(mantissa == 3u, 0x3C800000u, 0x38800000u); // the smallest normal number
    uint most = choose(mantissa == 3u, 0x43E00000u, 0x47600000u);
    uint up = (23u - mantissa) << 23;
    ROPE_BITS rest = bits & 0x7FFFFFFFu;
    ROPE_BITS size = min(rest, ROPE_BITS(most));
    ROPE_BITS grid = max(size & 0x7F800000u, ROPE_BITS(least)) + up;
    ROPE_PRECISE ROPE_VALUES raised = uintBitsToFloat(size) + uintBitsToFloat(grid);
    ROPE_BITS code = floatBitsToUint(raised) - grid + ((grid - (least + up)) >> (23u - mantissa));
    return ROPE_WHERE_LESS(ROPE_BITS(0x7F800000u), rest, ROPE_BITS(0x7Fu), code | ((bits >> 24) & 0x80u));
}

// The upper half of a float16 is an e5m2. An e4m3 one place lower makes a float16 that is a 256th of it.
ROPE_FUNCTION ROPE_BITS widen_f8(ROPE_BITS bits, uint mantissa) {
    if (mantissa == 2u) return widen_f16(bits << 8);
    ROPE_BITS size = bits & 0x7Fu;
    ROPE_PRECISE ROPE_VALUES wide = uintBitsToFloat(widen_f16(size << 7)) * uintBitsToFloat(ROPE_BITS(0x43800000u));
    return ROPE_WHERE_LESS(ROPE_BITS(0x7Eu), size, ROPE_BITS(0x7FC00000u), floatBitsToUint(wide)) |
           ((bits << 24) & 0x80000000u);
}

ROPE_DIALECT_END
#endif
