// This file has the rule of YaRN and its kin.
#include "rules/yarn.h"

#include "rules/geometric.h"
#include "rules/members.h"
#include "rules/refuse.h"

namespace rope {
namespace {

// Pairs below `low` keep their frequency, pairs above `high` are interpolated, and a ramp leads from one to the other.
struct Bounds {
    Real low, high;
};

// The bounds are the pairs that turn beta_fast and beta_slow times over the original length. L/(2 pi beta) is never a
// power of b, so that no bound lies on a whole pair. If the clamps put high below low, the ramp falls, as Hugging
// Face's does.
Bounds findYarnBounds(const RopeRule& rule, const Real& log_base) {
    const Real turns = realFromDouble(rule.original_length) / realTimesPowerOfTwo(realPi(), 1);
    const auto pairAt = [&](const Real& beta) {
        return realFromInteger(pairsOf(rule)) * realLog(turns / beta) / log_base;
    };
    Bounds bounds = {pairAt(givenOr(rule.beta_fast, 32.0)), pairAt(givenOr(rule.beta_slow, 1.0))};
    if (rule.keep_bounds == 0) bounds = {realFloor(bounds.low), realCeil(bounds.high)};
    const Real last = realFromInteger(rule.rotary_dim - 1);
    if (bounds.low.negative) bounds.low = {};
    if (last < bounds.high) bounds.high = last;
    if (realIsZero(bounds.high - bounds.low)) bounds.high = bounds.high + one() / 1000;
    return bounds;
}

Real clampToOne(const Real& a) { return a.negative ? Real{} : one() < a ? one() : a; }

// g(s, m) is 0.1 m ln s + 1, or 1 where s is 1 or less.
Real yarnMagnitude(const Real& log_factor, const Real& m) {
    return Real{} < log_factor ? m * log_factor / 10 + one() : one();
}

Real yarnScale(const RopeRule& rule) {
    if (isGiven(rule.attention_factor)) return realFromDouble(rule.attention_factor);
    const Real log_factor = realLog(realFromDouble(rule.factor));
    if (!isGiven(rule.mscale) || !isGiven(rule.mscale_all_dim)) return yarnMagnitude(log_factor, one());
    return yarnMagnitude(log_factor, realFromDouble(rule.mscale)) /
           yarnMagnitude(log_factor, realFromDouble(rule.mscale_all_dim));
}

bool hasValidYarn(const RopeRule& rule, RopeReason* reason) {
    const char* const unused = "that it is not used";
    if (!hasValidFactor(rule, reason) || !hasValidOriginalLength(rule, reason) ||
        !hasValidAttentionFactor(rule, reason) || !isBetaOrZero("beta_fast", rule.beta_fast, "32", reason) ||
        !isBetaOrZero("beta_slow", rule.beta_slow, "1", reason) ||
        !isPositiveOrZero("mscale", rule.mscale, unused, reason) ||
        !isPositiveOrZero("mscale_all_dim", rule.mscale_all_dim, unused, reason))
        return false;
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

} // namespace

RopeResult makeYarn(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasValidYarn(rule, reason)) return ROPE_ERROR_INVALID;
    const Real magnitude = yarnScale(rule);
    if (!isValidScale(magnitude, reason)) return ROPE_ERROR_INVALID;
    const Real log_base = logOfBase(rule);
    const Real step = frequencyStep(rule, log_base);
    const Bounds bounds = findYarnBounds(rule, log_base);
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

// c is the first pair that does not turn once over the original length. Below c, theta_i is multiplied by
// (beta_i s - beta_i + 1) / (beta_i s), with beta_i from beta_slow to beta_fast along the pairs; from c on, by 1/s.
RopeResult makeYarnRamped(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!isValid("factor", rule.factor, 1.0, 0x1p900, "from 1 to 2^900: a smaller one would turn some pairs back",
                 reason) ||
        !hasValidOriginalLength(rule, reason) || !hasValidLength(rule, reason) ||
        !isBetaOrZero("beta_fast", rule.beta_fast, "4", reason) ||
        !isBetaOrZero("beta_slow", rule.beta_slow, "1", reason))
        return ROPE_ERROR_INVALID;
    const uint32_t pairs = pairsOf(rule);
    if (!isBeyondOriginal(rule)) {
        writeGeometric(one(), frequencyStep(rule, logOfBase(rule)), pairs, frequencies);
        *scale = 1.0;
        return ROPE_SUCCESS;
    }
    const Real slow = givenOr(rule.beta_slow, 1.0);
    const Real rise = (givenOr(rule.beta_fast, 4.0) - slow) / (pairs > 1 ? pairs - 1 : 1);
    const Real factor = realFromDouble(rule.factor);
    const Real turns = realFromDouble(rule.original_length) / realTimesPowerOfTwo(realPi(), 1);
    const Real step = frequencyStep(rule, logOfBase(rule));
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

// The frequencies are theta_i s^-(t/(d/2) + gamma), with s the factor and t the temperature.
RopeResult makeYarnTemperature(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    if (!hasValidFactor(rule, reason) || !isPositiveOrZero("temperature", rule.temperature, "0.25", reason) ||
        !isPositiveOrZero("gamma", rule.gamma, "0.8", reason))
        return ROPE_ERROR_INVALID;
    const Real power = givenOr(rule.temperature, 0.25) / pairsOf(rule) + givenOr(rule.gamma, 0.8);
    const Real log_first = -(power * realLog(realFromDouble(rule.factor)));
    const Real log_of_2 = realLog(realFromInteger(2));
    if (log_first < log_of_2 * realFromDouble(-900.0) || log_of_2 * realFromDouble(30.0) < log_first) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "factor %.17g, temperature %.17g, gamma %.17g: factor^(temperature/(rotary_dim/2) + gamma) must be "
            "from 2^-30 to 2^900",
            rule.factor, rule.temperature, rule.gamma);
    }
    writeGeometric(realExp(log_first), frequencyStep(rule, logOfBase(rule)), pairsOf(rule), frequencies);
    *scale = 1.0;
    return ROPE_SUCCESS;
}

} // namespace rope
