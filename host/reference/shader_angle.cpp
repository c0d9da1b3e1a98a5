// This file computes the shaders' cos and sin of an angle on the CPU: ropeShaderAngle.
#include "../shaders/angle.h"
#include "plan/scale.h"

#include <string.h>

void ropeShaderAngle(int64_t position, const uint32_t frequency[4], double scale, RopeAngle angle, float cos_sin[2]) {
    if (frequency == nullptr || cos_sin == nullptr) return;
    const rope::uvec4 words = {frequency[0], frequency[1], frequency[2], frequency[3]};
    const uint64_t bits64 = static_cast<uint64_t>(position);
    const rope::RopeDistance distance =
        rope::distance_of(static_cast<uint32_t>(bits64 >> 32), static_cast<uint32_t>(bits64));
    const rope::RopePhase phase = angle == ROPE_ANGLE_EXACT
                                      ? rope::add_fraction(rope::exact_phase(distance, words), distance, words)
                                      : rope::compatible_phase(distance, words);
    const rope::SplitScale split = rope::splitScale(scale == 0 ? 1 : scale);
    uint32_t bits[2];
    rope::cos_sin_bits(phase, split.mantissa, split.exponent, bits[0], bits[1]);
    const bool marked = rope::is_marked(words, angle != ROPE_ANGLE_EXACT);
    for (uint32_t& value : bits) value = rope::bits_or_nan(marked, value);
    memcpy(cos_sin, bits, sizeof bits);
}
