// Stands for the projection of a layer: queries and keys made from nothing but a seed.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shape.h"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint seed; };
layout(set = 0, binding = 0) writeonly buffer Queries { float q[]; };
layout(set = 0, binding = 1) writeonly buffer Keys { float k[]; };

// Multiples of 2^-23 from -1 to 1: every step is exact, so that the host finds the same bits.
float value_of(uint index) {
    uint mixed = (index ^ seed) * 0x9E3779B1u;
    mixed = (mixed ^ (mixed >> 15)) * 0x85EBCA77u;
    precise float value = float((mixed ^ (mixed >> 13)) >> 8) * 1.1920928955078125e-7 - 1.0;
    return value;
}

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index < TOKENS * QUERY_HEADS * HEAD_DIM) q[index] = value_of(index);
    if (index < TOKENS * KEY_HEADS * HEAD_DIM) k[index] = value_of(~index);
}
