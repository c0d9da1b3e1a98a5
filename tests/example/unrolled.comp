// A host's loop over heads that it has unrolled, as hosts do. The tests compile it with -O and without: glslc -O, before
// SPIRV-Tools of October 2025, drops NoContraction from all copies of the rotation but one, and fuses these itself.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "rope.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Frequencies { uvec4 frequencies[]; };
layout(set = 0, binding = 1) buffer Elements { vec2 pairs[]; };

void main() {
    uint token = gl_GlobalInvocationID.x;
    vec2 cos_sin = rope_cos_sin(int(token), frequencies[0]);
    [[unroll]] for (uint head = 0u; head < 4u; ++head) {
        uint at = 4u * token + head;
        pairs[at] = rope_rotate(pairs[at], cos_sin);
    }
}
