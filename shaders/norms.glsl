// Norms of heads. The lanes of a head put their sums of squares into shared memory, and each adds all of them up in the
// order that rope.h promises: four running sums of every fourth quad, then the sum of the four.
#include "reciprocal.h"

layout(constant_id = ROPE_ID_HEAD_QUADS) const uint kHeadQuads = 1;
layout(constant_id = ROPE_ID_NORM) const uint kNorm = ROPE_NORM_OFF;
layout(constant_id = ROPE_ID_NORM_ALL_HEADS) const uint kNormAllHeads = 0;
layout(constant_id = ROPE_ID_Q_NORM_SHARE) const uint kQNormShare = 0;
layout(constant_id = ROPE_ID_K_NORM_SHARE) const uint kKNormShare = 0;
layout(constant_id = ROPE_ID_Q_EPSILON) const uint kQEpsilon = 0;
layout(constant_id = ROPE_ID_K_EPSILON) const uint kKEpsilon = 0;
#if defined(ROPE_PARAMETERS) || defined(ROPE_WEIGHTS)
#include "weights.glsl"
#endif

// An entry is one head of one token of the group.
const uint kFours = (kHeadQuads + 3u) / 4u; // vectors of a head's quads
const uint kEntries = gl_WorkGroupSize.z * gl_WorkGroupSize.y * kHeadsPerThread;
uint entry_of(uint h) {
    return (gl_LocalInvocationID.z * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * kHeadsPerThread + h;
}
// Returns which of the four quads from quad 4 * `four` on the head has.
bvec4 are_quads(uint four) { return lessThan(uvec4(four * 4u) + uvec4(0u, 1u, 2u, 3u), uvec4(kHeadQuads)); }

shared vec4 square_sums[kNorm != ROPE_NORM_OFF ? kEntries * kFours : 1u];
shared float head_sums[kNormAllHeads != 0u ? kEntries : 1u];

void keep_squares(uint h, uint place, WORDS words) {
    vec4 x = uintBitsToFloat(words);
    precise vec4 squares = x * x;
    precise float sum = (squares.x + squares.y) + (squares.z + squares.w);
    square_sums[entry_of(h) * kFours + place / 4u][place % 4u] = sum;
}

float sum_of_head(uint h) {
    precise vec4 totals = vec4(0.0);
    for (uint four = 0u; four < kFours; ++four) {
        vec4 sums = square_sums[entry_of(h) * kFours + four];
        if (kHeadQuads % 4u != 0u) sums = mix(vec4(0.0), sums, are_quads(four));
        totals = totals + sums;
    }
    precise float sum = (totals.x + totals.y) + (totals.z + totals.w);
    return sum;
}

// All heads of a tensor are in one group. Their sums are added up one after the other.
void keep_head_sums() {
    if (gl_LocalInvocationID.x == 0u) {
        for (uint h = 0u; h < kHeadsPerThread; ++h) head_sums[entry_of(h)] = sum_of_head(h);
    }
    barrier();
}
float sum_of_heads(WorkItem item) {
    uint first = entry_of(0u) - item.head;
    precise float sum = head_sums[first];
    for (uint i = 1u; i < item.heads; ++i) sum = sum + head_sums[first + i];
    return sum;
}

float norm_factor(WorkItem item, uint h) {
    precise float sum = kNormAllHeads != 0u ? sum_of_heads(item) : sum_of_head(h);
    precise float mean = sum * uintBitsToFloat(choose(is_q(item), kQNormShare, kKNormShare));
    precise float root = mean + uintBitsToFloat(choose(is_q(item), kQEpsilon, kKEpsilon));
    return uintBitsToFloat(reciprocal_root_bits(floatBitsToUint(root)));
}

// `half_quad` numbers the halves of a head's quads in a thread.
WORDS normed(WorkItem item, uint h, float factor, uint half_quad, uint place, WORDS words) {
    precise vec4 x = uintBitsToFloat(words) * factor;
#if defined(ROPE_PARAMETERS) || defined(ROPE_WEIGHTS)
    if (has_weights(item)) {
        vec4 given = weights_of(item, h, half_quad, place);
        precise vec4 weight = given + uintBitsToFloat(choose(is_q(item), kQWeightOffset, kKWeightOffset));
        x = x * weight;
    }
#endif
    return floatBitsToUint(x);
}
