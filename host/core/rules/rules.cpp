// The table of frequency rules: each is a function, here or in yarn.cpp, and a row of kRules.
#include "rules/geometric.h"
#include "rules/members.h"
#include "rules/refuse.h"
#include "rules/yarn.h"

namespace rope {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;

RopeResult makeDefault(const RopeRule& rule, double* frequencies, double* scale, RopeReason*) {
    writeGeometric(one(), frequencyStep(rule, logOfBase(rule)), pairsOf(rule), frequencies);
    *scale = 1.0;
    return ROPE_SUCCESS;
}

RopeResult makeLinear(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasValidFactor(rule, reason)) return ROPE_ERROR_INVALID;
    const Real first = one() / realFromDouble(rule.factor);
    writeGeometric(first, frequencyStep(rule, logOfBase(rule)), pairsOf(rule), frequencies);
    *scale = 1.0;
    return ROPE_SUCCESS;
}

// The default rule with the base b * stretch^(d/(d-2)).
RopeResult makeStretched(const RopeRule& rule, const Real& stretch, double* frequencies, double* scale,
                         RopeReason* reason) {
    const uint32_t pairs = pairsOf(rule);
    if (pairs == 1) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "rotary_dim is 2; it must be 4 or more: the base grows by factor^(rotary_dim / (rotary_dim - 2))");
    }
    const Real power = realFromInteger(pairs) / (pairs - 1);
    const Real log_base = logOfBase(rule) + realLog(stretch) * power;
    const Real most = realLog(realFromDouble(kTwoTo64));
    const Real slack = realFromDouble(0x1p-100); // 1 and 2^64 come out as themselves but for the last digits
    if (log_base < -slack || most - slack < log_base) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "base %.17g is stretched to %s; factor %.17g must be such that it stays 1 or more and below 2^64",
                      rule.base, log_base.negative ? "less than 1" : "2^64 or more", rule.factor);
    }
    writeGeometric(one(), frequencyStep(rule, log_base), pairs, frequencies);
    *scale = 1.0;
    return ROPE_SUCCESS;
}

RopeResult makeNtk(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasValidFactor(rule, reason)) return ROPE_ERROR_INVALID;
    return makeStretched(rule, realFromDouble(rule.factor), frequencies, scale, reason);
}

RopeResult makeDynamicNtk(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasValidFactor(rule, reason) || !hasValidOriginalLength(rule, reason) || !hasValidLength(rule, reason))
        return ROPE_ERROR_INVALID;
    Real stretch = one();
    if (isBeyondOriginal(rule)) { // s * length/L - (s - 1)
        const Real original = realFromDouble(rule.original_length);
        const Real beyond = (realFromDouble(rule.length) - original) / original;
        stretch = one() + realFromDouble(rule.factor) * beyond;
    }
    return makeStretched(rule, stretch, frequencies, scale, reason);
}

bool isValidLongropeList(const char* name, const double* list, uint32_t pairs, RopeReason* reason) {
    if (!list) {
        refuse(reason, ROPE_ERROR_INVALID, "%s is null; it must point to rotary_dim / 2 = %u factors", name, pairs);
        return false;
    }
    for (uint32_t i = 0; i < pairs; ++i) {
        if (!isFromTo(list[i], 0x1p-30, 0x1p900)) {
            refuse(reason, ROPE_ERROR_INVALID, "%s[%u] is %.17g; it must be greater than 0: from 2^-30 to 2^900", name,
                   i, list[i]);
            return false;
        }
    }
    return true;
}

// The scale is sqrt(1 + ln s / ln L), or 1 where s is 1 or less.
bool findLongropeScale(const RopeRule& rule, Real* scale, RopeReason* reason) {
    if (isGiven(rule.attention_factor)) {
        *scale = realFromDouble(rule.attention_factor);
        return hasValidAttentionFactor(rule, reason);
    }
    if (!isValid("factor", rule.factor, 0x1p-30, 0x1p900, "from 2^-30 to 2^900 where attention_factor is 0", reason))
        return false;
    const Real log_factor = realLog(realFromDouble(rule.factor));
    const Real log_length = realLog(realFromDouble(rule.original_length));
    if (!(Real{} < log_factor)) {
        *scale = one();
        return true;
    }
    if (realIsZero(log_length)) {
        refuse(reason, ROPE_ERROR_INVALID,
               "original_length is 1; it must be greater: the scale divides by its logarithm");
        return false;
    }
    *scale = realExp(realLog(one() + log_factor / log_length) / 2);
    return isValidScale(*scale, reason);
}

RopeResult makeLongrope(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    const uint32_t pairs = pairsOf(rule);
    Real magnitude;
    if (!hasValidOriginalLength(rule, reason) || !hasValidLength(rule, reason) ||
        !isValidLongropeList("short_factors", rule.short_factors, pairs, reason) ||
        !isValidLongropeList("long_factors", rule.long_factors, pairs, reason) ||
        !findLongropeScale(rule, &magnitude, reason))
        return ROPE_ERROR_INVALID;
    const double* factors = isBeyondOriginal(rule) ? rule.long_factors : rule.short_factors;
    const Real step = frequencyStep(rule, logOfBase(rule));
    Real theta = one();
    for (uint32_t i = 0; i < pairs; ++i) {
        frequencies[i] = realToDouble(theta / realFromDouble(factors[i]));
        theta = theta * step;
    }
    *scale = realToDouble(magnitude);
    return ROPE_SUCCESS;
}

// The factor on theta_i for a pair that makes `turns` turns over the original length. `turns` is never exactly low or
// high, for pi is in it: if low equals high, the blend is never reached.
Real llama3Factor(const Real& turns, const Real& low, const Real& high, const Real& interpolated) {
    if (high < turns) return one();
    if (turns < low) return interpolated;
    const Real blend = (turns - low) / (high - low);
    return (one() - blend) * interpolated + blend;
}

RopeResult makeLlama3(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasValidFactor(rule, reason) || !hasValidOriginalLength(rule, reason) ||
        !isPositiveOrZero("low_freq_factor", rule.low_freq_factor, "1", reason) ||
        !isPositiveOrZero("high_freq_factor", rule.high_freq_factor, "4", reason))
        return ROPE_ERROR_INVALID;
    const Real low = givenOr(rule.low_freq_factor, 1.0);
    const Real high = givenOr(rule.high_freq_factor, 4.0);
    if (high < low) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "low_freq_factor is %.17g and high_freq_factor %.17g (0: 1 and 4); low must not be the greater",
                      rule.low_freq_factor, rule.high_freq_factor);
    }
    const Real step = frequencyStep(rule, logOfBase(rule));
    const Real interpolated = one() / realFromDouble(rule.factor);
    const Real turns = realFromDouble(rule.original_length) / realTimesPowerOfTwo(realPi(), 1);
    Real theta = one();
    for (uint32_t i = 0; i < pairsOf(rule); ++i) {
        frequencies[i] = realToDouble(theta * llama3Factor(turns * theta, low, high, interpolated));
        theta = theta * step;
    }
    *scale = 1.0;
    return ROPE_SUCCESS;
}

RopeResult makeProportional(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    const uint32_t pairs = pairsOf(rule);
    if (isGiven(rule.factor) && !hasValidFactor(rule, reason)) return ROPE_ERROR_INVALID;
    if (rule.rotating_pairs == 0 || rule.rotating_pairs > pairs) {
        return refuse(reason, ROPE_ERROR_INVALID, "rotating_pairs is %u; it must be from 1 to rotary_dim / 2 = %u",
                      rule.rotating_pairs, pairs);
    }
    const Real first = one() / givenOr(rule.factor, 1.0);
    writeGeometric(first, frequencyStep(rule, logOfBase(rule)), rule.rotating_pairs, frequencies);
    for (uint32_t i = rule.rotating_pairs; i < pairs; ++i) frequencies[i] = 0.0;
    *scale = 1.0;
    return ROPE_SUCCESS;
}

// Each pair is stretched by more than the pair before, and the last pair by the whole factor.
RopeResult makeNtkMixed(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasValidFactor(rule, reason)) return ROPE_ERROR_INVALID;
    if (isGiven(rule.mixed_exponent) &&
        !isValid("mixed_exponent", rule.mixed_exponent, 0x1p-30, 16.0, "from 2^-30 to 16, or 0 for 0.625", reason))
        return ROPE_ERROR_INVALID;
    const Real exponent = givenOr(rule.mixed_exponent, 0.625);
    const Real log_pairs = realLog(realFromInteger(pairsOf(rule)));
    const Real log_factor = realLog(realFromDouble(rule.factor));
    const Real step = frequencyStep(rule, logOfBase(rule));
    Real theta = one();
    for (uint32_t i = 0; i < pairsOf(rule); ++i) {
        const Real exponent_of_pair = realExp(exponent * (realLog(realFromInteger(i + 1)) - log_pairs));
        frequencies[i] = realToDouble(theta * realExp(-(log_factor * exponent_of_pair)));
        theta = theta * step;
    }
    *scale = 1.0;
    return ROPE_SUCCESS;
}

// `make` checks every member that it reads but kind, rotary_dim and base, and writes rotary_dim / 2 frequencies and the
// scale. If it refuses, it writes nothing but the reason.
struct Rule {
    RopeRuleKind kind;
    const char* name;
    RopeResult (*make)(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason);
};

constexpr Rule kRules[] = {
    {ROPE_RULE_DEFAULT, "default", makeDefault},
    {ROPE_RULE_LINEAR, "linear", makeLinear},
    {ROPE_RULE_NTK, "ntk", makeNtk},
    {ROPE_RULE_DYNAMIC_NTK, "dynamic", makeDynamicNtk},
    {ROPE_RULE_YARN, "yarn", makeYarn},
    {ROPE_RULE_LONGROPE, "longrope", makeLongrope},
    {ROPE_RULE_LLAMA3, "llama3", makeLlama3},
    {ROPE_RULE_PROPORTIONAL, "proportional", makeProportional},
    {ROPE_RULE_YARN_RAMPED, "yarn_ramped", makeYarnRamped},
    {ROPE_RULE_YARN_TEMPERATURE, "yarn_temperature", makeYarnTemperature},
    {ROPE_RULE_NTK_MIXED, "ntk_mixed", makeNtkMixed},
};

const Rule* findRule(RopeRuleKind kind) {
    for (const Rule& rule : kRules)
        if (rule.kind == kind) return &rule;
    return nullptr;
}

} // namespace
} // namespace rope

using namespace rope;

const char* ropeRuleName(RopeRuleKind kind) {
    const Rule* row = findRule(kind);
    return row ? row->name : nullptr;
}

RopeResult ropeMakeFrequencies(const RopeRule* rule, double* frequencies, double* scale, RopeReason* reason) {
    clear(reason);
    if (!rule) return refuse(reason, ROPE_ERROR_INVALID, "rule is null; it must point to a RopeRule");
    if (!frequencies || !scale) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s is null; frequencies must point to rotary_dim / 2 doubles and scale to one",
                      frequencies ? "scale" : "frequencies");
    }
    const Rule* row = findRule(rule->kind);
    if (!row) {
        return refuse(reason, ROPE_ERROR_INVALID, "kind is %d; it must be one of RopeRuleKind, the last of which is %s",
                      static_cast<int>(rule->kind), kRules[sizeof kRules / sizeof *kRules - 1].name);
    }
    if (rule->rotary_dim == 0 || rule->rotary_dim % 2 != 0 || rule->rotary_dim > 2 * ROPE_MAX_PAIRS) {
        return refuse(reason, ROPE_ERROR_INVALID, "rotary_dim is %u; it must be even, from 2 to %u", rule->rotary_dim,
                      2 * ROPE_MAX_PAIRS);
    }
    if (!isFromTo(rule->base, 1.0, kTwoTo64) || doubleBits(rule->base) == doubleBits(kTwoTo64))
        return refuse(reason, ROPE_ERROR_INVALID, "base is %.17g; it must be 1 or more and less than 2^64", rule->base);
    return row->make(*rule, frequencies, scale, reason);
}
