// Cos and sin of one pair from its frequency.
layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer Frequencies {
    uvec4 frequencies[];
};
layout(constant_id = ROPE_ID_ANGLE) const uint kAngle = 0;

uvec2 cos_sin_of(Token token, uint axis, uint pair) {
    RopeDistance position = distance_of(token.whole[axis], token.fraction[axis]);
    uvec4 frequency = frequencies[token.set * pair_count() + pair];
    RopePhase phase;
    if (kAngle != 0u) {
        phase = compatible_phase(position, frequency);
    } else {
        phase = exact_phase(position, frequency);
        bool whole = kPositionElement == ROPE_WHOLE_32 || kPositionElement == ROPE_WHOLE_64;
        if (!whole) phase = add_fraction(phase, position, frequency);
    }
    uvec2 bits;
    cos_sin_bits(phase, push.scale_mantissa, push.scale_exponent, bits.x, bits.y);
    return bits;
}
