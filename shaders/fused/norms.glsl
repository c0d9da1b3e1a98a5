// This file norms heads. The lanes of a head put their sums into shared memory, and each adds all of them up in the
// order that rope.h promises: four running sums of every fourth quad, then the sum of the four.
#ifndef ROPE_NORMS_GLSL
#define ROPE_NORMS_GLSL
#include "weights.glsl"

// An entry is one head of one token of the group.
const uint kFours = (kHeadQuads + 3u) / 4u; // vectors of a head's quads
const uint kEntries = gl_WorkGroupSize.z * gl_WorkGroupSize.y * kRowBlocks * kHeadsPerThread;
uint entry_of(uint h) {
    uint row = gl_LocalInvocationID.z * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    return (row * kRowBlocks + row_block) * kHeadsPerThread + h;
}
// Returns which of the four quads from quad 4 * `four` on there are.
bvec4 are_below(uint four, uint quads) { return lessThan(uvec4(four * 4u) + uvec4(0u, 1u, 2u, 3u), uvec4(quads)); }

// Sums of squares come first. Sums of the elements follow, for a norm that takes off their mean.
const uint kSums = kCentered ? 2u : 1u;
shared vec4 quad_sums[kNorm != ROPE_NORM_OFF ? kSums * kEntries * kFours : 1u];
shared float head_sums[kNormAllHeads != 0u ? kSums * kEntries : 1u];
const uint kOtherSums = kEntries * kFours;

void keep_sum(WorkItem item, uint h, uint begin, uint place, vec4 x) {
    uint at = place_in_norm(item, place);
    if (kPart && at >= norm_quads(item)) return;
    precise float sum = (x.x + x.y) + (x.z + x.w);
    quad_sums[begin + entry_of(h) * kFours + at / 4u][at % 4u] = sum;
}
void keep_squares(WorkItem item, uint h, uint place, uvec4 words) {
    vec4 x = uintBitsToFloat(words);
    precise vec4 squares = x * x;
    keep_sum(item, h, 0u, place, squares);
}
// Keeps the sums that a norm needs first.
void keep_sums(WorkItem item, uint h, uint place, uvec4 words) {
    if (kCentered) keep_sum(item, h, kOtherSums, place, uintBitsToFloat(words));
    else keep_squares(item, h, place, words);
}
vec4 with_four(WorkItem item, uint first, uint four, vec4 totals) {
    vec4 sums = quad_sums[first + four];
    if (kPart || kHeadQuads % 4u != 0u) sums = mix(vec4(0.0), sums, are_below(four, norm_quads(item)));
    precise vec4 all = totals + sums;
    return all;
}

// Compilers unroll a loop whole, and load everything first. Wide heads would fill the registers, so a step takes four.
float sum_of_head(WorkItem item, uint h, uint which) {
    const uint kStep = 4u;
    uint first = which * kOtherSums + entry_of(h) * kFours;
    vec4 totals = vec4(0.0);
    if (kFours <= kStep) {
        uint four = 0u;
        do {
            totals = with_four(item, first, four, totals);
        } while (++four < kFours);
    } else {
        uint step = 0u;
        [[dont_unroll]] do {
            uint i = 0u;
            do {
                if (step + i < kFours) totals = with_four(item, first, step + i, totals);
            } while (++i < kStep);
            step += kStep;
        } while (step < kFours);
    }
    precise float sum = (totals.x + totals.y) + (totals.z + totals.w);
    // Totals begin with 0, so a sum of negative zeros is 0. Some compilers drop that 0. Squares are never negative zeros.
    uint bits = floatBitsToUint(sum);
    return which != 0u ? uintBitsToFloat(choose(bits << 1 == 0u, 0u, bits)) : sum;
}

// All heads of a tensor are in one group. Their sums are added up one after the other.
void keep_head_sums(WorkItem item) {
    if (gl_LocalInvocationID.x == 0u) {
        for (uint which = 0u; which < kSums; ++which) {
            for (uint h = 0u; h < kHeadsPerThread; ++h) {
                head_sums[which * kEntries + entry_of(h)] = sum_of_head(item, h, which);
            }
        }
    }
    barrier();
}
float sum_of_heads(WorkItem item, uint which) {
    uint first = which * kEntries + entry_of(0u) - item.head;
    precise float sum = head_sums[first];
    for (uint i = 1u; i < item.heads; ++i) sum = sum + head_sums[first + i];
    return sum;
}

// Returns the sum that the norm of a head goes by: its squares' (0), or that of its products (1).
float sum_of(WorkItem item, uint h, uint which) {
    if (kNormAllHeads != 0u) return sum_of_heads(item, which);
    return sum_of_head(item, h, which);
}

float norm_share(WorkItem item) {
    return uintBitsToFloat(choose_by_norm(item, kQNormShare, kKNormShare, kVNormShare));
}

bool is_centered(WorkItem item) { return is_normed(item) && has_norm_bit(item, ROPE_NORM_CENTERED); }
// Returns what is taken from each element of a head.
float mean_of_head(WorkItem item, uint h) {
    precise float mean = sum_of_head(item, h, 1u) * norm_share(item);
    return is_centered(item) ? mean : 0.0;
}
uvec4 centered(WorkItem item, float mean, uint place, uvec4 words) {
    if (kPart && place_in_norm(item, place) >= norm_quads(item)) return words;
    precise vec4 x = uintBitsToFloat(words) - mean;
    return is_centered(item) ? floatBitsToUint(x) : words;
}

float norm_factor(WorkItem item, uint h) {
    precise float sum = sum_of(item, h, 0u);
    precise float mean = sum * norm_share(item);
    precise float root = mean + uintBitsToFloat(choose_by_norm(item, kQEpsilon, kKEpsilon, kVEpsilon));
    return uintBitsToFloat(reciprocal_root_bits(floatBitsToUint(root)));
}

// Multiplies by the weights, if there are any. `half_quad` numbers the halves of a head's quads in a thread, and `at`
// is the quad's place among those that the norm takes.
vec4 weighed(WorkItem item, uint h, uint half_quad, uint at, vec4 given_x) {
    precise vec4 x = given_x;
    if (has_weights(item)) {
        vec4 given = weights_of(item, h, half_quad, at);
        uint offset = choose_by_norm(item, kQWeightOffset, kKWeightOffset, kVWeightOffset);
        precise vec4 raised = given + uintBitsToFloat(offset);
        x = x * mix(raised, given, bvec4(offset == 0u)); // some compilers drop a sum with 0, and keep its zero's sign
    }
    return x;
}

uvec4 normed(WorkItem item, uint h, float factor, uint half_quad, uint place, uvec4 words) {
    uint at = place_in_norm(item, place);
    if (kPart && at >= norm_quads(item)) return words;
    precise vec4 x = uintBitsToFloat(words) * factor;
    x = weighed(item, h, half_quad, at, x);
#ifdef ROPE_PARAMETERS
    if (has_norm_bit(item, ROPE_NORM_BIASED)) x = x + norm_biases_of(item, h, at);
#endif
    return floatBitsToUint(x);
}

#endif
