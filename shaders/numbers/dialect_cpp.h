// This is the C++ side of dialect.h: it has the functions of GLSL that the shared text takes.
#ifndef ROPE_DIALECT_H
#define ROPE_DIALECT_H

#include "../interface.h"
#include <cmath>
#include <cstring>
#define ROPE_FUNCTION inline
#define ROPE_OUT(type) type&
#define ROPE_INOUT(type) type&
#define ROPE_CONSTANT constexpr
#define ROPE_DIALECT_END } // namespace rope
namespace rope {
struct uvec2 {
    uint x, y;
};
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
inline float inversesqrt(float x) { return 1 / std::sqrt(x); }
// Rounded is a float32 whose every operation is rounded by itself. It is volatile: no compiler fuses a product into a
// sum, or cancels an addition, whatever flags a host builds this with.
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
// Returns the bits of a float16 from those of 2^112 times it. If the float16 is a denormal, its 1 is taken off.
inline uint shrunk_bits(uint bits) {
    const Rounded number = uintBitsToFloat(bits) * Rounded{0x1p-112f};
    const Rounded lacking = number - Rounded{0x1p-14f};
    return floatBitsToUint(floatBitsToUint(lacking) >> 31 != 0 ? number + lacking : number);
}
} // namespace rope
#define ROPE_BITS uint
#define ROPE_VALUES Rounded
#define ROPE_PRECISE
#define ROPE_WHERE_LESS(a, b, yes, no) choose((a) < (b), yes, no)
#endif
