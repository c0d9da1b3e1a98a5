// This file computes cos and sin of an angle in 32-bit integers, with the same bits in GLSL, HLSL and C++ (in namespace
// rope).
//
// An angle is a phase: a fraction of a turn in Q0.96. Its quadrant is counted off. The rest r, at most 1/8 turn, goes
// through two polynomials in u = (r / (1/8 turn))^2. Their result times the scale is rounded to float32 once.
#ifndef ROPE_ANGLE_H
#define ROPE_ANGLE_H

#include "dialect.h"

struct RopePhase {
    uint high, middle, low;
    uint sign; // bit 31: negate the sine
};

// A scaled number is nonnegative: high and low, which are Q0.64 together, times 2^(exponent - 125).
struct RopeScaled {
    uint high, low;
    int exponent;
};

// A distance is a position's magnitude in Q32.32, and its sign in bit 31.
struct RopeDistance {
    uint whole, fraction, sign;
};

ROPE_FUNCTION RopeDistance distance_of(uint whole, uint fraction) {
    uint negative = uint(int(whole) >> 31);
    RopeDistance d = {(whole ^ negative) - choose(fraction == 0u, negative, 0u), (fraction ^ negative) - negative,
                      whole & 0x80000000u};
    return d;
}

// A frequency has four words. Bits 28 to 30 of x are the mark of the angle that it was written for, and bit 31 is its
// sign.
//   exact:      x bits 0 to 27, y, z, w: |frequency| in turns, whole ones and then Q0.96, the highest word first
//   compatible: y: the bits of float32 |frequency|; the rest is 0
#define ROPE_MARKS 0x70000000u
#define ROPE_MARK_EXACT 0x20000000u
#define ROPE_MARK_COMPATIBLE 0x40000000u

// Returns position.whole * frequency without whole turns. Whole turns of the frequency itself are dropped with them.
ROPE_FUNCTION RopePhase exact_phase(RopeDistance position, uvec4 frequency) {
    uint p = position.whole;
    uint carry = multiply_high(p, frequency.w);
    uint middle = p * frequency.z + carry;
    uint high = p * frequency.y + multiply_high(p, frequency.z);
    RopePhase phase = {high + uint(middle < carry), middle, p * frequency.w, 0u};
    return phase;
}

// Adds a term to a sum, and returns the carry.
ROPE_FUNCTION uint add_carrying(ROPE_INOUT(uint) sum, uint term) {
    sum += term;
    return uint(sum < term);
}

// Returns phase + position.fraction * frequency. The frequency's whole turns count here: 28 bits in the word of the
// sign.
ROPE_FUNCTION RopePhase add_fraction(RopePhase phase, RopeDistance position, uvec4 frequency) {
    uint p = position.fraction;
    uint carry = add_carrying(phase.low, p * frequency.z);
    carry += add_carrying(phase.low, multiply_high(p, frequency.w));
    carry = add_carrying(phase.middle, carry);
    carry += add_carrying(phase.middle, multiply_high(p, frequency.z));
    carry += add_carrying(phase.middle, p * frequency.y);
    phase.high += carry + multiply_high(p, frequency.y) + p * (frequency.x & 0x0FFFFFFFu);
    return phase;
}

// Returns value / 256 rounded to nearest even. `below` is not zero if more bits follow the value's.
ROPE_FUNCTION uint round_off(uint value, uint below) {
    uint beside_half = (value & 0x17Fu) | below; // if half or more is cut off: not zero unless a tie is even
    return (value >> 8) + choose(beside_half != 0u, value >> 7 & 1u, 0u);
}

// These words are 1/(2 pi) in binary, behind four words of zeros. Word (e + 128) / 32 starts at the bit of weight 2^-e.
ROPE_CONSTANT uint kInverseTurn[12] = {0u,          0u,          0u,          0u,          0x28BE60DBu, 0x9391054Au,
                                       0x7F09D5F4u, 0x7D4D3770u, 0x36D8A566u, 0x4F10E410u, 0x7F9458EAu, 0xF7AEF158u};

// Makes a float32 two's complement Q32.32, and cuts off the bits below. Returns false unless its magnitude is below
// 2^31.
ROPE_FUNCTION bool fixed_from_float(uint bits, ROPE_OUT(uint) whole, ROPE_OUT(uint) fraction) {
    uint places = 157u - ((bits >> 23) & 0xFFu); // to shift 2^30 and what follows it
    uint high = (bits << 7 & 0x3FFFFFFFu) | 0x40000000u;
    uint shifted = high >> (places & 31u);
    uint rest = (high << 1) << (31u - (places & 31u));
    uint negative = 0u - (bits >> 31);
    whole = choose(places < 32u, shifted, 0u);
    fraction = choose(places < 32u, rest, choose(places < 64u, shifted, 0u));
    fraction = (fraction ^ negative) - negative;
    whole = (whole ^ negative) + (negative & uint(fraction == 0u));
    return places < 158u;
}

// Returns float32(position) * float32(frequency), which is rounded once to float32 and then reduced exactly.
ROPE_FUNCTION RopePhase compatible_phase(RopeDistance position, uvec4 frequency) {
    RopePhase phase = {0u, 0u, 0u, 0u};
    uint f = (frequency.y & 0x7FFFFFu) | choose(frequency.y >= 0x800000u, 0x800000u, 0u);
    uint high = position.whole;
    uint low = position.fraction;
    uint mantissa = 0u;
    int exponent = max(int(frequency.y >> 23), 1) - 182;
    for (uint i = 0u; i < 2u; ++i) { // the position, then the product, each to the 24 bits of a float32
        uint first = choose(high != 0u, high, low);
        uint second = choose(high != 0u, low, 0u);
        uint left = uint(31 - highest_bit(first | 1u)) & 31u; // at most 31, which analyzers do not see
        mantissa = round_off((first << left) | ((second >> 1) >> (31u - left)), second << left);
        exponent += 8 - int(left) + (high != 0u ? 32 : 0);
        high = multiply_high(mantissa, f);
        low = mantissa * f;
    }
    // The angle is low * 2^exponent. The bits of 1/(2 pi) above 2^-exponent make whole turns.
    low = choose(exponent < -128 || exponent > 127, 0u, mantissa);
    uint word = (uint(exponent + 128) >> 5) & 7u;
    uint shift = uint(exponent + 128) & 31u;
    uint carry = 0u;
    for (uint i = 4u; i > 0u; --i) { // the last word leaves only its carry
        uint w = (kInverseTurn[word + i - 1u] << shift) | ((kInverseTurn[word + i] >> 1) >> (31u - shift));
        phase.low = phase.middle;
        phase.middle = phase.high;
        phase.high = low * w + carry;
        carry = multiply_high(low, w) + uint(phase.high < carry);
    }
    return phase;
}

// Returns value * mantissa * 2^-31, cut to 64 bits.
ROPE_FUNCTION RopeScaled scaled_by(RopeScaled value, uint mantissa) {
    uint low = value.high * mantissa;
    uint carry = add_carrying(low, multiply_high(value.low, mantissa));
    RopeScaled product = {multiply_high(value.high, mantissa) + carry, low, value.exponent + 1};
    return product;
}

// Doubles the high word unless it has bit 31. The low word stays: rounding only asks if it is zero.
ROPE_FUNCTION RopeScaled with_high_bit(RopeScaled value) {
    uint added = choose(int(value.high) < 0, 0u, value.high);
    value.high += added;
    value.exponent -= int(added != 0u);
    return value;
}

// Returns `from` less the high word of a * b.
ROPE_FUNCTION uint less_product(uint from, uint a, uint b) { return from - multiply_high(a, b); }

// A cosine of 1 does not fit 32 bits. If it is not scaled, one unit less is rounded to 1.
ROPE_FUNCTION RopeScaled octant_cosine(uint u, bool scaled) {
    uint versine =
        multiply_high(u, less_product(1324675871u, u, less_product(68093814u, u, less_product(1399900u, u, 15161u))));
    bool one = versine == 0u && scaled;
    RopeScaled cosine = {choose(one, 0x80000000u, 0u - max(versine, 1u)), 0u, 125 + int(one)};
    return cosine;
}

// r is a nonzero phase of at most 1/8 turn; its leading 32 bits carry the relative precision.
ROPE_FUNCTION RopeScaled octant_sine(RopePhase r, uint u) {
    uint slope = less_product(3373259426u, u,
                              less_product(346799332u, u, less_product(10696153u, u, less_product(157072u, u, 1325u))));
    bool one = r.high == 0u;
    bool two = r.middle == 0u && one;
    uint first = choose(two, r.low, choose(one, r.middle, r.high));
    uint second = choose(two, 0u, choose(one, r.low, r.middle));
    uint shift = uint(31 - highest_bit(first | 1u));
    uint leading = (first << shift) | ((second >> 1) >> (31u - shift));
    int exponent = 128 - 32 * (int(one) + int(two)) - int(shift);
    RopeScaled sine = {multiply_high(leading, slope), leading * slope, exponent};
    return sine;
}

// Returns turn_pair's grid: it makes leading parts that are multiples of 2^-10 of the scale's binade. A power of two
// needs no grid, so it has 0.
ROPE_FUNCTION uint scale_grid(uint mantissa, int exponent) {
    return choose(mantissa == 0x80000000u, 0u, (uint(exponent + 140) << 23) | 0x400000u);
}

// Returns the bits of float32 scale * cos and scale * sin of a phase. A zero is always +0.
ROPE_FUNCTION uvec2 cos_sin_bits(RopePhase phase, uint scale_mantissa, int scale_exponent) {
    uint quadrant = phase.high + 0x20000000u; // in its two highest bits
    int rest = int(phase.high << 2);          // what is left of the highest word, four times
    uint flip = uint(rest >> 31);
    // Minus a number is its complement and one more. The one reaches a word if all words below it are zero.
    RopePhase r = phase;
    r.low = (phase.low ^ flip) - flip;
    r.middle = (phase.middle ^ flip) - choose(phase.low == 0u, flip, 0u);
    r.high = (uint(rest >> 2) ^ flip) - choose((phase.low | phase.middle) == 0u, flip, 0u);
    uint t = choose(r.high >= 0x20000000u, 0xFFFFFFFFu, r.high * 8u + (r.middle >> 29));
    uint u = multiply_high(t, t);
    bool none = (uint(rest) | phase.middle | phase.low) == 0u;
    bool scaled = scale_mantissa != 0x80000000u;
    RopeScaled first = octant_cosine(u, scaled);
    RopeScaled second = octant_sine(r, u);
    // A power of two takes no product, but loses the bit that a product would cut off. The loop saves code. A cosine
    // has bit 31. A sine may lack one bit, for its mantissa is at least sqrt(1/8). A product may lack one more.
    second.low &= choose(scaled, 0xFFFFFFFFu, 0xFFFFFFFEu);
    uint c = 0u, s = 0u;
    for (uint i = 0u; i < 2u; ++i) {
        RopeScaled value = first;
        if (scaled) value = with_high_bit(scaled_by(first, scale_mantissa));
        if (i != 0u) value = with_high_bit(value);
        first = second;
        c = s;
        s = uint(value.exponent + scale_exponent) * 0x800000u + round_off(value.high, value.low);
    }
    // The quadrants have (c, s), (-s, c), (-c, -s), (s, -c); s has the sign of r. The signs come first, so that a zero
    // has none.
    bool swap = (quadrant & 0x40000000u) != 0u;
    uint turned = quadrant & 0x80000000u;
    c ^= turned ^ choose(swap, phase.sign, 0u);
    s ^= turned ^ (flip & 0x80000000u) ^ choose(swap, 0x80000000u, phase.sign);
    s = choose(none, 0u, s);
    uvec2 bits = {choose(swap, s, c), choose(swap, c, s)};
    return bits;
}

// Returns the float32 bits of scale * cos and scale * sin. |scale| is mantissa * 2^(exponent - 31), with bit 31 of the
// mantissa set. A negative scale has an exponent of 256 more, which adds 2^31 to the bits. `compatible` asks for
// ROPE_ANGLE_COMPATIBLE, and takes frequencies written for it; frequencies of the other angle make both NaN. `whole`:
// the position has no fraction.
ROPE_FUNCTION uvec2 rope_cos_sin_bits(RopeDistance position, uvec4 frequency, bool compatible, bool whole,
                                      uint mantissa, int exponent) {
    RopePhase phase;
    if (compatible) {
        phase = compatible_phase(position, frequency);
    } else {
        phase = exact_phase(position, frequency);
        if (!whole) phase = add_fraction(phase, position, frequency);
    }
    phase.sign = (position.sign ^ frequency.x) & 0x80000000u;
    uvec2 bits = cos_sin_bits(phase, mantissa, exponent);
    // Words of the other angle, and words never written (zeros), lack the mark and make a NaN.
    bool marked = (frequency.x & ROPE_MARKS) == choose(compatible, ROPE_MARK_COMPATIBLE, ROPE_MARK_EXACT);
    bits.x = choose(marked, bits.x, 0x7FC00000u);
    bits.y = choose(marked, bits.y, 0x7FC00000u);
    return bits;
}

ROPE_DIALECT_END
#endif
