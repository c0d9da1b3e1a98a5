// This file has the parameters, a uniform buffer: the queries' values first, then weights and biases of norms, and given
// scales.
#ifndef ROPE_PARAMETERS_GLSL
#define ROPE_PARAMETERS_GLSL
#include "layout.glsl"

layout(constant_id = ROPE_ID_PARAMETERS) const uint kParameters = 1;
layout(std140, set = 0, binding = ROPE_BINDING_PARAMETERS) uniform Parameters {
    vec4 parameters[kParameters];
};
float parameter(uint at) { return parameters[at / 4u][at % 4u]; }

#endif
