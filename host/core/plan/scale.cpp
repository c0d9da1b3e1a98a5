// This file owns the factor on cos and sin, and splits it for the host's shaders: ropeSplitScale.
#include "plan/scale.h"
#include "plan/frequencies.h"
#include "rules/fixed.h"
#include "shaders/numbers/angle.h"

namespace rope {

RopeResult checkFactor(float factor, RopeReason* reason) {
    if (factor == 0 || (factor >= 0x1p-20f && factor <= 0x1p20f)) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "scale is %.9g; it must be from 2^-20 to 2^20, or 0 for 1",
                  static_cast<double>(factor));
}

double operationScale(RopeOperation operation, double scale) {
    return operation == ROPE_OPERATION_INVERSE ? 1 / scale : operation == ROPE_OPERATION_SHIFT ? 1 : scale;
}

// Works in integers, for frexp would be one import more. The scale is a normal number. An exponent of 256 more sets the
// sign of the float32 that it goes into: it adds 2^31 to the bits.
SplitScale splitScale(double scale) {
    const uint64_t bits = doubleBits(scale);
    uint64_t mantissa = (((bits & 0xFFFFFFFFFFFFF) | 1ull << 52) + (1u << 20)) >> 21; // the nearest 32 bits
    int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023 + static_cast<int>(bits >> 63) * 256;
    if (mantissa >> 32 != 0) {
        mantissa >>= 1;
        ++exponent;
    }
    return {static_cast<uint32_t>(mantissa), exponent};
}

uint32_t scaleGrid(const RopeRotateDescription& d) {
    const SplitScale scale = splitScale(operationScale(d.rotation.operation, d.rotation.frequencies.scale));
    return scale_grid(scale.mantissa, scale.exponent);
}

} // namespace rope

using namespace rope;

RopeResult ropeSplitScale(double scale, uint32_t* mantissa, int32_t* exponent, RopeReason* reason) {
    clear(reason);
    if (mantissa == nullptr || exponent == nullptr) return refuseNull(reason, "mantissa or exponent");
    const RopeResult result = checkFrequencyScale(scale, reason);
    if (result != ROPE_SUCCESS) return result;
    const SplitScale split = splitScale(scale == 0 ? 1 : scale);
    *mantissa = split.mantissa;
    *exponent = split.exponent;
    return result;
}
