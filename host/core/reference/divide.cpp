// This file divides frequencies by factors on the CPU: ropeDivideFrequencies.
#include "shaders/numbers/divide.h"
#include "rules/refuse.h"

#include <string.h>

using namespace rope;

RopeResult ropeDivideFrequencies(const void* words, const float* factors, uint32_t count, RopeAngle angle,
                                 void* destination, RopeReason* reason) {
    clear(reason);
    if (words == nullptr || factors == nullptr || destination == nullptr)
        return refuseNull(reason, "words, factors or destination");
    const RopeResult result = checkChoice("angle", angle, ROPE_ANGLE_COMPATIBLE, reason);
    if (result != ROPE_SUCCESS) return result;
    for (size_t i = 0; i < count; ++i) {
        uvec4 frequency;
        uint32_t factor;
        memcpy(&frequency, static_cast<const char*>(words) + i * sizeof frequency, sizeof frequency);
        memcpy(&factor, factors + i, sizeof factor);
        const uvec4 quotient = divided_frequency(frequency, factor, angle == ROPE_ANGLE_COMPATIBLE);
        memcpy(static_cast<char*>(destination) + i * sizeof quotient, &quotient, sizeof quotient);
    }
    return result;
}
