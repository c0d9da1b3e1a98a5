#include "frequencies.h"

#include "fixed.h"
#include "refuse.h"

namespace {

constexpr uint64_t kSignBit = 1ull << 63;
constexpr uint64_t kInfinity = 0x7FFull << 52;
constexpr double kTwoTo64 = 18446744073709551616.0;
constexpr double kMostRadians = 0x1.921FB54442D18p30; // the last double below 2^28 turns

// Comparisons of values that may be anything are made on their bits: they hold under any compiler's floating point
// flags. The bits of numbers that are not negative are ordered as the numbers are.
uint64_t magnitudeBits(double value) { return doubleBits(value) & ~kSignBit; }

bool isFinite(double value) { return magnitudeBits(value) < kInfinity; }

// From `least` (0 or more) to `greatest`; false for a NaN.
bool isWithin(double value, double least, double greatest) {
    const uint64_t bits = doubleBits(value);
    return bits >= doubleBits(least) && bits <= doubleBits(greatest);
}

bool isWithinTurnLimit(double frequency) { return magnitudeBits(frequency) <= doubleBits(kMostRadians); }

// ---- Rules

// The largest multiple of 2^-48 whose n-th power times base is below 1: less than base^(-1/n), by 2^-48 at most.
Fixed startRoot(const Fixed& base, uint32_t n) {
    constexpr int kBits = 48;
    Fixed root = {};
    for (int bit = kFixedFractionBits - 1; bit >= kFixedFractionBits - kBits; --bit) {
        Fixed candidate = root;
        candidate.limbs[bit / 32] |= 1u << (bit % 32);
        if (fixedIsBelowOne(fixedMultiply(base, fixedPower(candidate, n)))) {
            root = candidate;
        }
    }
    return root;
}

// base^(-1/n), n from 2 to ROPE_MAX_PAIRS, within 2^-254 of itself: the products' truncations, 2^-320 each, weigh most
// where base^-1 is as small as 2^-64.
//
// Newton's y += y * (1 - base * y^n) / n comes from below and stays below. The relative error e becomes
// e^2 * (n + 1) / 2; it starts at 2^-16 or less for n = 2, and n * e at 2^-25 or less for greater n, so that six steps
// are one more than enough.
Fixed inverseRoot(const Fixed& base, uint32_t n) {
    constexpr int kSteps = 6;
    Fixed root = startRoot(base, n);
    for (int step = 0; step < kSteps; ++step) {
        const Fixed reached = fixedMultiply(base, fixedPower(root, n));
        if (!fixedIsBelowOne(reached)) {
            break; // only truncation gets there
        }
        root = fixedAdd(root, fixedDivide(fixedMultiply(root, fixedSubtract(fixedOne(), reached)), n));
    }
    return root;
}

// The powers lose at most 2^-243 of themselves, which leaves 190 bits below the last of a double to tell which way to
// round. None lies in the middle between two doubles, and only a power of two is a double: were the odd part of base^i
// times the n-th power of the odd part of its inverse root to be 1, both would be 1.
RopeResult makeDefault(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    const uint32_t pairs = rule.rotary_dim / 2;
    const Fixed root = pairs > 1 ? inverseRoot(fixedFromDouble(rule.base), pairs) : fixedOne();
    Fixed power = fixedOne();
    for (uint32_t i = 0; i < pairs; ++i) {
        frequencies[i] = fixedToDouble(power);
        power = fixedMultiply(power, root);
    }
    *scale = 1.0;
    return accept(reason);
}

RopeResult makeLinear(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason) {
    const uint64_t bits = doubleBits(rule.factor);
    const bool is_positive = bits != 0 && bits < kInfinity;
    // The first frequency is the greatest, and 1 before the division.
    if (!is_positive || !isWithinTurnLimit(1.0 / rule.factor)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "factor is %.17g; it must be finite, greater than 0, and 1/factor less than 2^28 turns",
                      rule.factor);
    }
    const RopeResult result = makeDefault(rule, frequencies, scale, reason);
    for (uint32_t i = 0; i < rule.rotary_dim / 2; ++i) {
        frequencies[i] /= rule.factor;
    }
    return result;
}

// A rule writes rotary_dim / 2 frequencies and the scale, or refuses what of the rule only it reads.
struct Rule {
    RopeRuleKind kind;
    const char* name;
    RopeResult (*make)(const RopeRule& rule, double* frequencies, double* scale, RopeReason* reason);
};

constexpr Rule kRules[] = {
    {ROPE_RULE_DEFAULT, "default", makeDefault},
    {ROPE_RULE_LINEAR, "linear", makeLinear},
};

const Rule* findRule(RopeRuleKind kind) {
    for (const Rule& rule : kRules) {
        if (rule.kind == kind) {
            return &rule;
        }
    }
    return nullptr;
}

// ---- Words

// 1/(2 pi): turns per radian.
constexpr Fixed kTurn = {{0x909374B8, 0x6DC91B8E, 0xF7AEF158, 0x7F9458EA, 0x4F10E410, 0x36D8A566, 0x7D4D3770,
                          0x7F09D5F4, 0x9391054A, 0x28BE60DB, 0, 0}};

// |frequency| in turns, which must be less than 2^64. The first 96 fraction bits are rounded.
Fixed turnsOf(double frequency) {
    constexpr int kDropped = kFixedFractionLimbs - 3;
    Fixed half = {};
    half.limbs[kDropped - 1] = 1u << 31;
    return fixedAdd(fixedMultiply(fixedFromDouble(frequency), kTurn), half);
}

void writeExact(double frequency, uint32_t words[4]) {
    const Fixed turns = turnsOf(frequency);
    for (int i = 0; i < 4; ++i) {
        words[i] = turns.limbs[kFixedFractionLimbs - i];
    }
}

// The float32 nearest |frequency|, of two equally near the even one; the frequency must be less than 2^64. A float32
// has 29 bits fewer, and below 2^-126 one fewer again with each halving.
uint32_t floatBits(double frequency) {
    const uint64_t bits = magnitudeBits(frequency);
    const int exponent = static_cast<int>(bits >> 52) - 1023;
    if (exponent < -150) {
        return 0;
    }
    const uint64_t mantissa = (bits & 0xFFFFFFFFFFFFF) | 1ull << 52;
    const int dropped = exponent < -126 ? 29 - 126 - exponent : 29;
    const uint64_t kept = mantissa >> dropped;
    const uint64_t half = 1ull << (dropped - 1);
    const uint64_t rounded = (mantissa + half - 1 + (kept & 1)) >> dropped;
    const uint64_t bias = exponent < -126 ? 0 : static_cast<uint64_t>(exponent + 126) << 23;
    return static_cast<uint32_t>(bias + rounded);
}

void writePair(double frequency, RopeAngle angle, uint32_t words[4]) {
    if (magnitudeBits(frequency) == 0) {
        return;
    }
    if (angle == ROPE_ANGLE_EXACT) {
        writeExact(frequency, words);
    } else {
        words[1] = floatBits(frequency);
    }
    words[0] |= static_cast<uint32_t>(doubleBits(frequency) >> 63) << 31;
}

} // namespace

RopeResult checkScale(double scale, RopeReason* reason) {
    if (magnitudeBits(scale) != 0 && !isWithin(scale, 1.0 / (1 << 20), 1 << 20)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "frequencies.scale is %.17g; it must be from 2^-20 to 2^20, or 0 for 1", scale);
    }
    return accept(reason);
}

RopeResult checkFrequencies(const RopeFrequencies& frequencies, RopeReason* reason) {
    if (!frequencies.values) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "frequencies.values is null; it must point to frequencies.count doubles");
    }
    if (frequencies.count == 0 || frequencies.count > ROPE_MAX_PAIRS) {
        return refuse(reason, ROPE_ERROR_INVALID, "frequencies.count is %u; it must be from 1 to %u", frequencies.count,
                      ROPE_MAX_PAIRS);
    }
    for (uint32_t i = 0; i < frequencies.count; ++i) {
        const double value = frequencies.values[i];
        if (!isFinite(value)) {
            return refuse(reason, ROPE_ERROR_INVALID, "frequencies.values[%u] is %.17g; it must be finite", i, value);
        }
        if (!isWithinTurnLimit(value)) {
            return refuse(
                reason, ROPE_ERROR_INVALID,
                "frequencies.values[%u] is %.17g; it must be less than 2^28 turns (1.6866e9 radians) either way", i,
                value);
        }
    }
    return checkScale(frequencies.scale, reason);
}

RopeResult ropeMakeFrequencies(const RopeRule* rule, double* frequencies, double* scale, RopeReason* reason) {
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
    if (!isWithin(rule->base, 1.0, kTwoTo64) || rule->base == kTwoTo64) {
        return refuse(reason, ROPE_ERROR_INVALID, "base is %.17g; it must be 1 or more and less than 2^64", rule->base);
    }
    return row->make(*rule, frequencies, scale, reason);
}

size_t ropeFrequencyBytes(uint32_t count) { return static_cast<size_t>(count) * 4 * sizeof(uint32_t); }

RopeResult ropeWriteFrequencies(const RopeFrequencies* frequencies, RopeAngle angle, void* destination,
                                RopeReason* reason) {
    if (!frequencies) {
        return refuse(reason, ROPE_ERROR_INVALID, "frequencies is null; it must point to a RopeFrequencies");
    }
    if (!destination) {
        return refuse(reason, ROPE_ERROR_INVALID, "destination is null; it must point to 16 bytes per frequency");
    }
    if (angle != ROPE_ANGLE_EXACT && angle != ROPE_ANGLE_COMPATIBLE) {
        return refuse(reason, ROPE_ERROR_INVALID, "angle is %d; it must be exact (%d) or compatible (%d)",
                      static_cast<int>(angle), ROPE_ANGLE_EXACT, ROPE_ANGLE_COMPATIBLE);
    }
    const RopeResult result = checkFrequencies(*frequencies, reason);
    if (result != ROPE_SUCCESS) {
        return result;
    }
    unsigned char* bytes = static_cast<unsigned char*>(destination);
    for (uint32_t i = 0; i < frequencies->count; ++i) {
        uint32_t words[4] = {};
        writePair(frequencies->values[i], angle, words);
        memcpy(bytes + i * sizeof words, words, sizeof words);
    }
    return result;
}
