// These functions give a shader of your own what a distance adds to an attention score, with the bits of the plans'
// bias. A distance is the key's position less the query's. Give glslc this folder with -I.
//
//     #extension GL_GOOGLE_include_directive : require
//     #include "bias.glsl"
//     ...
//     score += bias[head * rows + rope_clipped_row(key - query, least, most)];
//     score += dot(q, vectors[rope_relative_row(key - query, -16, 16)]);
//     score += rope_alibi(key - query, slopes[head]);
//
//     uint reached = 0u; // of the thresholds in a uniform buffer, ropeWriteBuckets' bytes
//     for (uint i = 0u; i < vectors; ++i) reached += rope_t5_reached(key - query, false, thresholds[i]);
//     score += weights[rope_t5_bucket(key - query, 32u, false, reached) * heads + head];
//
// tests/example/attention.comp has each function. This file takes names that begin with rope_, and no bindings,
// constants or extensions.
#ifndef ROPE_BIAS_GLSL
#define ROPE_BIAS_GLSL

#include "version.glsl"

// Returns the row of a bias whose rows are for query - key from `least` to `most`.
uint rope_clipped_row(int distance, int least, int most) {
    return uint(clamp(int(0u - uint(distance)), least, most)) - uint(least);
}

// Returns the row of Shaw's relative vectors, which are for key - query from `least` to `most`.
uint rope_relative_row(int distance, int least, int most) { return uint(clamp(distance, least, most)) - uint(least); }

uint rope_magnitude(int distance) { return distance < 0 ? 0u - uint(distance) : uint(distance); }

// Returns the distance as T5 counts it.
uint rope_t5_magnitude(int distance, bool bidirectional) {
    return bidirectional || distance < 0 ? rope_magnitude(distance) : 0u;
}

// Returns how many of four thresholds the distance has reached.
uint rope_t5_reached(int distance, bool bidirectional, uvec4 thresholds) {
    uvec4 reached = uvec4(lessThanEqual(thresholds, uvec4(rope_t5_magnitude(distance, bidirectional))));
    return reached.x + reached.y + (reached.z + reached.w);
}

// Returns T5's bucket of a distance, one of `buckets` whatever the thresholds are. `reached` is how many of all
// thresholds the distance has reached.
uint rope_t5_bucket(int distance, uint buckets, bool bidirectional, uint reached) {
    uint side = bidirectional ? buckets / 2u : buckets;
    uint bucket = min(min(rope_t5_magnitude(distance, bidirectional), side / 2u) + reached, side - 1u);
    return bidirectional && distance > 0 ? bucket + side : bucket;
}

// Returns slope * distance, which is -slope * (query - key). Each half of the distance is exact, and their sum is
// rounded once.
float rope_alibi(int distance, float slope) {
    precise float whole = float(distance >> 16) * 65536.0 + float(distance & 0xFFFF);
    precise float bias = whole * slope;
    return bias;
}

// Returns -slope * |query - key|, for attention that looks both ways.
float rope_alibi_both(int distance, float slope) { return rope_alibi(int(0u - rope_magnitude(distance)), slope); }

#endif
