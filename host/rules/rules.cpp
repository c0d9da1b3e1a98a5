// The frequency rules: each a function and a row of kRules.
#include "rules/fixed.h"
#include "rules/real.h"
#include "rules/refuse.h"

namespace rope {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;
constexpr double kMostPositions = 9007199254740992.0; // 2^53
constexpr double kGreatest = 0x1.fffffffffffffp1023;
constexpr double kLeastPositive = 0x0.0000000000001p-1022;

uint32_t pairsOf(const RopeRule& rule) { return rule.rotary_dim / 2; }

bool isGiven(double value) { return magnitudeBits(value) != 0; }

Real givenOr(double value, double otherwise) { return realFromDouble(isGiven(value) ? value : otherwise); }

Real one() { return realFromInteger(1); }

// ---- What a rule may ask of its members. False: refused, and the reason written.

bool hasFrom(const char* name, double value, double least, double greatest, const char* what, RopeReason* reason) {
    if (!isFromTo(value, least, greatest)) {
        refuse(reason, ROPE_ERROR_INVALID, "%s is %.17g; it must be %s", name, value, what);
        return false;
    }
    return true;
}

bool isZeroOrFrom(const char* name, double value, double least, double greatest, const char* what, RopeReason* reason) {
    return !isGiven(value) || hasFrom(name, value, least, greatest, what, reason);
}

// With these bounds no frequency leaves 2^-1022 to 2^30: theta_i is from 2^-64 to 1.
bool hasFactor(const RopeRule& rule, RopeReason* reason) {
    return hasFrom("factor", rule.factor, 0x1p-30, 0x1p900, "greater than 0: from 2^-30 to 2^900", reason);
}

bool hasOriginalLength(const RopeRule& rule, RopeReason* reason) {
    return hasFrom("original_length", rule.original_length, 1.0, kMostPositions,
                   "from 1 to 2^53: the positions that the model was trained on", reason);
}

bool hasLength(const RopeRule& rule, RopeReason* reason) {
    return isZeroOrFrom("length", rule.length, 0.0, kMostPositions, "from 0 to 2^53; 0 means original_length", reason);
}

bool hasPositiveOrZero(const char* name, double value, const char* zero, RopeReason* reason) {
    if (isGiven(value) && !isFromTo(value, kLeastPositive, kGreatest)) {
        refuse(reason, ROPE_ERROR_INVALID, "%s is %.17g; it must be finite and greater than 0, or 0, which means %s",
               name, value, zero);
        return false;
    }
    return true;
}

bool hasBeta(const char* name, double value, const char* zero, RopeReason* reason) {
    if (isGiven(value) && !isFromTo(value, 0x1p-30, 0x1p30)) {
        refuse(reason, ROPE_ERROR_INVALID,
               "%s is %.17g; it must be greater than 0: from 2^-30 to 2^30, or 0, which means %s", name, value, zero);
        return false;
    }
    return true;
}

bool hasAttentionFactor(const RopeRule& rule, RopeReason* reason) {
    return isZeroOrFrom("attention_factor", rule.attention_factor, 0x1p-20, 0x1p20,
                        "from 2^-20 to 2^20, or 0 for the rule's own scale", reason);
}

bool isScale(const Real& scale, RopeReason* reason) {
    if (scale < realFromDouble(0x1p-20) || realFromDouble(0x1p20) < scale) {
        refuse(
            reason, ROPE_ERROR_INVALID,
            "the scale on cos and sin comes out less than 2^-20 or more than 2^20; factor, original_length or mscale "
            "must be nearer to a model's");
        return false;
    }
    return true;
}

bool isBeyondOriginal(const RopeRule& rule) { // both checked, neither negative
    return magnitudeBits(rule.length) > magnitudeBits(rule.original_length);
}

// ---- The ladder of frequencies

Real logOfBase(const RopeRule& rule) { return realLog(realFromDouble(rule.base)); }

// b^(-2/d). Its powers are within 2^-270 of b^(-2i/d), which leaves 200 bits below the last of a double to tell which
// way to round. None lies in the middle between two doubles, and only a power of two is a double: were the odd part of
// b^i times the n-th power of the odd part of its inverse root to be 1, both would be 1.
Real ladderStep(const RopeRule& rule, const Real& log_base) { return realExp(-log_base / pairsOf(rule)); }

// first, first * step, and so on for `count` frequencies.
void writeLadder(const Real& first, const Real& step, uint32_t count, double* frequencies) {
    Real frequency = first;
    for (uint32_t i = 0; i < count; ++i) {
        frequencies[i] = realToDouble(frequency);
        frequency = frequency * step;
    }
}

// ---- Rules

RopeResult makeDefault(const RopeRule& rule, double* frequencies, double* scale, RopeReason*) {
    writeLadder(one(), ladderStep(rule, logOfBase(rule)), pairsOf(rule), frequencies);
    *scale = 1.0;
    return ROPE_SUCCESS;
}

RopeResult makeLinear(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasFactor(rule, reason)) {
        return ROPE_ERROR_INVALID;
    }
    const Real first = one() / realFromDouble(rule.factor);
    writeLadder(first, ladderStep(rule, logOfBase(rule)), pairsOf(rule), frequencies);
    *scale = 1.0;
    return ROPE_SUCCESS;
}

// The default ladder of the base b * stretch^(d/(d-2)).
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
    writeLadder(one(), ladderStep(rule, log_base), pairs, frequencies);
    *scale = 1.0;
    return ROPE_SUCCESS;
}

RopeResult makeNtk(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasFactor(rule, reason)) {
        return ROPE_ERROR_INVALID;
    }
    return makeStretched(rule, realFromDouble(rule.factor), frequencies, scale, reason);
}

RopeResult makeDynamicNtk(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasFactor(rule, reason) || !hasOriginalLength(rule, reason) || !hasLength(rule, reason)) {
        return ROPE_ERROR_INVALID;
    }
    Real stretch = one();
    if (isBeyondOriginal(rule)) { // s * length/L - (s - 1)
        const Real original = realFromDouble(rule.original_length);
        const Real beyond = (realFromDouble(rule.length) - original) / original;
        stretch = one() + realFromDouble(rule.factor) * beyond;
    }
    return makeStretched(rule, stretch, frequencies, scale, reason);
}

struct Bounds {
    Real low, high;
};

// The pairs that turn beta_fast and beta_slow times over the original length. L/(2 pi beta) is never a power of b, so
// that no bound lies on a whole pair. Where the clamps put high below low the ramp falls, as Hugging Face's does.
Bounds yarnBounds(const RopeRule& rule, const Real& log_base) {
    const Real turns = realFromDouble(rule.original_length) / realTimesPowerOfTwo(realPi(), 1);
    const auto pairAt = [&](const Real& beta) {
        return realFromInteger(pairsOf(rule)) * realLog(turns / beta) / log_base;
    };
    Bounds bounds = {pairAt(givenOr(rule.beta_fast, 32.0)), pairAt(givenOr(rule.beta_slow, 1.0))};
    if (rule.keep_bounds == 0) {
        bounds = {realFloor(bounds.low), realCeil(bounds.high)};
    }
    const Real last = realFromInteger(rule.rotary_dim - 1);
    if (bounds.low.negative) {
        bounds.low = {};
    }
    if (last < bounds.high) {
        bounds.high = last;
    }
    if (realIsZero(bounds.high - bounds.low)) {
        bounds.high = bounds.high + one() / 1000;
    }
    return bounds;
}

Real clampToOne(const Real& a) { return a.negative ? Real{} : one() < a ? one() : a; }

// g(s, m) = 0.1 m ln s + 1, 1 where s is 1 or less.
Real yarnMagnitude(const Real& log_factor, const Real& m) {
    return Real{} < log_factor ? m * log_factor / 10 + one() : one();
}

Real yarnScale(const RopeRule& rule) {
    if (isGiven(rule.attention_factor)) {
        return realFromDouble(rule.attention_factor);
    }
    const Real log_factor = realLog(realFromDouble(rule.factor));
    if (!isGiven(rule.mscale) || !isGiven(rule.mscale_all_dim)) {
        return yarnMagnitude(log_factor, one());
    }
    return yarnMagnitude(log_factor, realFromDouble(rule.mscale)) /
           yarnMagnitude(log_factor, realFromDouble(rule.mscale_all_dim));
}

bool hasYarnMembers(const RopeRule& rule, RopeReason* reason) {
    const char* const unused = "that it is not used";
    if (!hasFactor(rule, reason) || !hasOriginalLength(rule, reason) || !hasAttentionFactor(rule, reason) ||
        !hasBeta("beta_fast", rule.beta_fast, "32", reason) || !hasBeta("beta_slow", rule.beta_slow, "1", reason) ||
        !hasPositiveOrZero("mscale", rule.mscale, unused, reason) ||
        !hasPositiveOrZero("mscale_all_dim", rule.mscale_all_dim, unused, reason)) {
        return false;
    }
    if (givenOr(rule.beta_fast, 32.0) < givenOr(rule.beta_slow, 1.0)) {
        refuse(reason, ROPE_ERROR_INVALID,
               "beta_fast is %.17g and beta_slow %.17g (0: 32 and 1); beta_fast must not be the smaller",
               rule.beta_fast, rule.beta_slow);
        return false;
    }
    if (rule.keep_bounds > 1) {
        refuse(reason, ROPE_ERROR_INVALID, "keep_bounds is %u; it must be 0 or 1", rule.keep_bounds);
        return false;
    }
    if (doubleBits(rule.base) == doubleBits(1.0)) {
        refuse(reason, ROPE_ERROR_INVALID, "base is 1; it must be greater: yarn divides by its logarithm");
        return false;
    }
    return true;
}

RopeResult makeYarn(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasYarnMembers(rule, reason)) {
        return ROPE_ERROR_INVALID;
    }
    const Real magnitude = yarnScale(rule);
    if (!isScale(magnitude, reason)) {
        return ROPE_ERROR_INVALID;
    }
    const Real log_base = logOfBase(rule);
    const Real step = ladderStep(rule, log_base);
    const Bounds bounds = yarnBounds(rule, log_base);
    const Real slope = one() / (bounds.high - bounds.low);
    const Real interpolated = one() / realFromDouble(rule.factor);
    Real theta = one();
    for (uint32_t i = 0; i < pairsOf(rule); ++i) {
        const Real ramp = clampToOne((realFromInteger(i) - bounds.low) * slope);
        frequencies[i] = realToDouble(theta * (interpolated * ramp + (one() - ramp)));
        theta = theta * step;
    }
    *scale = realToDouble(magnitude);
    return ROPE_SUCCESS;
}

bool hasLongropeList(const char* name, const double* list, uint32_t pairs, RopeReason* reason) {
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

// sqrt(1 + ln s / ln L), 1 where s is 1 or less.
bool findLongropeScale(const RopeRule& rule, Real* scale, RopeReason* reason) {
    if (isGiven(rule.attention_factor)) {
        *scale = realFromDouble(rule.attention_factor);
        return hasAttentionFactor(rule, reason);
    }
    if (!hasFrom("factor", rule.factor, 0x1p-30, 0x1p900, "from 2^-30 to 2^900 where attention_factor is 0", reason)) {
        return false;
    }
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
    return isScale(*scale, reason);
}

RopeResult makeLongrope(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    const uint32_t pairs = pairsOf(rule);
    Real magnitude;
    if (!hasOriginalLength(rule, reason) || !hasLength(rule, reason) ||
        !hasLongropeList("short_factors", rule.short_factors, pairs, reason) ||
        !hasLongropeList("long_factors", rule.long_factors, pairs, reason) ||
        !findLongropeScale(rule, &magnitude, reason)) {
        return ROPE_ERROR_INVALID;
    }
    const double* factors = isBeyondOriginal(rule) ? rule.long_factors : rule.short_factors;
    const Real step = ladderStep(rule, logOfBase(rule));
    Real theta = one();
    for (uint32_t i = 0; i < pairs; ++i) {
        frequencies[i] = realToDouble(theta / realFromDouble(factors[i]));
        theta = theta * step;
    }
    *scale = realToDouble(magnitude);
    return ROPE_SUCCESS;
}

// theta_i times this, for a pair that turns so often over the original length. That number is never exactly low or
// high, for pi is in it: with low = high the blend is never reached.
Real llama3Share(const Real& turns, const Real& low, const Real& high, const Real& interpolated) {
    if (high < turns) {
        return one();
    }
    if (turns < low) {
        return interpolated;
    }
    const Real blend = (turns - low) / (high - low);
    return (one() - blend) * interpolated + blend;
}

RopeResult makeLlama3(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasFactor(rule, reason) || !hasOriginalLength(rule, reason) ||
        !hasPositiveOrZero("low_freq_factor", rule.low_freq_factor, "1", reason) ||
        !hasPositiveOrZero("high_freq_factor", rule.high_freq_factor, "4", reason)) {
        return ROPE_ERROR_INVALID;
    }
    const Real low = givenOr(rule.low_freq_factor, 1.0);
    const Real high = givenOr(rule.high_freq_factor, 4.0);
    if (high < low) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "low_freq_factor is %.17g and high_freq_factor %.17g (0: 1 and 4); low must not be the greater",
                      rule.low_freq_factor, rule.high_freq_factor);
    }
    const Real step = ladderStep(rule, logOfBase(rule));
    const Real interpolated = one() / realFromDouble(rule.factor);
    const Real turns = realFromDouble(rule.original_length) / realTimesPowerOfTwo(realPi(), 1);
    Real theta = one();
    for (uint32_t i = 0; i < pairsOf(rule); ++i) {
        frequencies[i] = realToDouble(theta * llama3Share(turns * theta, low, high, interpolated));
        theta = theta * step;
    }
    *scale = 1.0;
    return ROPE_SUCCESS;
}

RopeResult makeProportional(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    const uint32_t pairs = pairsOf(rule);
    if (isGiven(rule.factor) && !hasFactor(rule, reason)) {
        return ROPE_ERROR_INVALID;
    }
    if (rule.rotating_pairs == 0 || rule.rotating_pairs > pairs) {
        return refuse(reason, ROPE_ERROR_INVALID, "rotating_pairs is %u; it must be from 1 to rotary_dim / 2 = %u",
                      rule.rotating_pairs, pairs);
    }
    const Real first = one() / givenOr(rule.factor, 1.0);
    writeLadder(first, ladderStep(rule, logOfBase(rule)), rule.rotating_pairs, frequencies);
    for (uint32_t i = rule.rotating_pairs; i < pairs; ++i) {
        frequencies[i] = 0.0;
    }
    *scale = 1.0;
    return ROPE_SUCCESS;
}

// c is the first pair that does not turn once over the original length. Before it theta_i is multiplied by
// (beta_i s - beta_i + 1) / (beta_i s) with beta_i from beta_slow to beta_fast along the pairs, from c on by 1/s.
RopeResult makeYarnRamped(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasFrom("factor", rule.factor, 1.0, 0x1p900, "from 1 to 2^900: a smaller one would turn some pairs back",
                 reason) ||
        !hasOriginalLength(rule, reason) || !hasLength(rule, reason) ||
        !hasBeta("beta_fast", rule.beta_fast, "4", reason) || !hasBeta("beta_slow", rule.beta_slow, "1", reason)) {
        return ROPE_ERROR_INVALID;
    }
    if (!isBeyondOriginal(rule)) {
        return makeDefault(rule, frequencies, scale, reason);
    }
    const uint32_t pairs = pairsOf(rule);
    const Real slow = givenOr(rule.beta_slow, 1.0);
    const Real rise = (givenOr(rule.beta_fast, 4.0) - slow) / (pairs > 1 ? pairs - 1 : 1);
    const Real factor = realFromDouble(rule.factor);
    const Real turns = realFromDouble(rule.original_length) / realTimesPowerOfTwo(realPi(), 1);
    const Real step = ladderStep(rule, logOfBase(rule));
    Real theta = one();
    for (uint32_t i = 0; i < pairs; ++i) {
        const Real beta = slow + rise * realFromInteger(i);
        const Real numerator = turns * theta < one() ? one() : factor - one() + one() / beta;
        frequencies[i] = realToDouble(theta * numerator / factor);
        theta = theta * step;
    }
    *scale = 1.0;
    return ROPE_SUCCESS;
}

// theta_i * s^-(t/(d/2) + gamma).
// Each pair is stretched by more than the one before, the last by the whole factor.
RopeResult makeNtkMixed(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasFactor(rule, reason)) return ROPE_ERROR_INVALID;
    if (isGiven(rule.mixed_exponent) &&
        !hasFrom("mixed_exponent", rule.mixed_exponent, 0x1p-30, 16.0, "from 2^-30 to 16, or 0 for 0.625", reason)) {
        return ROPE_ERROR_INVALID;
    }
    const Real exponent = givenOr(rule.mixed_exponent, 0.625);
    const Real log_pairs = realLog(realFromInteger(pairsOf(rule)));
    const Real log_factor = realLog(realFromDouble(rule.factor));
    const Real step = ladderStep(rule, logOfBase(rule));
    Real theta = one();
    for (uint32_t i = 0; i < pairsOf(rule); ++i) {
        const Real share = realExp(exponent * (realLog(realFromInteger(i + 1)) - log_pairs));
        frequencies[i] = realToDouble(theta * realExp(-(log_factor * share)));
        theta = theta * step;
    }
    *scale = 1.0;
    return ROPE_SUCCESS;
}

RopeResult makeYarnTemperature(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasFactor(rule, reason) || !hasPositiveOrZero("temperature", rule.temperature, "0.25", reason) ||
        !hasPositiveOrZero("gamma", rule.gamma, "0.8", reason)) {
        return ROPE_ERROR_INVALID;
    }
    const Real power = givenOr(rule.temperature, 0.25) / pairsOf(rule) + givenOr(rule.gamma, 0.8);
    const Real log_share = -(power * realLog(realFromDouble(rule.factor)));
    const Real log_of_2 = realLog(realFromInteger(2));
    if (log_share < log_of_2 * realFromDouble(-900.0) || log_of_2 * realFromDouble(30.0) < log_share) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "factor %.17g, temperature %.17g, gamma %.17g: factor^(temperature/(rotary_dim/2) + gamma) must be "
            "from 2^-30 to 2^900",
            rule.factor, rule.temperature, rule.gamma);
    }
    writeLadder(realExp(log_share), ladderStep(rule, logOfBase(rule)), pairsOf(rule), frequencies);
    *scale = 1.0;
    return ROPE_SUCCESS;
}

// A rule writes rotary_dim / 2 frequencies and the scale, or refuses what of the rule only it reads and writes nothing.
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
    for (const Rule& rule : kRules) {
        if (rule.kind == kind) {
            return &rule;
        }
    }
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
    if (!rule) {
        return refuse(reason, ROPE_ERROR_INVALID, "rule is null; it must point to a RopeRule");
    }
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
    if (!isFromTo(rule->base, 1.0, kTwoTo64) || doubleBits(rule->base) == doubleBits(kTwoTo64)) {
        return refuse(reason, ROPE_ERROR_INVALID, "base is %.17g; it must be 1 or more and less than 2^64", rule->base);
    }
    return row->make(*rule, frequencies, scale, reason);
}
