// This file checks a caller's frequencies, and writes them as the shaders read them: ropeWriteFrequencies. The shaders
// read four words for each pair. Word 0 has the sign, the mark of the angle, and the whole turns of an exact frequency.
// The other words have 96 fraction bits of turns for the exact angle; word 1 has a float32 for the compatible angle.
#include "plan/frequencies.h"

#include "plan/axes.h"
#include "rules/turn_limit.h"
#include "shaders/numbers/angle.h"

namespace rope {
namespace {

constexpr uint32_t kMaxSets = 65536;

// This is 1/(2 pi), the turns in a radian.
constexpr Fixed kTurnsPerRadian = {{0x909374B8, 0x6DC91B8E, 0xF7AEF158, 0x7F9458EA, 0x4F10E410, 0x36D8A566, 0x7D4D3770,
                                    0x7F09D5F4, 0x9391054A, 0x28BE60DB, 0, 0}};

// Returns |frequency| in turns, which must be less than 2^64. The first 96 fraction bits are rounded.
Fixed turnsOf(double frequency) {
    constexpr int kDropped = kFixedFractionLimbs - 3;
    Fixed half = {};
    half.limbs[kDropped - 1] = 1u << 31;
    return fixedAdd(fixedMultiply(fixedFromDouble(frequency), kTurnsPerRadian), half);
}

// Returns the float32 nearest |frequency|, and the even one of two equally near. The frequency must be less than 2^64.
// A float32 has 29 bits fewer than a double, and below 2^-126 one fewer again with each halving.
uint32_t floatBits(double frequency) {
    const uint64_t bits = magnitudeBits(frequency);
    const int exponent = static_cast<int>(bits >> 52) - 1023;
    if (exponent < -150) return 0;
    const uint64_t mantissa = (bits & 0xFFFFFFFFFFFFF) | 1ull << 52;
    const int dropped = exponent < -126 ? 29 - 126 - exponent : 29;
    const uint64_t kept = mantissa >> dropped;
    const uint64_t half = 1ull << (dropped - 1);
    const uint64_t rounded = (mantissa + half - 1 + (kept & 1)) >> dropped;
    const uint64_t bias = exponent < -126 ? 0 : static_cast<uint64_t>(exponent + 126) << 23;
    return static_cast<uint32_t>(bias + rounded);
}

void writePairWords(double frequency, RopeAngle angle, uint32_t words[4]) {
    const bool exact = angle == ROPE_ANGLE_EXACT;
    if (magnitudeBits(frequency) != 0) {
        if (exact) {
            const Fixed turns = turnsOf(frequency);
            for (int i = 0; i < 4; ++i) words[i] = turns.limbs[kFixedFractionLimbs - i];
        } else {
            words[1] = floatBits(frequency);
        }
        words[0] |= static_cast<uint32_t>(doubleBits(frequency) >> 63) << 31;
    }
    words[0] |= exact ? ROPE_MARK_EXACT : ROPE_MARK_COMPATIBLE;
}

} // namespace

RopeResult checkFrequencyScale(double scale, RopeReason* reason) {
    const uint64_t bits = magnitudeBits(scale);
    if (bits != 0 && !isFromTo(doubleFromBits(bits), 1.0 / (1 << 20), 1 << 20)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "frequencies.scale is %.17g; it must be from 2^-20 to 2^20, either way, or 0 for 1", scale);
    }
    return ROPE_SUCCESS;
}

RopeResult checkPairCount(const char* name, uint32_t count, RopeReason* reason) {
    if (count != 0 && count <= ROPE_MAX_PAIRS) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "%s is %u; it must be from 1 to %u", name, count, ROPE_MAX_PAIRS);
}

RopeResult checkSetCount(const char* name, uint32_t sets, RopeReason* reason) {
    if (sets <= kMaxSets) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s is %u; it may be at most %u", name, sets, kMaxSets);
}

RopeResult checkScaleSetsAndAxes(const RopeFrequencies& frequencies, RopeReason* reason) {
    RopeResult result = checkSetCount("frequencies.sets", frequencies.sets, reason);
    if (result == ROPE_SUCCESS) result = checkFrequencyScale(frequencies.scale, reason);
    return result == ROPE_SUCCESS ? checkAxes(frequencies, reason) : result;
}

RopeResult checkValuesAreGiven(const RopeFrequencies& frequencies, RopeReason* reason) {
    if (frequencies.values) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "frequencies.values is null; it must point to frequencies.count doubles");
}

RopeResult checkFrequencies(const RopeFrequencies& frequencies, RopeReason* reason) {
    const RopeResult result = checkPairCount("frequencies.count", frequencies.count, reason);
    if (result != ROPE_SUCCESS) return result;
    const uint32_t sets = frequencies.sets > 1 ? frequencies.sets : 1;
    for (uint32_t i = 0; frequencies.values && sets <= kMaxSets && i < frequencies.count * sets; ++i) {
        const double value = frequencies.values[i];
        if (!isWithinTurnLimit(value)) {
            return refuse(reason, ROPE_ERROR_INVALID,
                          "frequencies.values[%u] is %.17g; it must be finite and less than 2^28 turns (1.6866e9 "
                          "radians) either way",
                          i, value);
        }
    }
    return checkScaleSetsAndAxes(frequencies, reason);
}

PassAccess frequencyAccess(const RopeFrequencies& frequencies) {
    return {ROPE_SLOT_FREQUENCIES, 16, 0, {0, 0, 0}, static_cast<uint64_t>(frequencies.sets) * frequencies.count};
}

} // namespace rope

using namespace rope;

size_t ropeFrequencyBytes(uint32_t count) { return static_cast<size_t>(count) * 4 * sizeof(uint32_t); }

RopeResult ropeWriteFrequencies(const RopeFrequencies* frequencies, RopeAngle angle, void* destination,
                                RopeReason* reason) {
    clear(reason);
    if (!frequencies)
        return refuse(reason, ROPE_ERROR_INVALID, "frequencies is null; it must point to a RopeFrequencies");
    if (!destination)
        return refuse(reason, ROPE_ERROR_INVALID, "destination is null; it must point to 16 bytes per frequency");
    RopeResult result = checkChoice("angle", angle, ROPE_ANGLE_COMPATIBLE, reason);
    if (result == ROPE_SUCCESS) result = checkValuesAreGiven(*frequencies, reason);
    if (result == ROPE_SUCCESS) result = checkFrequencies(*frequencies, reason);
    if (result != ROPE_SUCCESS) return result;
    unsigned char* bytes = static_cast<unsigned char*>(destination);
    const uint32_t sets = frequencies->sets > 1 ? frequencies->sets : 1;
    for (uint32_t i = 0; i < frequencies->count * sets; ++i) {
        uint32_t words[4] = {};
        writePairWords(frequencies->values[i], angle, words);
        memcpy(bytes + i * sizeof words, words, sizeof words);
    }
    return result;
}
