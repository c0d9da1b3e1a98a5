// The limit of frequencies: less than 2^28 turns a position, either way.
#pragma once

#include "rules/fixed.h"

namespace rope {

constexpr double kMaxRadians = 0x1.921FB54442D18p30; // the last double below 2^28 turns

// Infinity and NaN are beyond the limit.
inline bool isWithinTurnLimit(double frequency) { return magnitudeBits(frequency) <= doubleBits(kMaxRadians); }

} // namespace rope
