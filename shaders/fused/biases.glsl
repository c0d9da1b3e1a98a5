// Two stages of a fused pass, as elements are loaded: the projection's biases are added, and elements are limited.
#ifndef ROPE_BIASES_GLSL
#define ROPE_BIASES_GLSL
#include "weights.glsl"

layout(constant_id = ROPE_ID_BIAS_ELEMENT) const uint kBiasElement = 0;
const bool kBiasesByFour = ((kQ_bias_at | kK_bias_at | kV_bias_at) & 3u) == 0u;

bool is_biased(uint tensor) { return kBiasElement != 0u && has_kind(tensor, ROPE_STAGE_BIASES); }

uvec4 biased(WorkItem item, uint h, uint place, uvec4 words) {
    if (!is_biased(item.tensor)) return words;
    uint at = bias_at_of(item.tensor) + head_number(item, h) * (4u * head_quads(item.tensor)) + place * 4u;
    uvec4 biases = given_words(true, false, kBiasesByFour, kBiasElement == 1u + ROPE_F32, at);
    precise vec4 x = uintBitsToFloat(words) + widened(biases, kBiasElement);
    return floatBitsToUint(x);
}

layout(constant_id = ROPE_ID_CLIP) const uint kClip = 0; // float32 bits; 0: none

uvec4 clipped(uvec4 words) {
    if (kClip == 0u) return words;
    uvec4 size = words & 0x7FFFFFFFu;
    uvec4 limited = min(size, uvec4(kClip)) | (words & 0x80000000u);
    return mix(limited, words, greaterThan(size, uvec4(0x7F800000u))); // NaN stays
}

#endif
