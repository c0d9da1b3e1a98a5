// This is the HLSL side of dialect.h: it has the words of GLSL that the shared text takes. rope.hlsl takes these words
// away again.
#ifndef ROPE_DIALECT_H
#define ROPE_DIALECT_H

#define ROPE_FUNCTION
#define ROPE_OUT(type) out type
#define ROPE_INOUT(type) inout type
#define ROPE_PRECISE precise
#define ROPE_CONSTANT static const
#define ROPE_DIALECT_END
#define vec2 float2
#define uvec2 uint2
#define uvec4 uint4
#define uintBitsToFloat asfloat
#define floatBitsToUint asuint
uint choose(bool which, uint yes, uint no) { return which ? yes : no; }
// HLSL has no product of 64 bits in every version, so four of 16 bits by 16 make the high word.
uint multiply_high(uint a, uint b) {
    uint middle = (a >> 16) * (b & 0xFFFFu) + (((a & 0xFFFFu) * (b & 0xFFFFu)) >> 16);
    uint other = (a & 0xFFFFu) * (b >> 16) + (middle & 0xFFFFu);
    return (a >> 16) * (b >> 16) + (middle >> 16) + (other >> 16);
}
int highest_bit(uint a) { return int(firstbithigh(a)); }
#endif
