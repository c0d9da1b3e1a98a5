// The weights of norms lie in the parameters, or in the engine's buffers. A thread loads weights of an engine's buffer
// beside its heads, and holds them as they lie in memory until the norm. If K and V become integers, it loads the
// weights at the norm, because they and the integers' scales would take too many registers.
#ifndef ROPE_WEIGHTS_GLSL
#define ROPE_WEIGHTS_GLSL
#include "heads.glsl"
#include "cache.glsl"

const uint kNormBits = kQ_norm_bits | kK_norm_bits | kV_norm_bits;
const bool kWeightsByFour = (kNormBits & ROPE_NORM_BY_FOUR) != 0u;
const uint kQWeightElement = kQ_norm_bits >> ROPE_NORM_WEIGHTS; // 1 + the element of weights in a buffer, or 0
const uint kKWeightElement = kK_norm_bits >> ROPE_NORM_WEIGHTS;

bool has_norm_bit(uint tensor, uint bit) { return (norm_bits_of(tensor) & bit) != 0u; }

// Weights of a norm, or the projection's biases.
#define GIVEN(view, type)                                                                                              \
    BUFFER(ROPE_BINDING_Q_WEIGHTS, QWeights_##view, readonly, type, q_weights_##view)                                  \
    BUFFER(ROPE_BINDING_K_WEIGHTS, KWeights_##view, readonly, type, k_weights_##view)                                  \
    BUFFER(ROPE_BINDING_BIASES, Biases_##view, readonly, type, biases_##view)                                          \
    type given_##view(bool biases, bool of_q, uint at) {                                                               \
        type words;                                                                                                    \
        if (biases) words = biases_##view[at];                                                                         \
        else if (of_q) words = q_weights_##view[at];                                                                   \
        else words = k_weights_##view[at];                                                                             \
        return words;                                                                                                  \
    }
GIVEN(vector, uvec4)
GIVEN(two, uvec2)
GIVEN(word, uint)

const bool kHoldsWeights = (kQWeightElement | kKWeightElement) != 0u && !kQuantizes;
const uint kWeightHeads = (kQ_weight_head | kK_weight_head) != 0u ? kHeadsPerThread : 1u;
uvec4 held_weights[kHoldsWeights ? kWeightHeads * 2u * kQuads : 1u];
uint held_at(uint h, uint half_quad) { return choose(kWeightHeads != 1u, h * 2u * kQuads, 0u) + half_quad; }

// V has no weights in a buffer.
uint weight_element(uint tensor) { return norm_bits_of(tensor) >> ROPE_NORM_WEIGHTS; }

// Weights of one kind need no choice by tensor. 0: there are two kinds, or none.
const uint kOneKind = kKWeightElement == 0u ? kQWeightElement : kQWeightElement == 0u ? kKWeightElement : 0u;
const uint kWeightElement = kQWeightElement == kKWeightElement ? kQWeightElement : kOneKind;
uint element_of_weights(uint tensor) { return kWeightElement != 0u ? kWeightElement : weight_element(tensor); }

// Returns the four numbers from element `at` on: four words, or two of 16-bit elements. Only words that have some of
// these numbers are read.
uvec4 given_words(bool biases, bool of_q, bool by_four, bool floats, uint at) {
    if (by_four) {
        if (floats) return given_vector(biases, of_q, at / 4u);
        return uvec4(given_two(biases, of_q, at / 4u), 0u, 0u);
    }
    uint first = floats ? at : at / 2u;
    uint last = first + (floats ? 3u : 1u + at % 2u);
    uvec4 words = uvec4(0u);
    for (uint i = 0u; i < (floats ? 4u : 3u); ++i) words[i] = given_word(biases, of_q, min(first + i, last));
    bool odd = !floats && at % 2u != 0u;
    return odd ? words >> 16 | words.yzww << 16 : words;
}
// `element` is 1 more than the number of an element.
vec4 widened(uvec4 words, uint element) {
    return uintBitsToFloat(element == 1u + ROPE_F32 ? words : widen_run(words.xy, element - 1u));
}

// Loads the weights of quad `place` among the quads that the norm takes.
uvec4 load_weights(WorkItem item, uint h, uint place) {
    uint begin = choose(is_q(item.tensor), push.weights_at_0, push.weights_at_1);
    uint at = begin + token_index(item.token) * weight_token_of(item.tensor) +
              head_number(item, h) * weight_head_of(item.tensor) + place * 4u;
    bool floats = element_of_weights(item.tensor) == 1u + ROPE_F32;
    return given_words(false, is_q(item.tensor), kWeightsByFour, floats, at);
}

bool has_weights(uint tensor) { return weight_element(tensor) != 0u || has_norm_bit(tensor, ROPE_NORM_GIVEN); }

// Returns the vector of the parameters that quad 0 of a head meets.
uint weights_at(WorkItem item, uint h, uint quads) {
    bool per_head = has_norm_bit(item.tensor, ROPE_NORM_PER_HEAD);
    return uniform_at_of(item.tensor) + choose(per_head, head_number(item, h) * quads, 0u);
}
// Biases follow the weights, quad for quad.
vec4 norm_biases_of(WorkItem item, uint h, uint quads, uint place) {
    bool per_head = has_norm_bit(item.tensor, ROPE_NORM_PER_HEAD);
    return parameters[weights_at(item, h, quads) + choose(per_head, item.heads, 1u) * quads + place];
}

// Returns the weights of quad `place` of the `quads` that a norm takes. Weights of a buffer may have been loaded before.
vec4 weights_of(WorkItem item, uint h, uint half_quad, uint quads, uint place) {
    if (weight_element(item.tensor) == 0u) return parameters[weights_at(item, h, quads) + place];
    uvec4 words = held_weights[kHoldsWeights ? held_at(h, half_quad) : 0u];
    if (!kHoldsWeights) words = load_weights(item, h, place);
    return widened(words, element_of_weights(item.tensor));
}

#endif
