// The geometric sequence of frequencies that every rule begins with: theta_i = base^(-2i/d), d the rotary dimension.
#ifndef VKROPE_GEOMETRIC_H
#define VKROPE_GEOMETRIC_H

#include "rope.h"
#include "rules/real.h"

namespace rope {

Real logOfBase(const RopeRule& rule);

// b^(-2/d), the ratio of a frequency to the one before. Its powers are within 2^-270 of b^(-2i/d), which leaves 200
// bits below the last of a double to tell which way to round. None lies in the middle between two doubles, and only a
// power of two is a double: were the odd part of b^i times the n-th power of the odd part of its inverse root to be 1,
// both would be 1.
Real frequencyStep(const RopeRule& rule, const Real& log_base);

// Writes first, first * step, and so on: `count` frequencies.
void writeGeometric(const Real& first, const Real& step, uint32_t count, double* frequencies);

} // namespace rope

#endif
