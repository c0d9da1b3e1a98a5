// Numbers of either sign and any size with 320 fraction bits. The frequency rules compute in them, in integers alone,
// so that no platform's floating point or libm has a say in a frequency's bits.
#pragma once

#include "rules/fixed.h"

namespace rope {

// The mantissa times 2^exponent; the mantissa is from 1 to 2, or 0.
struct Real {
    Fixed mantissa;
    int exponent;
    bool negative;

    // The error is within 2^-318 of the result, or (+ and -) of the greater operand. The divisor must not be 0.
    Real operator-() const;
    Real operator+(const Real& other) const;
    Real operator-(const Real& other) const;
    Real operator*(const Real& other) const;
    Real operator/(const Real& other) const;
    Real operator/(uint32_t divisor) const; // within 2^-288

    bool operator<(const Real& other) const;
};

Real realFromDouble(double value); // finite; exact
Real realFromInteger(uint32_t value);

// The nearest double, or the even one of two equally near. Its magnitude must be 0 or from 2^-1022 to 2^1023.
double realToDouble(const Real& a);

// The nearest float32 likewise. It must be 0 or normal.
float realToFloat(const Real& a);

Real realTimesPowerOfTwo(const Real& a, int exponent);

bool realIsZero(const Real& a);

Real realFloor(const Real& a); // exact
Real realCeil(const Real& a);

Real realPi();

// The error is within 2^-280 of the result. The logarithm's operand must be greater than 0; the exponential's operand
// must have a magnitude of at most 2^16.
Real realLog(const Real& a);
Real realExp(const Real& a);

} // namespace rope
