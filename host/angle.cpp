// The shaders' angle on the CPU.
#include "../shaders/angle.h"
#include "plan.h"

#include <string.h>

void ropeShaderAngle(int32_t position, const uint32_t frequency[4], double scale, RopeAngle angle, float cos_sin[2]) {
    const rope::uvec4 words = {frequency[0], frequency[1], frequency[2], frequency[3]};
    const rope::RopePhase phase =
        angle == ROPE_ANGLE_EXACT ? rope::exact_phase(position, words) : rope::compatible_phase(position, words);
    const rope::Scale split = rope::splitScale(scale == 0 ? 1 : scale);
    uint32_t bits[2];
    rope::cos_sin_bits(phase, split.mantissa, split.exponent, bits[0], bits[1]);
    memcpy(cos_sin, bits, sizeof bits);
}
