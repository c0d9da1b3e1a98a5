// This file checks the members of a rule, and says in a sentence what a wrong one would have to be.
#include "rules/members.h"

#include "rules/refuse.h"

namespace rope {
namespace {

constexpr double kMostPositions = 9007199254740992.0; // 2^53
constexpr double kGreatest = 0x1.fffffffffffffp1023;
constexpr double kLeastPositive = 0x0.0000000000001p-1022;

} // namespace

bool isValid(const char* name, double value, double least, double greatest, const char* expected, RopeReason* reason) {
    if (!isFromTo(value, least, greatest)) {
        refuse(reason, ROPE_ERROR_INVALID, "%s is %.17g; it must be %s", name, value, expected);
        return false;
    }
    return true;
}

bool isValidOrZero(const char* name, double value, double least, double greatest, const char* expected,
                   RopeReason* reason) {
    return !isGiven(value) || isValid(name, value, least, greatest, expected, reason);
}

bool hasValidFactor(const RopeRule& rule, RopeReason* reason) {
    return isValid("factor", rule.factor, 0x1p-30, 0x1p900, "greater than 0: from 2^-30 to 2^900", reason);
}

bool hasValidOriginalLength(const RopeRule& rule, RopeReason* reason) {
    return isValid("original_length", rule.original_length, 1.0, kMostPositions,
                   "from 1 to 2^53: the positions that the model was trained on", reason);
}

bool hasValidLength(const RopeRule& rule, RopeReason* reason) {
    return isValidOrZero("length", rule.length, 0.0, kMostPositions, "from 0 to 2^53; 0 means original_length", reason);
}

bool isPositiveOrZero(const char* name, double value, const char* zero, RopeReason* reason) {
    if (isGiven(value) && !isFromTo(value, kLeastPositive, kGreatest)) {
        refuse(reason, ROPE_ERROR_INVALID, "%s is %.17g; it must be finite and greater than 0, or 0, which means %s",
               name, value, zero);
        return false;
    }
    return true;
}

bool isBetaOrZero(const char* name, double value, const char* zero, RopeReason* reason) {
    if (isGiven(value) && !isFromTo(value, 0x1p-30, 0x1p30)) {
        refuse(reason, ROPE_ERROR_INVALID,
               "%s is %.17g; it must be greater than 0: from 2^-30 to 2^30, or 0, which means %s", name, value, zero);
        return false;
    }
    return true;
}

bool hasValidAttentionFactor(const RopeRule& rule, RopeReason* reason) {
    return isValidOrZero("attention_factor", rule.attention_factor, 0x1p-20, 0x1p20,
                         "from 2^-20 to 2^20, or 0 for the rule's own scale", reason);
}

bool isValidScale(const Real& scale, RopeReason* reason) {
    if (scale < realFromDouble(0x1p-20) || realFromDouble(0x1p20) < scale) {
        refuse(
            reason, ROPE_ERROR_INVALID,
            "the scale on cos and sin comes out less than 2^-20 or more than 2^20; factor, original_length or mscale "
            "must be nearer to a model's");
        return false;
    }
    return true;
}

bool isBeyondOriginal(const RopeRule& rule) { return magnitudeBits(rule.length) > magnitudeBits(rule.original_length); }

} // namespace rope
