// A stage of a fused pass: the projection's biases are added to elements as they are loaded.
#ifndef ROPE_BIASES_GLSL
#define ROPE_BIASES_GLSL
#include "heads.glsl"

layout(constant_id = ROPE_ID_BIAS_ELEMENT) const uint kBiasElement = 0;
const bool kBiased = kBiasElement != 0u;
const bool kBiasesByFour = ((kQ_bias_at | kK_bias_at | kV_bias_at) & 3u) == 0u;
BUFFER(ROPE_BINDING_BIASES, BiasVectors, readonly, uvec4, bias_vectors)
BUFFER(ROPE_BINDING_BIASES, BiasTwos, readonly, uvec2, bias_twos)
BUFFER(ROPE_BINDING_BIASES, BiasWords, readonly, uint, bias_words)

bool is_biased(uint tensor) { return kBiased && has_kind(tensor, ROPE_STAGE_BIASES); }

vec4 four_biases(uint at) {
    const bool floats = kBiasElement == 1u + ROPE_F32;
    uvec4 words = uvec4(0u);
    if (kBiasesByFour && floats) {
        words = bias_vectors[at / 4u];
    } else if (kBiasesByFour) {
        words.xy = bias_twos[at / 4u];
    } else {
        const uint count = floats ? 4u : 3u; // of 16-bit elements at an odd place the last word has one
        uint last = floats ? at + 3u : (at + 3u) / 2u;
        for (uint i = 0u; i < count; ++i) words[i] = bias_words[min((floats ? at : at / 2u) + i, last)];
        if (!floats && at % 2u != 0u) words = words >> 16 | words.yzww << 16;
    }
    return uintBitsToFloat(floats ? words : widen_run(words.xy, kBiasElement - 1u));
}

uvec4 biased(WorkItem item, uint h, uint place, uvec4 words) {
    if (!is_biased(item.tensor)) return words;
    uint at = bias_at_of(item.tensor) + head_number(item, h) * (4u * head_quads(item.tensor)) + place * 4u;
    precise vec4 x = uintBitsToFloat(words) + four_biases(at);
    return floatBitsToUint(x);
}

#endif
