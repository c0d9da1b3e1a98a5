// This file computes with numbers of 320 fraction bits: sums, products, quotients, logarithms and exponentials.
#include "rules/real.h"

namespace rope {
namespace {

constexpr Fixed kHalfPi = {{0x1C6809BB, 0xA29410F3, 0x76273644, 0x04177D4C, 0x14CF98E8, 0x52049C11, 0x01B839A2,
                            0x898CC517, 0x42D18469, 0x921FB544, 1, 0}};
constexpr Fixed kTwiceLogOf2 = {{0xDBD75930, 0xCF70EC40, 0x1755F457, 0x141A2EB7, 0xE5316C5B, 0x81E6864C, 0x07E5ED5E,
                                 0x93C76730, 0xA39EF357, 0x62E42FEF, 1, 0}};
constexpr uint32_t kSqrt2 = 0x6A09E667; // its first 32 fraction bits

Real normalized(const Fixed& mantissa, int exponent, bool negative) {
    const int top = fixedTop(mantissa);
    if (top < 0) return {};
    const int excess = top - kFixedFractionBits;
    return {excess == 0 ? mantissa : fixedShift(mantissa, -excess), exponent + excess, negative};
}

bool isBelow(const Fixed& a, const Fixed& b) {
    int i = kFixedLimbs - 1;
    while (i > 0 && a.limbs[i] == b.limbs[i]) --i;
    return a.limbs[i] < b.limbs[i];
}

// Returns the whole part of remainder / divisor, which is less than 2^32, and keeps what remains. The divisor is from
// 1 to 2. Its first 32 bits, rounded up, give a quotient that is at most a few too small.
uint32_t takeQuotient(const Fixed& divisor, Fixed* remainder) {
    const uint32_t* top = remainder->limbs + kFixedFractionLimbs;
    const uint64_t high = static_cast<uint64_t>(top[1]) << 63 | static_cast<uint64_t>(top[0]) << 31 | top[-1] >> 1;
    Fixed quotient = {};
    uint32_t* digit = quotient.limbs + kFixedFractionLimbs;
    *digit = static_cast<uint32_t>(high / ((1ull << 31 | divisor.limbs[kFixedFractionLimbs - 1] >> 1) + 1));
    *remainder = fixedSubtract(*remainder, fixedMultiply(quotient, divisor));
    for (; !isBelow(*remainder, divisor); ++*digit) *remainder = fixedSubtract(*remainder, divisor);
    return *digit;
}

// A whole number of less than 2^31.
int toInteger(const Real& a) {
    const int magnitude = static_cast<int>(fixedShift(a.mantissa, a.exponent).limbs[kFixedFractionLimbs]);
    return a.negative ? -magnitude : magnitude;
}

Real logOf2() { return {kTwiceLogOf2, -1, false}; }

} // namespace

Real realFromDouble(double value) {
    int exponent;
    const Fixed whole = fixedMantissa(value, &exponent);
    return normalized(whole, exponent, doubleBits(value) >> 63 != 0);
}

Real realFromInteger(uint32_t value) {
    Fixed mantissa = {};
    mantissa.limbs[kFixedFractionLimbs] = value;
    return normalized(mantissa, 0, false);
}

double realToDouble(const Real& a) {
    if (realIsZero(a)) return 0.0;
    const uint64_t exponent = static_cast<uint64_t>(static_cast<int64_t>(a.exponent)) << 52;
    const uint64_t sign = static_cast<uint64_t>(a.negative) << 63;
    return doubleFromBits(doubleBits(fixedToDouble(a.mantissa)) + exponent + sign);
}

Real Real::operator-() const { return {mantissa, exponent, !negative && !realIsZero(*this)}; }

Real Real::operator+(const Real& other) const {
    if (realIsZero(*this) || realIsZero(other)) return realIsZero(*this) ? other : *this;
    if (exponent < other.exponent) return other + *this;
    const Fixed aligned = fixedShift(other.mantissa, other.exponent - exponent);
    if (negative == other.negative) return normalized(fixedAdd(mantissa, aligned), exponent, negative);
    if (isBelow(mantissa, aligned)) return normalized(fixedSubtract(aligned, mantissa), exponent, other.negative);
    return normalized(fixedSubtract(mantissa, aligned), exponent, negative);
}

Real Real::operator-(const Real& other) const { return *this + -other; }

Real Real::operator*(const Real& other) const {
    return normalized(fixedMultiply(mantissa, other.mantissa), exponent + other.exponent, negative != other.negative);
}

Real Real::operator/(const Real& other) const {
    Fixed quotient = {};
    Fixed remainder = mantissa;
    for (int limb = kFixedFractionLimbs; limb >= 0; --limb) {
        quotient.limbs[limb] = takeQuotient(other.mantissa, &remainder);
        remainder = fixedShift(remainder, 32);
    }
    return normalized(quotient, exponent - other.exponent, negative != other.negative);
}

Real Real::operator/(uint32_t divisor) const { return normalized(fixedDivide(mantissa, divisor), exponent, negative); }

bool Real::operator<(const Real& other) const { return (*this - other).negative; }

float realToFloat(const Real& a) {
    if (realIsZero(a)) return 0.0f;
    const uint32_t first = a.mantissa.limbs[kFixedFractionLimbs - 1];
    uint32_t rest = first & 0xFF;
    for (int i = 0; i < kFixedFractionLimbs - 1; ++i) rest |= a.mantissa.limbs[i] != 0;
    uint32_t bits = static_cast<uint32_t>(a.exponent + 127) << 23 | first >> 9;
    bits += (first >> 8 & 1) & ((rest != 0) | (bits & 1)); // a carry goes into the exponent
    bits |= static_cast<uint32_t>(a.negative) << 31;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

Real realTimesPowerOfTwo(const Real& a, int exponent) {
    return realIsZero(a) ? a : Real{a.mantissa, a.exponent + exponent, a.negative};
}

bool realIsZero(const Real& a) { return a.mantissa.limbs[kFixedFractionLimbs] == 0; }

Real realFloor(const Real& a) {
    if (a.exponent >= kFixedFractionBits || realIsZero(a)) return a;
    Real whole = {};
    if (a.exponent >= 0) {
        whole = a;
        for (int bit = 0; bit < kFixedFractionBits - a.exponent; ++bit)
            whole.mantissa.limbs[bit / 32] &= ~(1u << (bit % 32));
    }
    return a.negative && a < whole ? whole - realFromInteger(1) : whole;
}

Real realCeil(const Real& a) { return -realFloor(-a); }

Real realPi() { return {kHalfPi, 1, false}; }

// ln(m 2^k) = k ln 2 + 2 artanh z, z = (m-1)/(m+1), m from 1/sqrt 2 to sqrt 2: |z| is at most 0.172, and the series
// z + z^3/3 + z^5/5 + ... gains five bits a term. If k is not 0, the sum is at least half of ln 2: nothing cancels.
Real realLog(const Real& a) {
    const bool is_upper = a.mantissa.limbs[kFixedFractionLimbs - 1] >= kSqrt2;
    const int k = is_upper ? a.exponent + 1 : a.exponent;
    const Real m = {a.mantissa, is_upper ? -1 : 0, false};
    const Real one = realFromInteger(1);
    const Real z = (m - one) / (m + one);
    const Real square = z * z;
    Real power = z;
    Real sum = z;
    for (uint32_t n = 3; n < 140; n += 2) {
        power = power * square;
        sum = sum + power / n;
    }
    Real doublings = realFromInteger(static_cast<uint32_t>(k < 0 ? -k : k));
    doublings.negative = k < 0;
    return doublings * logOf2() + realTimesPowerOfTwo(sum, 1);
}

// exp(k ln 2 + 2^8 r) = 2^k (exp r)^256, r from 0 to 2^-8.5: the term r^n/n! is below 2^-330 from n = 28 on. Each
// squaring doubles the relative error.
Real realExp(const Real& a) {
    constexpr int kSquarings = 8;
    const Real k = realFloor(a / logOf2());
    const Real r = realTimesPowerOfTwo(a - k * logOf2(), -kSquarings);
    const Real one = realFromInteger(1);
    Real sum = one;
    for (uint32_t n = 28; n > 0; --n) sum = one + sum * r / n;
    for (int i = 0; i < kSquarings; ++i) sum = sum * sum;
    return realTimesPowerOfTwo(sum, toInteger(k));
}

} // namespace rope
