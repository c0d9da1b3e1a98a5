// A stage of a fused pass: queries are multiplied by a value of their position.
#ifndef ROPE_QUERY_SCALE_GLSL
#define ROPE_QUERY_SCALE_GLSL
#include "heads.glsl"
#include "../position.glsl"

layout(constant_id = ROPE_ID_QUERY_SCALE) const uint kQueryScale = 0; // positions of one value; 0: none
layout(constant_id = ROPE_ID_QUERY_OFFSET) const uint kQueryOffset = 0;
layout(constant_id = ROPE_ID_QUERY_COUNT) const uint kQueryCount = 1;

bool is_scaled(uint tensor) { return kQueryScale != 0u && is_q(tensor); }

void scale_queries(WorkItem item, Token token) {
    if (!is_scaled(item.tensor)) return;
    uint value = 0u;
    bool counts = token.placed && token.first_positioned && int(token.whole[0]) > -int(kQueryOffset);
    if (counts) value = (token.whole[0] + kQueryOffset) / kQueryScale;
    float scale = parameter(min(value, kQueryCount - 1u));
    uint quad = 0u;
    do {
        precise vec4 first = uintBitsToFloat(held[quad].x[0]) * scale;
        precise vec4 second = uintBitsToFloat(held[quad].x[1]) * scale;
        held[quad] = Quad(uvec4[](floatBitsToUint(first), floatBitsToUint(second)));
    } while (++quad < kHeadsPerThread * kQuads);
}

#endif
