// The few words that let one text be GLSL and C++. Every header that includes it ends with ROPE_DIALECT_END.
#ifdef __cplusplus
#include "interface.h"
#include <cstring>
#ifndef ROPE_DIALECT_H
#define ROPE_DIALECT_H
#define ROPE_FUNCTION inline
#define ROPE_OUT(type) type&
#define ROPE_CONSTANT constexpr
#define ROPE_DIALECT_END } // namespace rope
namespace rope {
struct uvec4 {
    uint x, y, z, w;
};
inline uint multiply_high(uint a, uint b) { return static_cast<uint>((static_cast<uint64_t>(a) * b) >> 32); }
inline uint choose(bool which, uint yes, uint no) { return which ? yes : no; }
inline uint min(uint a, uint b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline uint max(uint a, uint b) { return a > b ? a : b; }
inline int highest_bit(uint a) {
    int bit = -1;
    for (; a != 0; a >>= 1) ++bit;
    return bit;
}
// Of a number below 2^-13 how many 2^-37ths it has; what is left is cut off.
inline uint whole_37ths(uint bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<uint>(value * 0x1p37f);
}
// The bits of 2^-112 times the number of these bits.
inline uint shrunk_bits(uint bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    value *= 0x1p-112f;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
// The float32 bits of rest * 2^-24.
inline uint denormal_bits(uint rest) {
    const float value = static_cast<float>(rest) * 0x1p-24f;
    uint bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
} // namespace rope
#define ROPE_BITS uint
#define ROPE_LESS(a, b) ((a) < (b))
#define ROPE_SELECT(which, yes, no) choose(which, yes, no)
#endif
namespace rope {
#elif !defined(ROPE_DIALECT_H)
#define ROPE_DIALECT_H
#define ROPE_FUNCTION
#define ROPE_OUT(type) out type
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
