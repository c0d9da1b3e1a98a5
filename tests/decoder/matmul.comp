// output[token] = weights * input[token], or added to what is there: one invocation for each output.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shape.h"

layout(local_size_x = 64) in;
layout(push_constant) uniform Sizes {
    uint inputs;
    uint outputs;
    uint add;
};
layout(set = 0, binding = 0) readonly buffer Step { uint step_words[]; };
layout(set = 0, binding = 1) readonly buffer Input { float input_rows[]; };
layout(set = 0, binding = 2) readonly buffer Weights { float weights[]; }; // [outputs][inputs]
layout(set = 0, binding = 4) buffer Output { float output_rows[]; };

void main() {
    uint token = gl_WorkGroupID.y;
    uint row = gl_GlobalInvocationID.x;
    if (token >= min(step_words[STEP_COUNT], MOST_TOKENS) || row >= outputs) return;
    float sum = add != 0 ? output_rows[token * outputs + row] : 0.0;
    for (uint i = 0; i < inputs; ++i) sum += weights[row * inputs + i] * input_rows[token * inputs + i];
    output_rows[token * outputs + row] = sum;
}
