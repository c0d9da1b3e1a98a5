// The few words that let one text be GLSL and C++. Every header that includes it ends with ROPE_DIALECT_END.
#ifdef __cplusplus
#include "interface.h"
#include <cstring>
#ifndef ROPE_DIALECT_H
#define ROPE_DIALECT_H
#define ROPE_FUNCTION inline
#define ROPE_OUT(type) type&
#define ROPE_INOUT(type) type&
#define ROPE_ARRAY(type, name, count) const type* name
#define ROPE_CONSTANT constexpr
#define ROPE_DIALECT_END } // namespace rope
namespace rope {
struct uvec4 {
    uint x, y, z, w;
};
inline uint multiply_high(uint a, uint b) { return static_cast<uint>((static_cast<uint64_t>(a) * b) >> 32); }
inline uint choose(bool which, uint yes, uint no) { return which ? yes : no; }
#define ROPE_FACTOR32 uint
inline uint less_product(uint from, uint a, uint b) { return from - multiply_high(a, b); }
inline uint min(uint a, uint b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline uint max(uint a, uint b) { return a > b ? a : b; }
inline int highest_bit(uint a) {
    int bit = -1;
    for (; a != 0; a >>= 1) ++bit;
    return bit;
}
// A float32 each of whose operations is rounded by itself: volatile, so that no compiler fuses a product into a sum or
// cancels what was added, whatever flags a host builds this with.
struct Rounded {
    float value;
};
inline Rounded rounded(float value) {
    const volatile float kept = value;
    return {kept};
}
inline Rounded operator+(Rounded a, Rounded b) { return rounded(a.value + b.value); }
inline Rounded operator-(Rounded a, Rounded b) { return rounded(a.value - b.value); }
inline Rounded operator*(Rounded a, Rounded b) { return rounded(a.value * b.value); }
inline Rounded uintBitsToFloat(uint bits) {
    Rounded number;
    std::memcpy(&number, &bits, sizeof bits);
    return number;
}
inline uint floatBitsToUint(Rounded number) {
    uint bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}
inline Rounded negative_or_zero(Rounded number) {
    return uintBitsToFloat(choose(floatBitsToUint(number) >> 31 != 0, floatBitsToUint(number), 0));
}
// Of 2^112 times a float16, as bits, the bits of the float16; where that is a denormal, its 1 is taken off.
inline uint shrunk_bits(uint bits) {
    const Rounded number = uintBitsToFloat(bits) * Rounded{0x1p-112f};
    return floatBitsToUint(number + negative_or_zero(number - Rounded{0x1p-14f}));
}
} // namespace rope
#define ROPE_BITS uint
#define ROPE_VALUES Rounded
#define ROPE_PRECISE
#define ROPE_LESS(a, b) ((a) < (b))
#define ROPE_SELECT(which, yes, no) choose(which, yes, no)
#endif
namespace rope {
#elif !defined(ROPE_DIALECT_H)
#define ROPE_DIALECT_H
#define ROPE_FUNCTION
#define ROPE_OUT(type) out type
#define ROPE_INOUT(type) inout type
#define ROPE_ARRAY(type, name, count) type name[count]
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
