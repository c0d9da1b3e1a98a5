// The scores of one head's attention under each of the encodings, as a host's own shader computes them: an example of
// how vkrope's GLSL is included. Compiled with vkrope's folder of shaders given to glslc with -I.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "bias.glsl"
#include "rope.glsl"
#include "shape.h"
#if ROPE_GLSL_VERSION < 200
#error vkrope 0.2.0 or later is needed
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = ID_ENCODING) const uint kEncoding = PLAIN;
layout(set = 0, binding = 0) readonly buffer Embeddings { float x[]; };
layout(set = 0, binding = 1) readonly buffer Frequencies { uvec4 frequencies[]; };           // ropeWriteFrequencies' bytes
layout(set = 0, binding = 2) readonly buffer Rows { float rows[]; };                         // what the encoding is given
layout(set = 0, binding = 5) buffer Scores { float scores[]; };
layout(std140, set = 0, binding = 12) uniform Thresholds { uvec4 thresholds[4]; };            // ropeWriteBuckets' bytes

// Two neighbours of a query's or a key's elements.
vec2 pair_of(uint token, uint pair) {
    uint at = token * DIM + 2u * pair;
    precise vec2 values = vec2(x[at], x[at + 1u]);
    if (kEncoding == SINUSOIDAL) values = values + rope_sinusoid(int(token), frequencies[pair]);
    if (kEncoding == LEARNED) values = values + vec2(rows[at], rows[at + 1u]);
    if (kEncoding == ROTARY) values = rope_rotate(values, rope_cos_sin(int(token), frequencies[pair]));
    if (kEncoding == DIVIDED)
        values = rope_rotate(values, rope_cos_sin(int(token), rope_divide_frequency(frequencies[pair], FACTOR)));
    return values;
}

uint bucket_of(int distance) {
    uint reached = 0u;
    for (uint i = 0u; i < 4u; ++i) reached += rope_t5_reached(distance, true, thresholds[i]);
    return rope_t5_bucket(distance, BUCKETS, true, reached);
}

float relative_term(uint query, int distance) {
    uint row = rope_relative_row(distance, -CLIP, CLIP);
    precise float sum = 0.0;
    for (uint e = 0u; e < DIM; ++e) sum = sum + x[query * DIM + e] * rows[row * DIM + e];
    return sum;
}

void main() {
    if (gl_GlobalInvocationID.x >= TOKENS * TOKENS) return;
    uint query = gl_GlobalInvocationID.x / TOKENS;
    uint key = gl_GlobalInvocationID.x % TOKENS;
    int distance = int(key - query);
    precise float score = 0.0;
    for (uint pair = 0u; pair < DIM / 2u; ++pair) {
        vec2 q = pair_of(query, pair);
        vec2 k = pair_of(key, pair);
        score = score + q.x * k.x;
        score = score + q.y * k.y;
    }
    if (kEncoding == RELATIVE_VECTORS) score = score + relative_term(query, distance);
    if (kEncoding == T5) score = score + rows[bucket_of(distance)];
    if (kEncoding == CLIPPED) score = score + rows[rope_clipped_row(distance, -CLIP, CLIP)];
    if (kEncoding == ALIBI) score = score + rope_alibi(distance, rows[0]);
    scores[gl_GlobalInvocationID.x] = score;
}
