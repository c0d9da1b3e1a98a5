// A stage of a fused pass: elements are limited as they are loaded.
#ifndef ROPE_CLIP_GLSL
#define ROPE_CLIP_GLSL
#include "layout.glsl"

layout(constant_id = ROPE_ID_CLIP) const uint kClip = 0; // float32 bits; 0: none

uvec4 clipped(uvec4 words) {
    if (kClip == 0u) return words;
    uvec4 size = words & 0x7FFFFFFFu;
    uvec4 limited = min(size, uvec4(kClip)) | (words & 0x80000000u);
    return mix(limited, words, greaterThan(size, uvec4(0x7F800000u))); // NaN stays
}

#endif
