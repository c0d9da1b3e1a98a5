// Causal attention over a paged cache: one group for each token and query head. Keys are turned already, or are turned
// here as they are read.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "rope.glsl"
#include "shape.h"

layout(local_size_x = DIM) in;
layout(constant_id = 0) const bool kTurnKeys = false;
layout(set = 0, binding = 0) readonly buffer Step { uint step_words[]; };
layout(set = 0, binding = 1) readonly buffer Queries { float queries[]; };
layout(set = 0, binding = 2) readonly buffer Cache { float cache[]; };
layout(set = 0, binding = 3) uniform Frequencies { uvec4 frequencies[DIM / 2]; }; // a fifth storage buffer is not promised
layout(set = 0, binding = 4) writeonly buffer Output { float output_rows[]; };

shared float scores[CONTEXT];

// The head's first element of K; V's is CACHE_V_AT further on.
uint cached(uint position, uint kv_head) {
    uint page = step_words[STEP_TABLE + position / PAGE_SIZE];
    return ((page * PAGE_SIZE + position % PAGE_SIZE) * KV_HEADS + kv_head) * DIM;
}

vec2 turned(vec2 key, uint position, uvec4 frequency) {
    uvec2 cos_sin =
        rope_cos_sin_bits(distance_of(position, 0u), frequency, false, true, SCALE_MANTISSA, SCALE_EXPONENT);
    return rope_rotate_scaled(key, uintBitsToFloat(cos_sin), SCALE_MANTISSA, SCALE_EXPONENT);
}

float score(uint query, uint key, uint position) {
    precise float sum = 0.0; // the same bits with and without the turn
    for (uint pair = 0; pair < DIM / 2; ++pair) {
        vec2 q = vec2(queries[query + pair], queries[query + pair + DIM / 2]);
        vec2 k = vec2(cache[key + pair], cache[key + pair + DIM / 2]);
        if (kTurnKeys) k = turned(k, position, frequencies[pair]);
        sum += q.x * k.x + q.y * k.y;
    }
    return sum * inversesqrt(float(DIM));
}

void main() {
    uint token = gl_WorkGroupID.y;
    uint head = gl_WorkGroupID.x;
    uint lane = gl_LocalInvocationID.x;
    if (token >= min(step_words[STEP_COUNT], MOST_TOKENS)) return;
    uint row = (token * HEADS + head) * DIM;
    uint kv_head = head / (HEADS / KV_HEADS);
    uint length = min(step_words[STEP_START] + token + 1, CONTEXT);

    for (uint i = lane; i < length; i += DIM) scores[i] = score(row, cached(i, kv_head), i);
    barrier();
    float most = scores[0];
    for (uint i = 1; i < length; ++i) most = max(most, scores[i]);
    precise float total = 0.0;
    precise float sum = 0.0;
    for (uint i = 0; i < length; ++i) {
        float share = exp(scores[i] - most);
        total += share;
        sum += share * cache[CACHE_V_AT + cached(i, kv_head) + lane];
    }
    output_rows[row + lane] = sum / total;
}
