// This file computes the shaders' cos and sin of an angle on the CPU: ropeShaderAngle.
#include "plan/scale.h"
#include "shaders/numbers/angle.h"

#include <string.h>

void ropeShaderAngle(int64_t position, const uint32_t frequency[4], double scale, RopeAngle angle, float cos_sin[2]) {
    if (frequency == nullptr || cos_sin == nullptr) return;
    const rope::uvec4 words = {frequency[0], frequency[1], frequency[2], frequency[3]};
    const uint64_t bits64 = static_cast<uint64_t>(position);
    const rope::RopeDistance distance =
        rope::distance_of(static_cast<uint32_t>(bits64 >> 32), static_cast<uint32_t>(bits64));
    const rope::SplitScale split = rope::splitScale(scale == 0 ? 1 : scale);
    const rope::uvec2 bits = rope::rope_cos_sin_bits(distance, words, angle != ROPE_ANGLE_EXACT, /* whole= */ false,
                                                     split.mantissa, split.exponent);
    memcpy(cos_sin, &bits.x, sizeof bits.x);
    memcpy(cos_sin + 1, &bits.y, sizeof bits.y);
}
