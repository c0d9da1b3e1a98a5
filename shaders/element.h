// Elements: 16-bit floats to and from the bits of a float32, in integers. Every 16-bit value goes there and back
// unchanged, NaNs with their payload. The same text for GLSL and C++ (in namespace rope), for one element or a vector
// of them: ROPE_BITS and ROPE_SIGNED are uint and int, or vectors of them.
#ifndef ROPE_ELEMENT_H
#define ROPE_ELEMENT_H

#include "dialect.h"

// All ones where a < b, both below 2^31.
ROPE_FUNCTION ROPE_BITS less(ROPE_BITS a, ROPE_BITS b) { return ROPE_BITS(ROPE_SIGNED(a - b) >> 31); }

ROPE_FUNCTION ROPE_BITS select(ROPE_BITS mask, ROPE_BITS yes, ROPE_BITS no) { return (yes & mask) | (no & ~mask); }

// value * 2^-count rounded to nearest even; value + 2^(count - 1) does not pass 2^32.
ROPE_FUNCTION ROPE_BITS round_even(ROPE_BITS value, ROPE_BITS count) {
    ROPE_BITS below_half = (ROPE_BITS(1u) << (count - 1u)) - 1u;
    return (value + below_half + ((value >> count) & 1u)) >> count;
}

ROPE_FUNCTION ROPE_BITS widen_f16(ROPE_BITS bits) {
    ROPE_BITS rest = bits & 0x7FFFu;
    ROPE_BITS finite = less(rest, ROPE_BITS(0x7C00u));
    ROPE_BITS normal = (rest << 13) + select(finite, ROPE_BITS(0x38000000u), ROPE_BITS(0x70000000u));
    return select(less(rest, ROPE_BITS(0x400u)), denormal_bits(rest), normal) | ((bits & 0x8000u) << 16);
}

ROPE_FUNCTION ROPE_BITS narrow_f16(ROPE_BITS bits) {
    ROPE_BITS rest = bits & 0x7FFFFFFFu;
    ROPE_BITS normal = round_even(rest - 0x38000000u, ROPE_BITS(13u)); // a carry reaches infinity by itself
    // Below 2^-14, a multiple of 2^-24: the mantissa is shifted right by 14 to 25 places.
    ROPE_BITS places = min(126u - min(rest >> 23, ROPE_BITS(112u)), ROPE_BITS(25u));
    ROPE_BITS small = round_even((rest & 0x7FFFFFu) | 0x800000u, places);
    ROPE_BITS payload = (rest >> 13) & 0x3FFu;
    ROPE_BITS nan = 0x7C00u | payload | (less(payload, ROPE_BITS(1u)) & 0x200u);
    ROPE_BITS large = select(less(ROPE_BITS(0x7F800000u), rest), nan, ROPE_BITS(0x7C00u));
    ROPE_BITS finite = select(less(rest, ROPE_BITS(0x38800000u)), small, normal);
    return select(less(rest, ROPE_BITS(0x47800000u)), finite, large) | ((bits >> 16) & 0x8000u);
}

ROPE_FUNCTION ROPE_BITS narrow_bf16(ROPE_BITS bits) {
    ROPE_BITS kept = bits >> 16;
    ROPE_BITS nan = kept | (less(kept & 0x7Fu, ROPE_BITS(1u)) & 0x40u);
    return select(less(ROPE_BITS(0x7F800000u), bits & 0x7FFFFFFFu), nan, round_even(bits, ROPE_BITS(16u)));
}

ROPE_FUNCTION ROPE_BITS widen(ROPE_BITS bits, uint element) {
    return element == uint(ROPE_BF16) ? bits << 16 : widen_f16(bits);
}

ROPE_FUNCTION ROPE_BITS narrow(ROPE_BITS bits, uint element) {
    return element == uint(ROPE_BF16) ? narrow_bf16(bits) : narrow_f16(bits);
}

ROPE_DIALECT_END
#endif
