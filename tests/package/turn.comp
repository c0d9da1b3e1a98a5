#version 450
#extension GL_GOOGLE_include_directive : require
#include "bias.glsl"
#include "rope.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Pairs { vec2 pairs[]; };
layout(set = 0, binding = 1) readonly buffer Frequencies { uvec4 frequencies[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    pairs[i] = rope_rotate(pairs[i], rope_cos_sin(int(i), frequencies[i])) + rope_alibi(int(i), 0.5);
}
