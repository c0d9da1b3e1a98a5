// This file computes 1/sqrt(x), 1/x, x/divisor and x/y of positive float32 bits. Each result is the nearest float32:
// one of Newton's steps, in integers, improves the device's own estimate, and the exact remainder decides the last bit.
// The estimate needs 14 right bits, and Vulkan promises 21. The same text serves GLSL and C++ (in namespace rope).
#ifndef ROPE_RECIPROCAL_H
#define ROPE_RECIPROCAL_H

#include "divide.h"

#include "dialect.h"

// Returns true if root^2 * m - 2^73 is negative. Its magnitude is below 2^63.
ROPE_FUNCTION bool is_below_root(uint root, uint m) {
    uint low = root * root;
    uint high = multiply_high(root, root) * m + multiply_high(low, m);
    return (high & 0x80000000u) != 0u;
}

ROPE_FUNCTION uint reciprocal_root_bits(uint bits) {
    if (bits == 0u) return 0x7F800000u;
    if (bits >= 0x7F800000u) return bits == 0x7F800000u ? 0u : bits | 0x400000u;
    RopeParts x = parts_of(bits);
    uint odd = uint(x.exponent) & 1u;
    uint m = x.significand << odd;                                                       // 1 to 4, in 2^-23ths
    ROPE_PRECISE float estimate = inversesqrt(float(m) * 1.1920929e-7f) * 2147483648.0f; // in 2^-31ths
    uint y = uint(estimate);
    uint one = multiply_high(m << 7, multiply_high(y, y)); // in 2^-28ths
    y = multiply_high(y, 0x30000000u - one) << 3;
    uint root = (y + 64u) >> 7; // in 2^-24ths
    if (is_below_root(2u * root + 1u, m)) {
        root += 1u;
    } else if (!is_below_root(2u * root - 1u, m)) {
        root -= 1u;
    }
    return (uint(126 - (x.exponent >> 1)) << 23) + (root - 0x800000u);
}

// The result is infinite if 1/x is 2^128 or more. x is less than 2^126.
ROPE_FUNCTION uint reciprocal_bits(uint bits) {
    RopeParts x = parts_of(bits);
    if (bits == 0u || x.exponent < -128) return 0x7F800000u;
    ROPE_PRECISE float estimate = 2147483648.0f / (float(x.significand) * 1.1920929e-7f); // in 2^-31ths
    uint y = uint(estimate);
    uint one = multiply_high(x.significand << 8, y); // in 2^-30ths
    y = multiply_high(y, 0x80000000u - one) << 2;
    uint quotient = (y + 64u) >> 7;                    // of 2^47
    int rest = 2 * int(0u - quotient * x.significand); // twice the remainder
    int most = int(x.significand);
    quotient += uint(rest > most ? 1 : rest < -most ? -1 : 0);
    return (uint(126 - x.exponent) << 23) + (quotient - 0x800000u);
}

// The divisor is from 2 to 127.
ROPE_FUNCTION uint share_bits(uint bits, uint divisor) {
    if (bits == 0u || bits >= 0x7F800000u) return bits;
    RopeParts x = parts_of(bits);
    uint dividend = x.significand << 8;
    uint quotient = dividend / divisor;
    uint places = uint(highest_bit(quotient)) - 23u;
    int field = x.exponent + int(places) + 119;
    uint kept = ((quotient >> (places - 1u)) + 1u) >> 1; // x has 24 bits: no quotient lies half way between two floats
    if (field < 1) {                                     // but between two denormals
        uint sticky = quotient * divisor != dividend ? 1u : 0u;
        uint value = quotient << 1 | sticky;
        places = min(places + uint(2 - field), 31u);
        uint rest = value & ((1u << places) - 1u);
        kept = (value >> places) + uint(rest + ((value >> places) & 1u) > 1u << (places - 1u));
        field = 1;
    }
    return (uint(field - 1) << 23) + kept;
}

// Returns x / y for the bits of any x and of a positive normal y below 2^126, whose reciprocal_bits are `inverse`. A
// denormal x counts as 0, and a quotient below 2^-126 is 0.
ROPE_FUNCTION uint quotient_bits(uint x_bits, uint y_bits, uint inverse) {
    uint size = x_bits & 0x7FFFFFFFu;
    uint dividend = (size & 0x7FFFFFu) | 0x800000u;
    uint divisor = (y_bits & 0x7FFFFFu) | 0x800000u;
    bool below = dividend < divisor;
    // The inverse's significand is 2^47 over the divisor, or 2^46 over the least.
    uint places = choose(below || divisor == 0x800000u, 7u, 8u);
    uint quotient =
        (multiply_high(dividend << 8, parts_of(inverse).significand << 8) + (1u << (places - 1u))) >> places;
    int rest = 2 * int((dividend << choose(below, 24u, 23u)) - quotient * divisor); // twice the remainder
    quotient += uint(rest > int(divisor) ? 1 : rest < -int(divisor) ? -1 : 0);
    int field = int(size >> 23) - int(y_bits >> 23) + int(choose(below, 126u, 127u));
    uint bits = choose(field < 1 || size < 0x800000u, 0u, (uint(field) << 23) + (quotient - 0x800000u));
    bits = choose(field > 254 || size >= 0x7F800000u, max(size, 0x7F800000u), bits); // a NaN stays
    return bits | (x_bits & 0x80000000u);
}

ROPE_DIALECT_END
#endif
