// A shift of a quantized cache reads heads as they lie there. It has K alone.
#ifndef ROPE_SHIFT_GLSL
#define ROPE_SHIFT_GLSL
#include "convert.glsl"

uint fetch_half(uint at) {
    if (kPutHalves == 1u) return fetch_number(kFirst, at);
    return fetch_word(kFirst, at / 2u) >> 16u * (at & 1u) & 0xFFFFu;
}

// Returns word `at` behind the header of a block that begins at this 16-bit number.
uint fetch_integers(uint block, uint at) {
    uint half_at = block + (kMinimum ? 2u : 1u) + 2u * at;
    return fetch_half(half_at) | fetch_half(half_at + 1u) << 16;
}

uvec4 bytes_of(uint word) { return uvec4(word, word >> 8, word >> 16, word >> 24) & 0xFFu; }

// Returns the integers of a block's quad.
ivec4 integers_of(uint block, uint quad) {
    if (kSigned) return ivec4(bytes_of(fetch_integers(block, quad)) << 24) >> 24;
    uint word = fetch_integers(block, quad % 4u + choose(kBits == 5u, 1u, 0u)) >> choose(quad < 4u, 0u, 4u);
    uvec4 integers = bytes_of(word & 0x0F0F0F0Fu);
    if (kCodes)
        return ivec4(code_value(integers.x), code_value(integers.y), code_value(integers.z), code_value(integers.w));
    if (kBits == 5u) integers |= (uvec4(fetch_integers(block, 0u)) >> 4u * quad + uvec4(0u, 1u, 2u, 3u) & 1u) << 4;
    return ivec4(integers) - int(choose(kMinimum, 0u, 1u << (kBits - 1u)));
}

uvec4 quad_of_block(uint block, uint quad) {
    vec4 header = uintBitsToFloat(widen_f16(uvec4(fetch_half(block), kMinimum ? fetch_half(block + 1u) : 0u, 0u, 0u)));
    precise vec4 x = vec4(integers_of(block, quad)) * header.x;
    if (kMinimum) {
        precise vec4 above = x + header.y;
        x = above;
    }
    return floatBitsToUint(x);
}

uvec4 cached_quad(WorkItem item, uint head, uint place) {
    uint at = item.from + head * item.from_head;
    if (kInBlocks) {
        uint begin = push.to_1 * kPutHalves;
        return quad_of_block(begin + (at + place / kBlockQuads) * kBlockHalves, place % kBlockQuads);
    }
    uvec4 bytes = bytes_of(fetch_word(kFirst, push.to_1 + words_before(at) + place));
    if (kGiven) return scaled_as_given(item, given_quant_scale(item, head), true, widen_f8(bytes, kBits));
    float scale = uintBitsToFloat(fetch_word(kFirst, item.scale + head * item.scale_head));
    precise vec4 x = (kFloat8 ? uintBitsToFloat(widen_f8(bytes, kBits)) : vec4(ivec4(bytes << 24) >> 24)) * scale;
    return floatBitsToUint(x);
}

void load_cached_heads(WorkItem item, Lane lane) {
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        for (uint i = 0u; i < 2u; ++i) held[h].x[i] = cached_quad(item, head_number(item, h), lane.from.place[i]);
    }
}

#endif
