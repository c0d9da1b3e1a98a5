// Cos and sin of one pair from its frequency.
#include "rope.glsl"

layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer Frequencies {
    uvec4 frequencies[];
};
layout(constant_id = ROPE_ID_ANGLE) const uint kAngle = 0;

uvec2 cos_sin_of(Token token, uint axis, uint pair) {
    RopeDistance position = distance_of(token.whole[axis], token.fraction[axis]);
    bool whole = kPositionElement == ROPE_WHOLE_32 || kPositionElement == ROPE_WHOLE_64;
    return rope_cos_sin_bits(position, frequencies[token.set * pair_count() + pair], kAngle != 0u, whole,
                             push.scale_mantissa, push.scale_exponent);
}
