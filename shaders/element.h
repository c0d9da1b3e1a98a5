// Elements: 16-bit floats to and from the bits of a float32, rounded in integers. Every 16-bit number goes there and
// back unchanged, a NaN as some NaN. The same text for GLSL and C++ (in namespace rope), for one element or a vector of
// them: ROPE_BITS is uint, or a vector of them; ROPE_LESS (of what is below 2^31) and ROPE_SELECT compare and choose
// each by itself.
#ifndef ROPE_ELEMENT_H
#define ROPE_ELEMENT_H

#include "dialect.h"

// A select, where masks and logic would be five operations on a driver that does as it is told.
ROPE_FUNCTION ROPE_BITS where_less(ROPE_BITS a, ROPE_BITS b, ROPE_BITS yes, ROPE_BITS no) {
    return ROPE_SELECT(ROPE_LESS(a, b), yes, no);
}

// value * 2^-count rounded to nearest even; value + 2^(count - 1) does not pass 2^32.
ROPE_FUNCTION ROPE_BITS round_even(ROPE_BITS value, uint count) {
    uint below_half = (1u << (count - 1u)) - 1u;
    return (value + below_half + ((value >> count) & 1u)) >> count;
}

ROPE_FUNCTION ROPE_BITS widen_f16(ROPE_BITS bits) {
    return shrunk_bits(((bits & 0x7FFFu) << 13) + 0x70000000u) | ((bits << 16) & 0x80000000u);
}

ROPE_FUNCTION ROPE_BITS narrow_f16(ROPE_BITS bits) {
    ROPE_BITS rest = bits & 0x7FFFFFFFu;
    // What lies below 2^-14 in 2^-37ths, so that it is rounded to 2^-24ths at the bit where a normal number's mantissa
    // is. What is cut off there is no tie, as the last bits of the mantissa tell. Of normal numbers 2^23, and the rest
    // of them.
    ROPE_BITS first_normal = ROPE_BITS(0x38800000u);
    ROPE_BITS low = min(rest, first_normal);
    ROPE_BITS value = (whole_37ths(low) | (low & 0xFFFu)) + (rest - low);
    ROPE_BITS most = where_less(ROPE_BITS(0x7F800000u), rest, ROPE_BITS(0x7E00u), ROPE_BITS(0x7C00u));
    return min(round_even(value, 13u), most) | ((bits >> 16) & 0x8000u);
}

ROPE_FUNCTION ROPE_BITS narrow_bf16(ROPE_BITS bits) {
    ROPE_BITS nan = (bits >> 16) | 0x40u;
    return where_less(ROPE_BITS(0x7F800000u), bits & 0x7FFFFFFFu, nan, round_even(bits, 16u));
}

ROPE_FUNCTION ROPE_BITS widen(ROPE_BITS bits, uint element) {
    return element == uint(ROPE_BF16) ? bits << 16 : widen_f16(bits);
}

ROPE_FUNCTION ROPE_BITS narrow(ROPE_BITS bits, uint element) {
    return element == uint(ROPE_BF16) ? narrow_bf16(bits) : narrow_f16(bits);
}

ROPE_DIALECT_END
#endif
