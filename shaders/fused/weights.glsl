// The weights of norms lie in the parameters, or in buffers of their own. A thread loads weights of a buffer of their
// own beside its heads, and holds them as they lie in memory until the norm. If K and V become integers, it loads the
// weights at the norm, because they and the integers' scales would take too many registers.
#ifndef ROPE_WEIGHTS_GLSL
#define ROPE_WEIGHTS_GLSL
#include "norm_parts.glsl"

layout(constant_id = ROPE_ID_Q_WEIGHTS) const uint kQWeights = ROPE_NOWHERE;
layout(constant_id = ROPE_ID_K_WEIGHTS) const uint kKWeights = ROPE_NOWHERE;
layout(constant_id = ROPE_ID_V_WEIGHTS) const uint kVWeights = ROPE_NOWHERE;
layout(constant_id = ROPE_ID_Q_WEIGHT_OFFSET) const uint kQWeightOffset = 0;
layout(constant_id = ROPE_ID_K_WEIGHT_OFFSET) const uint kKWeightOffset = 0;
layout(constant_id = ROPE_ID_V_WEIGHT_OFFSET) const uint kVWeightOffset = 0;

layout(constant_id = ROPE_ID_WEIGHT_BITS) const uint kWeightBits = 0;
layout(constant_id = ROPE_ID_Q_WEIGHT_ELEMENT) const uint kQWeightElement = 0;
layout(constant_id = ROPE_ID_K_WEIGHT_ELEMENT) const uint kKWeightElement = 0;
layout(constant_id = ROPE_ID_Q_WEIGHT_TOKEN) const uint kQWeightToken = 0;
layout(constant_id = ROPE_ID_K_WEIGHT_TOKEN) const uint kKWeightToken = 0;
layout(constant_id = ROPE_ID_Q_WEIGHT_HEAD) const uint kQWeightHead = 0;
layout(constant_id = ROPE_ID_K_WEIGHT_HEAD) const uint kKWeightHead = 0;

#define WEIGHTS(view, type)                                                                                            \
    BUFFER(ROPE_BINDING_Q_WEIGHTS, QWeights_##view, readonly, type, q_weights_##view)                                  \
    BUFFER(ROPE_BINDING_K_WEIGHTS, KWeights_##view, readonly, type, k_weights_##view)                                  \
    type weights_##view(bool of_q, uint at) {                                                                          \
        type words;                                                                                                    \
        if (of_q) words = q_weights_##view[at];                                                           \
        else words = k_weights_##view[at];                                                                             \
        return words;                                                                                                  \
    }
WEIGHTS(vector, uvec4)
WEIGHTS(two, uvec2)
WEIGHTS(word, uint)

#ifdef ROPE_INTEGERS
const bool kHoldsWeights = false;
#else
const bool kHoldsWeights = (kQWeightElement | kKWeightElement) != 0u;
#endif
const uint kWeightHeads = (kQWeightHead | kKWeightHead) != 0u ? kHeadsPerThread : 1u;
uvec4 held_weights[kHoldsWeights ? kWeightHeads * 2u * kQuads : 1u];
uint held_at(uint h, uint half_quad) { return choose(kWeightHeads != 1u, h * 2u * kQuads, 0u) + half_quad; }

// Returns 1 + the element of weights in a buffer of their own, or 0. V has none.
uint weight_element(WorkItem item) {
    return choose(is_q(item), kQWeightElement, choose(item.tensor == kThird, 0u, kKWeightElement));
}

// Weights of one kind need no choice by tensor. 0: there are two kinds, or none.
const uint kOneKind = kKWeightElement == 0u ? kQWeightElement : kQWeightElement == 0u ? kKWeightElement : 0u;
const uint kWeightElement = kQWeightElement == kKWeightElement ? kQWeightElement : kOneKind;
uint element_of_weights(WorkItem item) { return kWeightElement != 0u ? kWeightElement : weight_element(item); }

// Returns the four weights from element `at` on: four words, or two of 16-bit elements. Only words that have some of
// these weights are read.
uvec4 weight_words(bool of_q, bool floats, uint at) {
    if ((kWeightBits & ROPE_WEIGHTS_BY_FOUR) != 0u) {
        if (floats) return weights_vector(of_q, at / 4u);
        return uvec4(weights_two(of_q, at / 4u), 0u, 0u);
    }
    uint first = floats ? at : at / 2u;
    uint last = first + (floats ? 3u : 1u + at % 2u);
    uvec4 words = uvec4(0u);
    for (uint i = 0u; i < (floats ? 4u : 3u); ++i) words[i] = weights_word(of_q, min(first + i, last));
    bool odd = !floats && at % 2u != 0u;
    return odd ? words >> 16 | words.yzww << 16 : words;
}

// Loads those of quad `place` among those that the norm takes.
uvec4 load_weights(WorkItem item, uint h, uint place) {
    uint begin = is_q(item) ? push.ROPE_WEIGHTS_AT & ROPE_MOST_WEIGHTS_AT : push.ROPE_WEIGHTS_AT >> 16;
    uint head = min(item.head + h, item.heads - 1u);
    uint at = begin + token_index(item.token) * choose(is_q(item), kQWeightToken, kKWeightToken) +
              head * choose(is_q(item), kQWeightHead, kKWeightHead) + place * 4u;
    return weight_words(is_q(item), element_of_weights(item) == 1u + ROPE_F32, at);
}

void hold_weights(WorkItem item, uint h, uint half_quad, uint place) {
    place = place_in_norm(item, place);
    if (kPart) place = min(place, max(norm_quads(item), 1u) - 1u);
    held_weights[held_at(h, half_quad)] = load_weights(item, h, place);
}

// Loads the weights that a thread's heads meet, whose elements lie in these runs.
void load_head_weights(WorkItem item, Runs runs, bool interleaved) {
    if (!kHoldsWeights || weight_element(item) == 0u) return;
    uint h = 0u;
    do {
        uint quad = 0u;
        do {
            uint places[2] = quad_places(runs, quad, interleaved);
            uint i = 0u;
            do {
                hold_weights(item, h, 2u * quad + i, places[i]);
            } while (++i < 2u);
        } while (++quad < kQuads);
    } while (++h < kWeightHeads);
}

bool has_weights(WorkItem item) {
    if (weight_element(item) != 0u) return true;
    return choose_by_norm(item, kQWeights, kKWeights, kVWeights) != ROPE_NOWHERE;
}

#ifdef ROPE_PARAMETERS
// Returns the vector of the parameters that quad 0 of a head meets.
uint weights_at(WorkItem item, uint h) {
    bool per_head = kNormAllHeads != 0u || has_norm_bit(item, ROPE_NORM_PER_HEAD);
    uint head = min(item.head + h, item.heads - 1u);
    return choose_by_norm(item, kQWeights, kKWeights, kVWeights) / 4u +
           choose(per_head, head * norm_quads(item), 0u);
}
// Biases follow the weights, with as many quads.
vec4 norm_biases_of(WorkItem item, uint h, uint place) {
    bool per_head = has_norm_bit(item, ROPE_NORM_PER_HEAD);
    return parameters[weights_at(item, h) + choose(per_head, item.heads, 1u) * norm_quads(item) + place];
}
#endif

vec4 weights_of(WorkItem item, uint h, uint half_quad, uint place) {
    if (weight_element(item) != 0u) {
        uint element = element_of_weights(item);
        uvec4 words = held_weights[kHoldsWeights ? held_at(h, half_quad) : 0u];
        if (!kHoldsWeights) words = load_weights(item, h, place);
        return uintBitsToFloat(element == 1u + ROPE_F32 ? words : widen_run(words.xy, element - 1u));
    }
#ifdef ROPE_PARAMETERS
    return parameters[weights_at(item, h) + place];
#else
    return vec4(1.0);
#endif
}

#endif
