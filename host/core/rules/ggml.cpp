// This file reads the parameters of ggml's rope operator: ropeReadGgml.
//
// To read another parameter of ggml's: here. Outputs of ggml's own code lie in tests/data/ggml.
#include "rules/geometric.h"
#include "rules/real.h"
#include "rules/refuse.h"
#include "rules/turn_limit.h"

using namespace rope;

namespace {

constexpr int32_t kNormal = 0;
constexpr int32_t kNeox = 2;
constexpr int32_t kSections = 8; // MROPE, and a bit of those that follow
constexpr int32_t kVision = 24;
constexpr int32_t kRoundRobin = 40; // IMROPE

constexpr float kPi = 3.14159274f;   // the float32 nearest pi
constexpr float kLeastSpan = 0.001f; // of a ramp

Real real(float value) { return realFromDouble(static_cast<double>(value)); }

Real realOf(int32_t value) {
    const Real magnitude =
        realFromInteger(value < 0 ? 0u - static_cast<uint32_t>(value) : static_cast<uint32_t>(value));
    return value < 0 ? -magnitude : magnitude;
}

// A result as float32 arithmetic has it.
Real toFloat(const Real& value) { return real(realToFloat(value)); }

bool isZero(float value) { return magnitudeBits(static_cast<double>(value)) == 0; }

// False for a NaN, as `least` and `greatest` are 0 or more.
bool isMagnitude(float value, double least, double greatest) {
    return isFromTo(doubleFromBits(magnitudeBits(static_cast<double>(value))), least, greatest);
}
bool isNumber(float value, double least, double greatest) {
    return isFromTo(static_cast<double>(value), least, greatest);
}

bool hasYarn(const RopeGgml& p) { return !isZero(p.ext_factor); }

uint32_t pairCount(const RopeGgml& p) { return static_cast<uint32_t>(p.mode == kVision ? p.n_dims : p.n_dims / 2); }

// ---- What ggml asserts

RopeResult checkElements(const RopeGgml& p, uint32_t head_dim, RopeReason* reason) {
    const bool of_mode =
        p.mode == kNormal || p.mode == kNeox || p.mode == kSections || p.mode == kVision || p.mode == kRoundRobin;
    if (!of_mode) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "mode is %d; it must be 0 (NORMAL), 2 (NEOX), 8 (MROPE), 24 (VISION) or 40 (IMROPE)", p.mode);
    }
    if (p.n_dims < 2 || p.n_dims % 2 != 0 || pairCount(p) > ROPE_MAX_PAIRS) {
        return refuse(reason, ROPE_ERROR_INVALID, "n_dims is %d; it must be even, 2 or more, and of at most %u pairs",
                      p.n_dims, ROPE_MAX_PAIRS);
    }
    const uint32_t turning = 2 * pairCount(p);
    if (p.mode == kVision && (turning != head_dim || p.n_offs != 0)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "n_dims is %d, n_offs %d and head_dim %u; VISION takes half of head_dim and an n_offs of 0",
                      p.n_dims, p.n_offs, head_dim);
    }
    if (p.n_offs < 0 || p.n_offs % 2 != 0 || turning > head_dim ||
        static_cast<uint32_t>(p.n_offs) > head_dim - turning) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "n_offs is %d, n_dims %d and head_dim %u; n_offs must be even, 0 or more, and n_dims fit behind it",
            p.n_offs, p.n_dims, head_dim);
    }
    return ROPE_SUCCESS;
}

RopeResult checkSections(const RopeGgml& p, uint32_t head_dim, RopeReason* reason) {
    if ((p.mode & kSections) == 0) return ROPE_SUCCESS;
    int64_t sum = 0;
    bool valid = p.sections[0] > 0 || p.sections[1] > 0 || p.sections[2] > 0;
    for (const int32_t section : p.sections) {
        valid = valid && section >= 0;
        sum += section;
    }
    if (valid && sum <= head_dim && sum <= INT32_MAX) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "sections are %d, %d, %d and %d; they must be 0 or more, one of the first three more than 0, and "
                  "their sum at most head_dim, %u",
                  p.sections[0], p.sections[1], p.sections[2], p.sections[3], head_dim);
}

// ---- What has no use

RopeResult checkNumbers(const RopeGgml& p, RopeReason* reason) {
    if (!isNumber(p.freq_base, 1, 0x1.FFFFFEp63)) {
        return refuse(reason, ROPE_ERROR_INVALID, "freq_base is %.9g; it must be from 1 and less than 2^64",
                      static_cast<double>(p.freq_base));
    }
    if (!isMagnitude(p.freq_scale, 0, 0x1p28)) {
        return refuse(reason, ROPE_ERROR_INVALID, "freq_scale is %.9g; it must be from -2^28 to 2^28",
                      static_cast<double>(p.freq_scale));
    }
    if (isZero(p.attn_factor)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "attn_factor is 0; ggml would write zeros, which no rotation makes: fill the tensor");
    }
    if (!isMagnitude(p.ext_factor, 0, 1024)) {
        return refuse(reason, ROPE_ERROR_INVALID, "ext_factor is %.9g; it must be from -1024 to 1024",
                      static_cast<double>(p.ext_factor));
    }
    return ROPE_SUCCESS;
}

RopeResult checkYarn(const RopeGgml& p, RopeReason* reason) {
    if (!hasYarn(p)) return ROPE_SUCCESS;
    const double ext = static_cast<double>(p.ext_factor);
    if (!isNumber(p.freq_scale, 0x1p-126, 0x1p28)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "freq_scale is %.9g with an ext_factor of %.9g; it must be from 2^-126 to 2^28: ggml takes the "
                      "logarithm of 1 / freq_scale",
                      static_cast<double>(p.freq_scale), ext);
    }
    if (p.n_ctx_orig < 0 || !isNumber(p.beta_fast, 0x1p-60, 0x1p60) || !isNumber(p.beta_slow, 0x1p-60, 0x1p60)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "n_ctx_orig is %d, beta_fast %.9g and beta_slow %.9g with an ext_factor of %.9g; the first must "
                      "be 0 or more, and the others from 2^-60 to 2^60",
                      p.n_ctx_orig, static_cast<double>(p.beta_fast), static_cast<double>(p.beta_slow), ext);
    }
    if (!isNumber(p.freq_base, 0x1.000002p0, 0x1.FFFFFEp63)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "freq_base is 1 with an ext_factor of %.9g; it must be greater: YaRN divides by its logarithm",
                      ext);
    }
    return ROPE_SUCCESS;
}

// ---- YaRN

// Returns the pair that turns `turns` times over the original context, each operation rounded to float32.
Real boundingPair(const RopeGgml& p, float turns) {
    const Real angle = toFloat(toFloat(real(turns) * realFromInteger(2)) * real(kPi));
    const Real log = toFloat(realLog(toFloat(toFloat(realOf(p.n_ctx_orig)) / angle)));
    const Real log_of_base = toFloat(realLog(real(p.freq_base)));
    return toFloat(toFloat(realOf(p.n_dims) * log) / realTimesPowerOfTwo(log_of_base, 1));
}

struct Ramp {
    Real low;  // the last pair that keeps its frequency
    Real span; // pairs to the first that is scaled
};

Ramp findRamp(const RopeGgml& p) {
    if (p.n_ctx_orig == 0) return {{}, real(kLeastSpan)}; // both bounds are minus infinity, which ggml then limits
    Ramp ramp = {realFloor(boundingPair(p, p.beta_fast)), {}};
    Real high = realCeil(boundingPair(p, p.beta_slow));
    const Real last = realOf(p.n_dims - 1);
    if (ramp.low.negative) ramp.low = {};
    if (last < high) high = last;
    ramp.span = high - ramp.low;
    if (ramp.span < real(kLeastSpan)) ramp.span = real(kLeastSpan);
    return ramp;
}

// Returns the factor on a pair's frequency.
Real scaleOfPair(const RopeGgml& p, const Ramp& ramp, uint32_t pair) {
    const Real scale = real(p.freq_scale);
    if (!hasYarn(p)) return scale;
    const Real one = realFromInteger(1);
    Real along = (realFromInteger(pair) - ramp.low) / ramp.span;
    if (along.negative) along = {};
    if (one < along) along = one;
    const Real kept = (one - along) * real(p.ext_factor);
    return scale * (one - kept) + kept;
}

Real scaleOnCosSin(const RopeGgml& p) {
    const Real given = real(p.attn_factor);
    if (!hasYarn(p)) return given;
    return given * (realFromInteger(1) - realLog(real(p.freq_scale)) / 10);
}

RopeResult checkScale(const RopeGgml& p, const Real& scale, RopeReason* reason) {
    const Real least = realFromDouble(0x1p-20), greatest = realFromDouble(0x1p20);
    const Real magnitude = {scale.mantissa, scale.exponent, false};
    if (!(magnitude < least) && !(greatest < magnitude)) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "attn_factor is %.9g; %s must be from 2^-20 to 2^20, either way",
                  static_cast<double>(p.attn_factor),
                  hasYarn(p) ? "its product with YaRN's 1 + 0.1 ln(1 / freq_scale)" : "it");
}

// ---- Axes

uint8_t axisOf(const RopeGgml& p, int32_t sector) {
    const int32_t* sections = p.sections;
    if (p.mode == kRoundRobin) {
        const int32_t axis = sector % 3;
        return static_cast<uint8_t>(sector / 3 < sections[axis] ? axis : 3);
    }
    uint8_t axis = 0;
    for (int32_t end = sections[0]; axis < 3 && sector >= end; end += sections[axis]) ++axis;
    return axis;
}

// VISION begins each axis with a frequency of 1. An empty section begins nothing: the one before it has its place.
void restart(const RopeGgml& p, int32_t sector, Real powers[4]) {
    int32_t begin = 0;
    for (int axis = 0; axis < 4; begin += p.sections[axis++]) {
        if (sector != begin) continue;
        powers[axis] = realFromInteger(1);
        return;
    }
}

struct Pairs {
    uint8_t greatest_axis;
    double too_large; // the first frequency that plans refuse, or 0
};

// Makes frequencies and axes, and writes them unless `values` is null.
Pairs makePairs(const RopeGgml& p, double* values, uint8_t* axes) {
    RopeRule rule = {};
    rule.rotary_dim = static_cast<uint32_t>(p.n_dims);
    rule.base = static_cast<double>(p.freq_base);
    const Real step = frequencyStep(rule, logOfBase(rule));
    const Ramp ramp = hasYarn(p) ? findRamp(p) : Ramp{};
    const bool many = (p.mode & kSections) != 0;
    const int32_t period = many ? p.sections[0] + p.sections[1] + p.sections[2] + p.sections[3] : 1;
    const Real one = realFromInteger(1);
    Real powers[4] = {one, one, one, one};
    Pairs made = {};
    for (uint32_t pair = 0; pair < pairCount(p); ++pair) {
        const int32_t sector = static_cast<int32_t>(pair) % period;
        if (p.mode == kVision) restart(p, sector, powers);
        const uint8_t axis = many ? axisOf(p, sector) : 0;
        if (axis > made.greatest_axis) made.greatest_axis = axis;
        const double value = realToDouble(powers[axis] * scaleOfPair(p, ramp, pair));
        if (made.too_large == 0 && !isWithinTurnLimit(value)) made.too_large = value;
        if (values != nullptr) {
            values[pair] = value;
            axes[pair] = axis;
        }
        for (Real& power : powers) power = power * step;
    }
    return made;
}

// Refuses frequencies that plans refuse. Without YaRN they are freq_scale at most, which is less.
RopeResult checkPairs(const RopeGgml& p, RopeReason* reason) {
    const double too_large = hasYarn(p) ? makePairs(p, nullptr, nullptr).too_large : 0;
    if (too_large == 0) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "freq_scale is %.9g and ext_factor %.9g, which make a frequency of %.9g; it must be less than 2^28 "
                  "turns (1.6866e9 radians) either way",
                  static_cast<double>(p.freq_scale), static_cast<double>(p.ext_factor), too_large);
}

} // namespace

RopeResult ropeReadGgml(const RopeGgml* parameters, uint32_t head_dim, double* values, uint8_t* axes,
                        RopeRotation* rotation, RopeReason* reason) {
    clear(reason);
    if (parameters == nullptr || values == nullptr || axes == nullptr || rotation == nullptr)
        return refuseNull(reason, "parameters, values, axes or rotation");
    const RopeGgml& p = *parameters;
    RopeResult result = checkElements(p, head_dim, reason);
    if (result == ROPE_SUCCESS) result = checkSections(p, head_dim, reason);
    if (result == ROPE_SUCCESS) result = checkNumbers(p, reason);
    if (result == ROPE_SUCCESS) result = checkYarn(p, reason);
    if (result != ROPE_SUCCESS) return result;
    const Real scale = scaleOnCosSin(p);
    result = checkScale(p, scale, reason);
    if (result == ROPE_SUCCESS) result = checkPairs(p, reason);
    if (result != ROPE_SUCCESS) return result;
    const bool several = makePairs(p, values, axes).greatest_axis != 0;
    rotation->rotary_begin = static_cast<uint32_t>(p.n_offs);
    rotation->rotary_dim = 2 * pairCount(p);
    rotation->chunk_dim = 0;
    rotation->pairing = p.mode == kNormal ? ROPE_PAIRING_INTERLEAVED : ROPE_PAIRING_HALF;
    rotation->frequencies = {values, pairCount(p), realToDouble(scale), several ? axes : nullptr, 1};
    return result;
}
