// These few words let one text be GLSL, HLSL (where rope.hlsl defines ROPE_HLSL) and C++. Every header that includes
// this file ends with ROPE_DIALECT_END.
#ifdef __cplusplus
#include "dialect_cpp.h"
namespace rope {
#elif !defined(ROPE_DIALECT_H)
#define ROPE_DIALECT_H
#define ROPE_FUNCTION
#define ROPE_OUT(type) out type
#define ROPE_INOUT(type) inout type
#define ROPE_PRECISE precise
#define ROPE_DIALECT_END
#ifdef ROPE_HLSL // rope.hlsl takes the words of GLSL away again
#define ROPE_CONSTANT static const
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
#else
#define ROPE_CONSTANT const
uint choose(bool which, uint yes, uint no) {
    return mix(no, yes, which); // a select, where ?: would be a branch
}
uint multiply_high(uint a, uint b) {
    uint high, low;
    umulExtended(a, b, high, low);
    return high;
}
int highest_bit(uint a) { return findMSB(a); }
#endif
#endif
