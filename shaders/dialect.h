// The few words that let one text be GLSL and C++. Every header that includes it ends with ROPE_DIALECT_END.
#ifdef __cplusplus
#include "dialect_cpp.h"
namespace rope {
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
// `from` less the high word of a * b. ROPE_FACTOR32 holds 32 bits as a product of them takes them: drivers for CPUs,
// which ROPE_LONG_WORDS are for, have products of 64-bit lanes alone, and find a highest bit in twenty operations.
#ifdef ROPE_LONG_WORDS
#define ROPE_FACTOR32 uint64_t
uint64_t less_product(uint from, uint64_t a, uint64_t b) { return (uint64_t(from) - (a * b >> 32)) & 0xFFFFFFFFul; }
int highest_bit(uint a) { // of what is not 0: as the float's exponent, of what no rounding brings to the next
    int by_float = (floatBitsToInt(float(int(a & ~(a >> 1)))) >> 23) - 127;
    return mix(by_float, 31, int(a) < 0);
}
#else
#define ROPE_FACTOR32 uint
uint less_product(uint from, uint a, uint b) { return from - multiply_high(a, b); }
int highest_bit(uint a) { return findMSB(a); }
#endif
#endif
