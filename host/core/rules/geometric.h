// The geometric sequence of frequencies that every rule begins with: theta_i = base^(-2i/d), d the rotary dimension.
#pragma once

#include "rules/real.h"
#include <vkrope/rope.h>

namespace rope {

Real logOfBase(const RopeRule& rule);

// The ratio of a frequency to the one before it, base^(-2/d). Its computed powers are within 2^-270 of the true
// theta_i. That leaves 200 bits below a double's last one to tell which way a power rounds. No theta_i is a tie: a tie
// t has few bits, and t^(d/2) * base^i = 1 in whole numbers makes the odd parts of t and of base 1, so t is a power of
// two, which is a double itself.
Real frequencyStep(const RopeRule& rule, const Real& log_base);

// Writes first, first * step, and so on: `count` frequencies.
void writeGeometric(const Real& first, const Real& step, uint32_t count, double* frequencies);

} // namespace rope
