// This file divides the four words of a frequency by a float32 in 32-bit integers. The bits are the same in GLSL and
// C++ (in namespace rope).
#ifndef ROPE_DIVIDE_H
#define ROPE_DIVIDE_H

#include "angle.h"
#include "dialect.h"

// A long number has five words, the highest first.
struct RopeLong {
    uvec4 high;
    uint low;
};

// Returns a * 2^count, for counts from 0 to 31.
ROPE_FUNCTION RopeLong shifted_up(RopeLong a, uint count) {
    uint rest = 31u - count;
    RopeLong b;
    b.high.x = (a.high.x << count) | ((a.high.y >> 1) >> rest);
    b.high.y = (a.high.y << count) | ((a.high.z >> 1) >> rest);
    b.high.z = (a.high.z << count) | ((a.high.w >> 1) >> rest);
    b.high.w = (a.high.w << count) | ((a.low >> 1) >> rest);
    b.low = a.low << count;
    return b;
}

// Returns a * 2^-count, cut off.
ROPE_FUNCTION RopeLong shifted_down(RopeLong a, uint count) {
    RopeLong b = a;
    for (uint i = 0u; i < 5u; ++i) { // whole words
        bool past = count >= 32u * (i + 1u);
        b.low = choose(past, b.high.w, b.low);
        b.high.w = choose(past, b.high.z, b.high.w);
        b.high.z = choose(past, b.high.y, b.high.z);
        b.high.y = choose(past, b.high.x, b.high.y);
        b.high.x = choose(past, 0u, b.high.x);
    }
    uint rest = count & 31u;
    uint left = 31u - rest;
    b.low = (b.low >> rest) | ((b.high.w << 1) << left);
    b.high.w = (b.high.w >> rest) | ((b.high.z << 1) << left);
    b.high.z = (b.high.z >> rest) | ((b.high.y << 1) << left);
    b.high.y = (b.high.y >> rest) | ((b.high.x << 1) << left);
    b.high.x = b.high.x >> rest;
    return b;
}

// Digits of eight bits enter the remainder above, and those of the quotient enter below. The divisor is at most 2^24.
ROPE_FUNCTION RopeLong quotient_of(RopeLong dividend, uint divisor, ROPE_OUT(uint) remainder) {
    RopeLong quotient = dividend;
    uint rest = 0u;
    for (uint i = 0u; i < 20u; ++i) {
        rest = (rest << 8) | (quotient.high.x >> 24);
        uint digit = rest / divisor;
        rest -= digit * divisor;
        quotient = shifted_up(quotient, 8u);
        quotient.low |= digit;
    }
    remainder = rest;
    return quotient;
}

// Splits the magnitude of a float32 that is neither 0, infinite nor NaN into the mantissa, 2^23 and more, and
// 2^exponent.
ROPE_FUNCTION uint mantissa_of(uint bits, ROPE_OUT(int) exponent) {
    uint field = (bits >> 23) & 0xFFu;
    uint mantissa = (bits & 0x7FFFFFu) | choose(field != 0u, 0x800000u, 0u);
    uint left = uint(23 - highest_bit(mantissa | 1u));
    exponent = max(int(field), 1) - 150 - int(left);
    return mantissa << left;
}

// Divides turns. Returns false if the quotient is 2^28 turns or more. A dividend that fills its words makes the long
// quotient 2^135 or more, and less than 2^137.
ROPE_FUNCTION bool divide_turns(uvec4 turns, uint mantissa, int exponent, ROPE_OUT(uvec4) quotient) {
    RopeLong n;
    n.high = turns;
    n.low = 0u;
    uint left = 0u;
    for (uint i = 0u; i < 3u; ++i) {
        if (n.high.x != 0u) continue;
        n.high.x = n.high.y;
        n.high.y = n.high.z;
        n.high.z = n.high.w;
        n.high.w = 0u;
        left += 32u;
    }
    quotient = turns;
    if (n.high.x == 0u) return true;
    uint rest = uint(31 - highest_bit(n.high.x));
    int places = 31 + int(left + rest) + exponent; // that are cut off, but for the one that rounds
    uint remainder;
    n = quotient_of(shifted_up(n, rest), mantissa, remainder);
    if (places < 11) return false;
    n = shifted_down(n, uint(places));
    n.low += 1u; // the half
    uint carry = uint(n.low == 0u);
    n.high.w += carry;
    carry &= uint(n.high.w == 0u);
    n.high.z += carry;
    carry &= uint(n.high.z == 0u);
    n.high.y += carry;
    n = shifted_down(n, 1u);
    quotient.x = n.high.y;
    quotient.y = n.high.z;
    quotient.z = n.high.w;
    quotient.w = n.low;
    return quotient.x < 0x10000000u;
}

// Gives the bits of the nearest float32, or of the even one. Returns false if the quotient is 2^96 or more, because a
// position might make an infinity of it. `bits` is a finite float32 of 0 or more.
ROPE_FUNCTION bool divide_radians(uint bits, uint mantissa, int exponent, ROPE_OUT(uint) quotient) {
    quotient = bits;
    if (bits == 0u) return true;
    int places;
    RopeLong n;
    n.high.x = mantissa_of(bits, places) << 8;
    n.high.y = 0u;
    n.high.z = 0u;
    n.high.w = 0u;
    n.low = 0u;
    uint below; // not 0 where bits follow: a quotient without a remainder has 24 bits at most
    n = shifted_up(quotient_of(n, mantissa, below), 23u);
    uint once = uint(int(n.high.x) >= 0);
    uint value = (n.high.x << once) | ((n.high.y >> 31) & once);
    int biased = places - exponent + 127 - int(once); // the value, 2^31 or more, is of the binade 2^(biased - 127)
    uint cut = uint(max(1 - biased, 0));
    cut = choose(cut > 31u, 31u, cut); // a denormal, of fewer bits
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
    if (size >= 0x7F800000u) {
        words.x = 0u;
        words.y = 0u;
        words.z = 0u;
        words.w = 0u;
    } else {
        int exponent;
        uint mantissa = mantissa_of(max(size, 1u), exponent);
        if (compatible) {
            right = right && frequency.y < 0x7F800000u;
            uint bits;
            right = divide_radians(words.y, mantissa, exponent, bits) && right;
            words.y = bits;
        } else {
            uvec4 turns;
            right = divide_turns(words, mantissa, exponent, turns) && right;
            words = turns;
        }
    }
    words.x |= sign | mark;
    uint kept = choose(right, 0xFFFFFFFFu, 0u);
    words.x &= kept;
    words.y &= kept;
    words.z &= kept;
    words.w &= kept;
    return words;
}

ROPE_DIALECT_END
#endif
