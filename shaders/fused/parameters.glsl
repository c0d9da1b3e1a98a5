// This file has the parameters, a uniform buffer: weights and biases of norms, the scale of queries, and given scales.
#ifndef ROPE_PARAMETERS_GLSL
#define ROPE_PARAMETERS_GLSL
#include "../position.glsl"

layout(constant_id = ROPE_ID_QUERY_SCALE) const uint kQueryScale = 0; // positions of one value; 0: none
layout(constant_id = ROPE_ID_QUERY_OFFSET) const uint kQueryOffset = 0;
layout(constant_id = ROPE_ID_QUERY_COUNT) const uint kQueryCount = 1;
layout(constant_id = ROPE_ID_QUERY_VALUES) const uint kQueryValues = 0;
layout(constant_id = ROPE_ID_PARAMETERS) const uint kParameters = 1;

layout(std140, set = 0, binding = ROPE_BINDING_PARAMETERS) uniform Parameters {
    vec4 parameters[kParameters];
};

float query_scale(Token token) {
    uint value = 0u;
    bool counts = token.placed && token.first_positioned && int(token.whole[0]) > -int(kQueryOffset);
    if (counts) value = (token.whole[0] + kQueryOffset) / kQueryScale;
    value = min(value, kQueryCount - 1u) + kQueryValues;
    return parameters[value / 4u][value % 4u];
}

#endif
