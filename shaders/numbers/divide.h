// This file divides the four words of a frequency by a float32 in 32-bit integers. The bits are the same in GLSL and
// C++ (in namespace rope).
#ifndef ROPE_DIVIDE_H
#define ROPE_DIVIDE_H

#include "angle.h"
#include "dialect.h"

// A long number has five words, the highest first. They are no array: a driver loses words that an index finds.
struct RopeLong {
    uint a, b, c, d, e;
};

// Returns n * 2^count, for counts from 0 to 31.
ROPE_FUNCTION RopeLong shifted_up(RopeLong n, uint count) {
    uint rest = 31u - count;
    RopeLong up = {(n.a << count) | ((n.b >> 1) >> rest), (n.b << count) | ((n.c >> 1) >> rest),
                   (n.c << count) | ((n.d >> 1) >> rest), (n.d << count) | ((n.e >> 1) >> rest), n.e << count};
    return up;
}

// Returns n * 2^-count, cut off.
ROPE_FUNCTION RopeLong shifted_down(RopeLong n, uint count) {
    RopeLong whole = n;
    for (uint i = 0u; i < 5u; ++i) {
        RopeLong next = {0u, whole.a, whole.b, whole.c, whole.d};
        if (count >= 32u * (i + 1u)) whole = next;
    }
    uint rest = count & 31u;
    uint left = 31u - rest;
    RopeLong down = {whole.a >> rest, (whole.b >> rest) | ((whole.a << 1) << left),
                     (whole.c >> rest) | ((whole.b << 1) << left), (whole.d >> rest) | ((whole.c << 1) << left),
                     (whole.e >> rest) | ((whole.d << 1) << left)};
    return down;
}

// Digits of eight bits enter the remainder above, and those of the quotient enter below. The divisor is at most 2^24.
ROPE_FUNCTION RopeLong quotient_of(RopeLong dividend, uint divisor, ROPE_OUT(uint) remainder) {
    RopeLong quotient = dividend;
    uint rest = 0u;
    for (uint i = 0u; i < 20u; ++i) {
        rest = (rest << 8) | (quotient.a >> 24);
        uint digit = rest / divisor;
        rest -= digit * divisor;
        quotient = shifted_up(quotient, 8u);
        quotient.e |= digit;
    }
    remainder = rest;
    return quotient;
}

// x is significand * 2^(exponent - 23). The significand's highest bit is bit 23, and x is finite and above 0.
struct RopeParts {
    uint significand;
    int exponent;
};

ROPE_FUNCTION RopeParts parts_of(uint bits) {
    RopeParts parts;
    parts.significand = (bits & 0x7FFFFFu) | 0x800000u;
    parts.exponent = int(bits >> 23) - 127;
    if (bits < 0x800000u) {
        int up = 23 - highest_bit(bits);
        parts.significand = bits << uint(up);
        parts.exponent = -126 - up;
    }
    return parts;
}

// Divides turns. Returns false if the quotient is 2^28 turns or more. A dividend that fills its words makes the long
// quotient 2^135 or more, and less than 2^137.
ROPE_FUNCTION bool divide_turns(uvec4 turns, RopeParts divisor, ROPE_OUT(uvec4) quotient) {
    RopeLong n = {turns.x, turns.y, turns.z, turns.w, 0u};
    uint left = 0u;
    for (uint i = 0u; i < 3u; ++i) {
        if (n.a != 0u) continue;
        RopeLong next = {n.b, n.c, n.d, 0u, 0u};
        n = next;
        left += 32u;
    }
    quotient = turns;
    if (n.a == 0u) return true;
    uint rest = uint(31 - highest_bit(n.a));
    int places = 8 + int(left + rest) + divisor.exponent; // that are cut off, but for the one that rounds
    uint remainder;
    n = quotient_of(shifted_up(n, rest), divisor.significand, remainder);
    if (places < 11) return false;
    n = shifted_down(n, uint(places));
    n.e += 1u; // the half
    uint carry = uint(n.e == 0u);
    carry = add_carrying(n.d, carry);
    carry = add_carrying(n.c, carry);
    n.b += carry;
    n = shifted_down(n, 1u);
    uvec4 words = {n.b, n.c, n.d, n.e};
    quotient = words;
    return quotient.x < 0x10000000u;
}

// Gives the bits of the nearest float32, or of the even one. Returns false if the quotient is 2^96 or more, because a
// position might make an infinity of it. `bits` is a finite float32 of 0 or more.
ROPE_FUNCTION bool divide_radians(uint bits, RopeParts divisor, ROPE_OUT(uint) quotient) {
    quotient = bits;
    if (bits == 0u) return true;
    RopeParts dividend = parts_of(bits);
    RopeLong n = {dividend.significand << 8, 0u, 0u, 0u, 0u};
    uint below; // not 0 where bits follow: a quotient without a remainder has 24 bits at most
    n = shifted_up(quotient_of(n, divisor.significand, below), 23u);
    uint once = uint(int(n.a) >= 0);
    uint value = (n.a << once) | ((n.b >> 31) & once);
    // The value, 2^31 or more, is of the binade 2^(biased - 127). A denormal has fewer bits.
    int biased = dividend.exponent - divisor.exponent + 127 - int(once);
    uint cut = min(uint(max(1 - biased, 0)), 31u);
    below |= (value << 1) << (31u - cut);
    value = round_off(value >> cut, below);
    quotient = uint(max(biased, 1) - 1) * 0x800000u + value;
    return biased < 224 && quotient < 0x6F800000u;
}

// Returns the words of frequency / factor, or zeros if there are none (see ropeDivideFrequencies in rope.h). `factor`
// has float32 bits.
ROPE_FUNCTION uvec4 divided_frequency(uvec4 frequency, uint factor, bool compatible) {
    uint mark = choose(compatible, ROPE_MARK_COMPATIBLE, ROPE_MARK_EXACT);
    uint size = factor & 0x7FFFFFFFu;
    bool right = (frequency.x & ROPE_MARKS) == mark && size != 0u && size <= 0x7F800000u;
    // A frequency of 0 has no sign. Zeros with a sign are a frequency that was too small for the words.
    bool zero = ((frequency.x & 0x8FFFFFFFu) | frequency.y | frequency.z | frequency.w) == 0u || size == 0x7F800000u;
    uint sign = choose(zero, 0u, (frequency.x ^ factor) & 0x80000000u);
    uvec4 words = frequency;
    words.x &= 0x0FFFFFFFu;
    uvec4 none = {0u, 0u, 0u, 0u};
    if (size >= 0x7F800000u) {
        words = none;
    } else {
        RopeParts divisor = parts_of(max(size, 1u));
        if (compatible) {
            right = right && frequency.y < 0x7F800000u;
            uint bits;
            right = divide_radians(words.y, divisor, bits) && right;
            words.y = bits;
        } else {
            uvec4 turns;
            right = divide_turns(words, divisor, turns) && right;
            words = turns;
        }
    }
    words.x |= sign | mark;
    if (!right) words = none;
    return words;
}

ROPE_DIALECT_END
#endif
