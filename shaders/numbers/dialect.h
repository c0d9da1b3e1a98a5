// These few words let one text be GLSL, HLSL (where rope.hlsl defines ROPE_HLSL) and C++. Every header that includes
// this file ends with ROPE_DIALECT_END.
#ifdef __cplusplus
#include "dialect_cpp.h"
namespace rope {
#elif defined(ROPE_HLSL)
#include "dialect_hlsl.h"
#elif !defined(ROPE_DIALECT_H)
#define ROPE_DIALECT_H
#define ROPE_FUNCTION
#define ROPE_OUT(type) out type
#define ROPE_INOUT(type) inout type
#define ROPE_PRECISE precise
#define ROPE_CONSTANT const
#define ROPE_DIALECT_END
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
