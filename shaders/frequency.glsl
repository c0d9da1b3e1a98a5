// Cos and sin of one pair from its frequency.
layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer Frequencies {
    uvec4 frequencies[];
};
layout(constant_id = ROPE_ID_ANGLE) const uint kAngle = 0;

uvec2 cos_sin_of(int position, uint pair) {
    uvec4 frequency = frequencies[pair];
    RopePhase phase = kAngle == 0u ? exact_phase(position, frequency) : compatible_phase(position, frequency);
    uvec2 bits;
    cos_sin_bits(phase, push.scale_mantissa, push.scale_exponent, bits.x, bits.y);
    return bits;
}
