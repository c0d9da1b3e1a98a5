// Fixed point numbers of 64 integer and 320 fraction bits, not negative, so that no platform's floating point has a say
// in a frequency's bits.
#pragma once

#include <stdint.h>
#include <string.h>

namespace rope {

constexpr int kFixedFractionLimbs = 10;
constexpr int kFixedLimbs = kFixedFractionLimbs + 2;
constexpr int kFixedFractionBits = 32 * kFixedFractionLimbs;

struct Fixed {
    uint32_t limbs[kFixedLimbs]; // the least significant first
};

static inline uint64_t doubleBits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double doubleFromBits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Values that may be NaN or infinite are compared by their bits: bits compare alike under any compiler's floating point
// flags. The bits of numbers that are not negative are ordered as the numbers are.
static inline uint64_t magnitudeBits(double value) { return doubleBits(value) & ~(1ull << 63); }

// The value is from `least` (0 or more) to `greatest`; false for a NaN.
static inline bool isFromTo(double value, double least, double greatest) {
    const uint64_t bits = doubleBits(value);
    return bits >= doubleBits(least) && bits <= doubleBits(greatest);
}

static inline uint32_t fixedBit(const Fixed& a, int bit) { return bit < 0 ? 0 : (a.limbs[bit / 32] >> (bit % 32)) & 1; }

// The highest bit that is set, -1 for 0.
static inline int fixedTop(const Fixed& a) {
    int limb = kFixedLimbs - 1;
    while (limb >= 0 && a.limbs[limb] == 0) --limb;
    if (limb < 0) return -1;
    int top = 32 * limb;
    for (uint32_t bits = a.limbs[limb]; bits > 1; bits >>= 1) ++top;
    return top;
}

// Modulo 2^64.
static inline Fixed fixedAdd(const Fixed& a, const Fixed& b) {
    Fixed sum = {};
    uint64_t carry = 0;
    for (int i = 0; i < kFixedLimbs; ++i) {
        carry += static_cast<uint64_t>(a.limbs[i]) + b.limbs[i];
        sum.limbs[i] = static_cast<uint32_t>(carry);
        carry >>= 32;
    }
    return sum;
}

// a - b, which must not be negative.
static inline Fixed fixedSubtract(const Fixed& a, const Fixed& b) {
    Fixed difference = {};
    uint64_t borrow = 0;
    for (int i = 0; i < kFixedLimbs; ++i) {
        const uint64_t limb = static_cast<uint64_t>(a.limbs[i]) - b.limbs[i] - borrow;
        difference.limbs[i] = static_cast<uint32_t>(limb);
        borrow = limb >> 63;
    }
    return difference;
}

// Truncated; the product must be less than 2^64.
static inline Fixed fixedMultiply(const Fixed& a, const Fixed& b) {
    uint32_t product[2 * kFixedLimbs] = {};
    for (int i = 0; i < kFixedLimbs; ++i) {
        if (a.limbs[i] == 0) continue; // a double has three limbs at most
        uint64_t carry = 0;
        for (int j = 0; j < kFixedLimbs; ++j) {
            carry += static_cast<uint64_t>(a.limbs[i]) * b.limbs[j] + product[i + j];
            product[i + j] = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
        product[i + kFixedLimbs] = static_cast<uint32_t>(carry);
    }
    Fixed result;
    memcpy(result.limbs, product + kFixedFractionLimbs, sizeof result.limbs);
    return result;
}

// Truncated.
static inline Fixed fixedDivide(const Fixed& a, uint32_t divisor) {
    Fixed quotient = {};
    uint64_t remainder = 0;
    for (int i = kFixedLimbs - 1; i >= 0; --i) {
        remainder = remainder << 32 | a.limbs[i];
        quotient.limbs[i] = static_cast<uint32_t>(remainder / divisor);
        remainder %= divisor;
    }
    return quotient;
}

// a * 2^bits: truncated below, modulo 2^64 above.
static inline Fixed fixedShift(const Fixed& a, int bits) {
    const int up = bits >= 0 ? bits / 32 : -((31 - bits) / 32); // whole limbs; the rest goes up by 0 to 31 bits
    const int rest = bits - 32 * up;
    Fixed shifted = {};
    for (int i = 0; i < kFixedLimbs; ++i) {
        const int from = i - up;
        const uint64_t high = from >= 0 && from < kFixedLimbs ? a.limbs[from] : 0;
        const uint64_t low = from >= 1 && from <= kFixedLimbs ? a.limbs[from - 1] : 0;
        shifted.limbs[i] = static_cast<uint32_t>((high << 32 | low) >> (32 - rest));
    }
    return shifted;
}

// |value| is this whole number times 2^*exponent.
static inline Fixed fixedMantissa(double value, int* exponent) {
    const uint64_t bits = doubleBits(value);
    const int field = static_cast<int>(bits >> 52 & 0x7FF);
    const uint64_t fraction = bits & 0xFFFFFFFFFFFFF;
    const uint64_t mantissa = field == 0 ? fraction : fraction | 1ull << 52;
    Fixed whole = {};
    whole.limbs[kFixedFractionLimbs] = static_cast<uint32_t>(mantissa);
    whole.limbs[kFixedFractionLimbs + 1] = static_cast<uint32_t>(mantissa >> 32);
    *exponent = (field == 0 ? 1 : field) - 1075;
    return whole;
}

// |value|, which must be less than 2^64; exact save for bits below 2^-320.
static inline Fixed fixedFromDouble(double value) {
    int exponent;
    const Fixed whole = fixedMantissa(value, &exponent);
    return fixedShift(whole, exponent);
}

// The nearest double, or the even one of two equally near.
static inline double fixedToDouble(const Fixed& a) {
    const int top = fixedTop(a);
    if (top < 0) return 0.0;
    uint64_t mantissa = 0;
    for (int i = 0; i < 53; ++i) mantissa = mantissa << 1 | fixedBit(a, top - i);
    uint32_t rest = 0;
    for (int bit = top - 54; bit >= 0 && rest == 0; --bit) rest = fixedBit(a, bit);
    mantissa += fixedBit(a, top - 53) & (rest | static_cast<uint32_t>(mantissa & 1));
    // The exponent is one too low: the mantissa's leading bit adds the missing one. A carry out of the mantissa adds
    // another.
    return doubleFromBits((static_cast<uint64_t>(top - kFixedFractionBits + 1022) << 52) + mantissa);
}

} // namespace rope
