// Cos and sin of an angle in 32-bit integers only: the same bits in GLSL and C++ (in namespace rope).
//
// An angle is a phase, a fraction of a turn in Q0.96. Its quadrant is counted off, the rest r (at most 1/8 turn) goes
// through two polynomials in u = (r / (1/8 turn))^2, and the result is rounded to float32 once, the scale inside.
#ifndef ROPE_ANGLE_H
#define ROPE_ANGLE_H

#include "dialect.h"

struct RopePhase {
    uint high;
    uint middle;
    uint low;
    uint sign; // bit 31: negate the sine
};

// A nonnegative number, high and low together Q0.64, times 2^exponent.
struct RopeScaled {
    uint high;
    uint low;
    int exponent;
};

ROPE_FUNCTION uint magnitude(int position) {
    uint negative = uint(position >> 31);
    return (uint(position) ^ negative) - negative;
}

ROPE_FUNCTION uint sine_sign(int position, uvec4 frequency) { return (uint(position) ^ frequency.x) & 0x80000000u; }

// position * frequency, whole turns dropped. Whole turns of the frequency itself are dropped with them.
ROPE_FUNCTION RopePhase exact_phase(int position, uvec4 frequency) {
    uint p = magnitude(position);
    RopePhase phase;
    phase.low = p * frequency.w;
    uint carry = multiply_high(p, frequency.w);
    phase.middle = p * frequency.z + carry;
    carry = multiply_high(p, frequency.z) + uint(phase.middle < carry);
    phase.high = p * frequency.y + carry;
    phase.sign = sine_sign(position, frequency);
    return phase;
}

// value * 2^-count rounded to nearest even, count 1 to 31; `below` is not zero where more bits follow the value's.
ROPE_FUNCTION uint round_off(uint value, uint below, uint count) {
    uint kept = value >> count;
    uint rest = value << (32u - count);
    uint sticky = choose(below != 0u, 1u, kept & 1u);
    return kept + uint(rest - 1u + sticky >= 0x80000000u && rest != 0u);
}

// 1/(2 pi) in binary, behind four words of zeros: word (e + 128) / 32 starts at the bit of weight 2^-e.
ROPE_CONSTANT uint kInverseTurn[13] = {0u,          0u,          0u,          0u,          0x28BE60DBu,
                                       0x9391054Au, 0x7F09D5F4u, 0x7D4D3770u, 0x36D8A566u, 0x4F10E410u,
                                       0x7F9458EAu, 0xF7AEF158u, 0x6DC91B8Eu};

ROPE_FUNCTION uint inverse_turn_word(uint word, uint shift) {
    return (kInverseTurn[word] << shift) | ((kInverseTurn[word + 1u] >> 1) >> (31u - shift));
}

// float32(position) * float32(frequency), rounded once to float32, then reduced exactly.
ROPE_FUNCTION RopePhase compatible_phase(int position, uvec4 frequency) {
    RopePhase phase;
    phase.high = 0u;
    phase.middle = 0u;
    phase.low = 0u;
    phase.sign = sine_sign(position, frequency);

    uint p = magnitude(position);
    int exponent = max(int(frequency.y >> 23), 1) - 150;
    uint f = (frequency.y & 0x7FFFFFu) | choose(frequency.y >= 0x800000u, 0x800000u, 0u);
    int excess = highest_bit(p) - 23;
    if (excess > 0) {
        p = round_off(p, 0u, uint(excess));
        exponent += excess;
    }
    uint high = multiply_high(p, f);
    uint low = p * f;
    int excess_bits = (high != 0u ? 32 + highest_bit(high) : highest_bit(low)) - 23;
    if (excess_bits > 16) {
        low = round_off((high << 16) | (low >> 16), low & 0xFFFFu, uint(excess_bits - 16));
    } else if (excess_bits > 0) {
        low = round_off(low, 0u, uint(excess_bits)) + (high << uint(32 - excess_bits));
    }
    exponent += max(excess_bits, 0);
    // The angle is low * 2^exponent. Of 1/(2 pi) the bits above 2^-exponent make whole turns.
    if (low == 0u || exponent < -128 || exponent > 127) return phase;
    uint word = uint(exponent + 128) >> 5;
    uint shift = uint(exponent + 128) & 31u;
    uint carry = multiply_high(low, inverse_turn_word(word + 3u, shift));
    for (uint i = 3u; i > 0u; --i) {
        uint w = inverse_turn_word(word + i - 1u, shift);
        phase.low = phase.middle;
        phase.middle = phase.high;
        phase.high = low * w + carry;
        carry = multiply_high(low, w) + uint(phase.high < carry);
    }
    return phase;
}

// The bits of the float32 nearest value * scale, scale = mantissa * 2^(exponent - 31).
ROPE_FUNCTION uint to_float_bits(RopeScaled value, uint mantissa, int exponent) {
    uint low = value.high * mantissa;
    uint carry = multiply_high(value.low, mantissa);
    low += carry;
    uint high = multiply_high(value.high, mantissa) + uint(low < carry);
    int top = highest_bit(high | 1u);
    uint shift = uint(31 - top);
    high = (high << shift) | ((low >> 1) >> (31u - shift));
    low = low << shift;
    // high is now in [2^31, 2^32) and the value high * 2^(biased - 31 - 127)
    int biased = value.exponent + exponent + top - 31 + 127;
    return (uint(biased - 1) << 23) + round_off(high, low, 8u);
}

ROPE_FUNCTION RopeScaled octant_cosine(uint u) {
    uint versine = multiply_high(
        u, 1324675871u - multiply_high(u, 68093814u - multiply_high(u, 1399900u - multiply_high(u, 15161u))));
    RopeScaled cosine;
    cosine.high = choose(versine == 0u, 0x80000000u, 0u - versine);
    cosine.low = 0u;
    cosine.exponent = int(versine == 0u);
    return cosine;
}

// r is a nonzero phase of at most 1/8 turn; its leading 32 bits carry the relative precision.
ROPE_FUNCTION RopeScaled octant_sine(RopePhase r, uint u) {
    RopeScaled sine;
    bool one = r.high == 0u;
    bool two = one && r.middle == 0u;
    uint first = choose(two, r.low, choose(one, r.middle, r.high));
    uint second = choose(two, 0u, choose(one, r.low, r.middle));
    uint shift = uint(31 - highest_bit(first | 1u));
    uint leading = (first << shift) | ((second >> 1) >> (31u - shift));
    sine.exponent = 3 - 32 * (int(one) + int(two)) - int(shift);
    uint slope = 3373259426u -
                 multiply_high(
                     u, 346799332u - multiply_high(u, 10696153u - multiply_high(u, 157072u - multiply_high(u, 1325u))));
    sine.high = multiply_high(leading, slope);
    sine.low = leading * slope;
    return sine;
}

// The bits of float32 scale * cos and scale * sin of a phase. A zero is always +0.
ROPE_FUNCTION void cos_sin_bits(RopePhase phase, uint scale_mantissa, int scale_exponent, ROPE_OUT(uint) cosine,
                                ROPE_OUT(uint) sine) {
    uint quadrant = (phase.high + 0x20000000u) >> 30;
    RopePhase r = phase;
    r.high -= quadrant << 30;
    uint sign = r.high & 0x80000000u;
    uint flip = 0u - (sign >> 31);
    r.low = (r.low ^ flip) - flip;
    r.middle = (r.middle ^ flip) + (flip & uint(r.low == 0u));
    r.high = (r.high ^ flip) + (flip & uint(r.low == 0u && r.middle == 0u));
    uint t = choose(r.high >= 0x20000000u, 0xFFFFFFFFu, (r.high << 3) | (r.middle >> 29));
    uint u = multiply_high(t, t);
    bool none = (r.high | r.middle | r.low) == 0u;
    uint c = to_float_bits(octant_cosine(u), scale_mantissa, scale_exponent);
    uint s = choose(none, 0u, to_float_bits(octant_sine(r, u), scale_mantissa, scale_exponent));
    // By quadrant: (c, s), (-s, c), (-c, -s), (s, -c), s with the sign of r.
    bool swap = (quadrant & 1u) != 0u;
    uint turned = (quadrant & 2u) << 30;
    cosine = choose(swap, s, c);
    sine = choose(swap, c, s);
    cosine = choose(cosine == 0u, 0u, cosine ^ turned ^ choose(swap, sign ^ 0x80000000u, 0u));
    sine = choose(sine == 0u, 0u, sine ^ turned ^ choose(swap, 0u, sign) ^ phase.sign);
}

ROPE_DIALECT_END
#endif
