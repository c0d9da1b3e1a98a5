// This file norms heads. The lanes of a head put their sums into shared memory, and each adds all of them up in the
// order that rope.h promises: four running sums of every fourth quad, then the sum of the four.
#ifndef ROPE_NORMS_GLSL
#define ROPE_NORMS_GLSL
#include "weights.glsl"
#include "../numbers/reciprocal.h"

const bool kNorms = (kQ_norm_range | kK_norm_range | kV_norm_range) != 0u;
const bool kNormsFirst = (kNormBits & ROPE_NORM_BEFORE) != 0u;
const bool kNormsLast = (kNormBits & ROPE_NORM_AFTER) != 0u;
const bool kNormsAllHeads = (kNormBits & ROPE_NORM_ALL_HEADS) != 0u;
const bool kCentered = (kNormBits & ROPE_NORM_CENTERED) != 0u;
// The quads of the widest part of a head that a norm takes. Without kPart each norm takes as many, which are all.
const uint kNormQuads = WIDEST(kQ_norm_range & 0xFFFFu, kK_norm_range & 0xFFFFu, kV_norm_range & 0xFFFFu);
const bool kPart = (kPass & ROPE_PASS_NORM_PART) != 0u;

bool is_normed(uint tensor) { return kNorms && norm_range_of(tensor) != 0u; }
bool is_centered(uint tensor) { return is_normed(tensor) && has_norm_bit(tensor, ROPE_NORM_CENTERED); }
uint norm_quads(uint tensor) { return kPart ? norm_range_of(tensor) & 0xFFFFu : kNormQuads; }
// Returns the place of a quad among those that the norm takes, or more than they are.
uint place_in_norm(uint tensor, uint place) { return kPart ? place - (norm_range_of(tensor) >> 16) : place; }

// ---- Weights in a buffer of their own, which a thread loads beside its heads

// Loads the weights that a thread's heads meet, whose elements lie in these runs.
void load_head_weights(WorkItem item, Runs runs, bool interleaved) {
    if (!kHoldsWeights || weight_element(item.tensor) == 0u) return;
    uint h = 0u;
    do {
        uint quad = 0u;
        do {
            uint places[2] = quad_places(runs, quad, interleaved);
            uint i = 0u;
            do {
                uint place = place_in_norm(item.tensor, places[i]);
                if (kPart) place = min(place, max(norm_quads(item.tensor), 1u) - 1u);
                held_weights[held_at(h, 2u * quad + i)] = load_weights(item, h, place);
            } while (++i < 2u);
        } while (++quad < kQuads);
    } while (++h < kWeightHeads);
}

// ---- Sums

const uint kFours = (kNormQuads + 3u) / 4u; // vectors of a head's quads

// Sums of squares come first. Sums of the elements follow, for a norm that takes off their mean.
const uint kSums = kCentered ? 2u : 1u;
shared vec4 quad_sums[kNorms ? kSums * kEntries * kFours : 1u];
shared float head_sums[kNormsAllHeads ? kEntries : 4u]; // idle: 16 bytes, so that no array behind it is shifted
const uint kOtherSums = kEntries * kFours;

void keep_sum(WorkItem item, uint h, uint begin, uint place, vec4 x) {
    uint at = place_in_norm(item.tensor, place);
    if (kPart && at >= norm_quads(item.tensor)) return;
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
    if (kPart || kNormQuads % 4u != 0u) sums = mix(vec4(0.0), sums, are_below(four, norm_quads(item.tensor)));
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
        for (uint h = 0u; h < kHeadsPerThread; ++h) head_sums[entry_of(h)] = sum_of_head(item, h, 0u);
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
    float sum;
    if (kNormsAllHeads) sum = sum_of_heads(item);
    else sum = sum_of_head(item, h, 0u);
    precise float mean = sum * uintBitsToFloat(norm_share_of(item.tensor));
    precise float root = mean + uintBitsToFloat(epsilon_of(item.tensor));
    return uintBitsToFloat(reciprocal_root_bits(floatBitsToUint(root)));
}

// `half_quad` numbers the halves of a head's quads in a thread.
uvec4 normed(WorkItem item, uint h, float factor, uint half_quad, uint place, uvec4 words) {
    uint at = place_in_norm(item.tensor, place);
    if (kPart && at >= norm_quads(item.tensor)) return words;
    precise vec4 x = uintBitsToFloat(words) * factor;
    if (has_weights(item.tensor)) {
        vec4 given = weights_of(item, h, half_quad, norm_quads(item.tensor), at);
        uint plus = weight_plus_of(item.tensor);
        precise vec4 raised = given + uintBitsToFloat(plus);
        x = x * mix(raised, given, bvec4(plus == 0u)); // some compilers drop a sum with 0, and keep its zero's sign
    }
    if (has_norm_bit(item.tensor, ROPE_NORM_BIASED)) x = x + norm_biases_of(item, h, norm_quads(item.tensor), at);
    return floatBitsToUint(x);
}

// ---- The stage

// Subtracts the means from the elements of a norm that is centered.
void center_heads(WorkItem item, Runs runs, bool interleaved) {
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        precise float mean = sum_of_head(item, h, 1u) * uintBitsToFloat(norm_share_of(item.tensor));
        for (uint quad = 0u; quad < kQuads; ++quad) {
            uint places[2] = quad_places(runs, quad, interleaved);
            for (uint i = 0u; i < 2u; ++i) {
                uvec4 x = held[h * kQuads + quad].x[i];
                precise vec4 rest = uintBitsToFloat(x) - mean;
                bool beside = kPart && place_in_norm(item.tensor, places[i]) >= norm_quads(item.tensor);
                if (is_centered(item.tensor) && !beside) x = floatBitsToUint(rest);
                held[h * kQuads + quad].x[i] = x;
                keep_squares(item, h, places[i], x);
            }
        }
    }
}

void norm_heads(WorkItem item, Runs runs, bool interleaved) {
    barrier();
    if (kCentered) {
        center_heads(item, runs, interleaved);
        barrier();
    }
    if (kNormsAllHeads) keep_head_sums(item);
    if (!is_normed(item.tensor)) return;
    float factor = 0.0;
    uint h = 0u;
    do {
        if (h == 0u || !kNormsAllHeads) factor = norm_factor(item, h);
        uint quad = 0u;
        do {
            uint places[2] = quad_places(runs, quad, interleaved);
            uint i = 0u;
            do {
                uvec4 x = held[h * kQuads + quad].x[i];
                held[h * kQuads + quad].x[i] = normed(item, h, factor, 2u * quad + i, places[i], x);
            } while (++i < 2u);
        } while (++quad < kQuads);
    } while (++h < kHeadsPerThread);
}

#endif
