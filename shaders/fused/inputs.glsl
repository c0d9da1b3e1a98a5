// Elements are changed as they are loaded: the projection's biases are added, and a clip limits them.
#ifndef ROPE_INPUTS_GLSL
#define ROPE_INPUTS_GLSL
#include "norm_parts.glsl"

layout(constant_id = ROPE_ID_CLIP) const uint kClip = 0; // float32 bits; 0: none

layout(constant_id = ROPE_ID_BIAS_ELEMENT) const uint kBiasElement = 0;
const bool kBiased = kBiasElement != 0u;
layout(constant_id = ROPE_ID_BIAS_VECTORS) const uint kBiasVectors = 0;
layout(constant_id = ROPE_ID_Q_BIASES) const uint kQBiases = 0;
layout(constant_id = ROPE_ID_K_BIASES) const uint kKBiases = 0;
layout(constant_id = ROPE_ID_V_BIASES) const uint kVBiases = 0;
layout(constant_id = ROPE_ID_Q_BIAS_HEAD) const uint kQBiasHead = 0;
layout(constant_id = ROPE_ID_K_BIAS_HEAD) const uint kKBiasHead = 0;
layout(constant_id = ROPE_ID_V_BIAS_HEAD) const uint kVBiasHead = 0;
BUFFER(ROPE_BINDING_BIASES, BiasVectors, readonly, uvec4, bias_vectors)
BUFFER(ROPE_BINDING_BIASES, BiasTwos, readonly, uvec2, bias_twos)
BUFFER(ROPE_BINDING_BIASES, BiasWords, readonly, uint, bias_words)

vec4 four_biases(uint at) {
    const bool floats = kBiasElement == 1u + ROPE_F32;
    uvec4 words = uvec4(0u);
    if (kBiasVectors != 0u && floats) {
        words = bias_vectors[at / 4u];
    } else if (kBiasVectors != 0u) {
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
    if (!kBiased) return words;
    uint head = min(item.head + h, item.heads - 1u);
    uint begin = choose_by_tensor(item, kQBiases, kKBiases, kVBiases);
    uint at = begin + head * choose_by_tensor(item, kQBiasHead, kKBiasHead, kVBiasHead) + place * 4u;
    precise vec4 x = uintBitsToFloat(words) + four_biases(at);
    return floatBitsToUint(x);
}

uvec4 clipped(uvec4 words) {
    if (kClip == 0u) return words;
    uvec4 size = words & 0x7FFFFFFFu;
    uvec4 limited = min(size, uvec4(kClip)) | (words & 0x80000000u);
    return mix(limited, words, greaterThan(size, uvec4(0x7F800000u))); // NaN stays
}

#endif
