// The members of a RopeRule as the rules read them: the values that a 0 stands for, and the checks. A check that fails
// writes the reason and returns false.
#pragma once

#include "rules/real.h"
#include <vkrope/rope.h>

namespace rope {

inline uint32_t pairsOf(const RopeRule& rule) { return rule.rotary_dim / 2; }

inline bool isGiven(double value) { return magnitudeBits(value) != 0; }

// The value, or the default where the value is 0.
inline Real givenOr(double value, double otherwise) { return realFromDouble(isGiven(value) ? value : otherwise); }

inline Real one() { return realFromInteger(1); }

// `expected` ends the sentence "NAME is VALUE; it must be ...".
bool isValid(const char* name, double value, double least, double greatest, const char* expected, RopeReason* reason);
bool isValidOrZero(const char* name, double value, double least, double greatest, const char* expected,
                   RopeReason* reason);

// `zero` says which value a 0 stands for.
bool isPositiveOrZero(const char* name, double value, const char* zero, RopeReason* reason);
bool isBetaOrZero(const char* name, double value, const char* zero, RopeReason* reason);

// With these bounds no frequency leaves 2^-1022 to 2^30: theta_i is from 2^-64 to 1.
bool hasValidFactor(const RopeRule& rule, RopeReason* reason);
bool hasValidOriginalLength(const RopeRule& rule, RopeReason* reason);
bool hasValidLength(const RopeRule& rule, RopeReason* reason);
bool hasValidAttentionFactor(const RopeRule& rule, RopeReason* reason);

// The scale on cos and sin that a rule has computed.
bool isValidScale(const Real& scale, RopeReason* reason);

// Both lengths must be valid: neither is negative.
bool isBeyondOriginal(const RopeRule& rule);

} // namespace rope
