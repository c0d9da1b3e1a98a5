// This file splits a scale into mantissa and exponent, for the host's shaders: ropeSplitScale.
#include "plan/frequencies.h"
#include "plan/scale.h"
#include "rules/refuse.h"

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
