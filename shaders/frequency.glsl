// This file makes cos and sin of one pair from its frequency.
#ifndef ROPE_FREQUENCY_GLSL
#define ROPE_FREQUENCY_GLSL
#include "position.glsl"

BUFFER(ROPE_BINDING_COS_SIN, Frequencies, readonly, uvec4, frequencies)
layout(constant_id = ROPE_ID_ANGLE) const uint kAngle = ROPE_PHASE_EXACT;
layout(constant_id = ROPE_ID_SCALE_GRID) const uint kScaleGrid = 0;

uvec4 frequency_of(Token token, uint pair) { return frequencies[token.set * kPairs + pair]; }

uvec2 cos_sin_of(Token token, uint axis, uvec4 frequency) {
    RopeDistance position = distance_of(token.whole[axis], token.fraction[axis]);
    bool whole = kPositionElement == ROPE_WHOLE_32 || kPositionElement == ROPE_WHOLE_64;
    uint mantissa = choose(kScaleGrid == 0u, 0x80000000u, push.scale_mantissa); // a power of two takes no product
    return rope_cos_sin_bits(position, frequency, kAngle != ROPE_PHASE_EXACT, whole, mantissa, push.scale_exponent);
}

#endif
