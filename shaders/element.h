// Elements: 16-bit floats to and from the bits of a float32, in integers. Every 16-bit value goes there and back
// unchanged, NaNs with their payload. The same text for GLSL and C++ (in namespace rope), for one element or a vector
// of them: ROPE_BITS is uint, or a vector of them; ROPE_LESS and ROPE_SELECT compare and choose each by itself.
#ifndef ROPE_ELEMENT_H
#define ROPE_ELEMENT_H

#include "dialect.h"

// A select, where masks and logic would be five operations on a driver that does as it is told.
ROPE_FUNCTION ROPE_BITS where_less(ROPE_BITS a, ROPE_BITS b, ROPE_BITS yes, ROPE_BITS no) {
    return ROPE_SELECT(ROPE_LESS(a, b), yes, no);
}

// value * 2^-count rounded to nearest even; value + 2^(count - 1) does not pass 2^32.
ROPE_FUNCTION ROPE_BITS round_even(ROPE_BITS value, ROPE_BITS count) {
    ROPE_BITS below_half = (ROPE_BITS(1u) << (count - 1u)) - 1u;
    return (value + below_half + ((value >> count) & 1u)) >> count;
}

ROPE_FUNCTION ROPE_BITS widen_f16(ROPE_BITS bits) {
    ROPE_BITS rest = bits & 0x7FFFu;
    ROPE_BITS bias = where_less(rest, ROPE_BITS(0x7C00u), ROPE_BITS(0x38000000u), ROPE_BITS(0x70000000u));
    ROPE_BITS normal = (rest << 13) + bias;
    return where_less(rest, ROPE_BITS(0x400u), denormal_bits(rest), normal) | ((bits & 0x8000u) << 16);
}

ROPE_FUNCTION ROPE_BITS narrow_f16(ROPE_BITS bits) {
    ROPE_BITS rest = bits & 0x7FFFFFFFu;
    // Below 2^-14 a multiple of 2^-24: the mantissa goes 14 to 25 places down, otherwise 13, exponent and all.
    ROPE_BITS first_normal = ROPE_BITS(0x38800000u);
    ROPE_BITS value = where_less(rest, first_normal, (rest & 0x7FFFFFu) | 0x800000u, rest - 0x38000000u);
    ROPE_BITS places = where_less(rest, first_normal, min(126u - (rest >> 23), ROPE_BITS(25u)), ROPE_BITS(13u));
    ROPE_BITS finite = round_even(value, places); // a carry reaches infinity by itself
    ROPE_BITS payload = (rest >> 13) & 0x3FFu;
    ROPE_BITS nan = 0x7C00u | where_less(payload, ROPE_BITS(1u), ROPE_BITS(0x200u), payload);
    ROPE_BITS large = where_less(ROPE_BITS(0x7F800000u), rest, nan, ROPE_BITS(0x7C00u));
    return where_less(rest, ROPE_BITS(0x47800000u), finite, large) | ((bits >> 16) & 0x8000u);
}

ROPE_FUNCTION ROPE_BITS narrow_bf16(ROPE_BITS bits) {
    ROPE_BITS kept = bits >> 16;
    ROPE_BITS nan = kept | where_less(kept & 0x7Fu, ROPE_BITS(1u), ROPE_BITS(0x40u), ROPE_BITS(0u));
    return where_less(ROPE_BITS(0x7F800000u), bits & 0x7FFFFFFFu, nan, round_even(bits, ROPE_BITS(16u)));
}

ROPE_FUNCTION ROPE_BITS widen(ROPE_BITS bits, uint element) {
    return element == uint(ROPE_BF16) ? bits << 16 : widen_f16(bits);
}

ROPE_FUNCTION ROPE_BITS narrow(ROPE_BITS bits, uint element) {
    return element == uint(ROPE_BF16) ? narrow_bf16(bits) : narrow_f16(bits);
}

ROPE_DIALECT_END
#endif
