// Every query with every key: what an attention begins with.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shape.h"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Queries { float q[]; };
layout(set = 0, binding = 1) readonly buffer Keys { float k[]; };
layout(set = 0, binding = 2) writeonly buffer Scores { float scores[]; }; // [head][query][key]

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= QUERY_HEADS * TOKENS * TOKENS) return;
    uint head = index / (TOKENS * TOKENS);
    uint query = (index / TOKENS % TOKENS * QUERY_HEADS + head) * HEAD_DIM;
    uint key = (index % TOKENS * KEY_HEADS + head * KEY_HEADS / QUERY_HEADS) * HEAD_DIM;
    precise float sum = 0.0;
    for (uint e = 0; e < HEAD_DIM; ++e) sum = sum + q[query + e] * k[key + e];
    scores[index] = sum;
}
