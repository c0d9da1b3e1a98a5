// What the CPU's own runs of rotations and of fused passes share: where tokens turn, by what, and pairs turned.
#pragma once

#include "../shaders/pair.h"
#include "plan/positions.h"
#include "reference/element.h"
#include "reference/token.h"

namespace rope {

struct CosSin {
    double reference[2]; // cos and sin
    float bits[2];
};

// Everything that is the same for all heads and tokens.
struct Rotation {
    const RopeRotateDescription& d;
    const void* positions;
    const void* rows;
    RopePositions read; // what of the positions is
    RopeFrequencies frequencies;
    double scale;  // what the operation wants
    uint32_t grid; // by which cos and sin of that scale are taken apart
    bool backward;
    bool positioned; // positions are known
};
Rotation makeRotation(const RopeRotateDescription& d, const void* positions, const void* rows);
RopeResult checkRows(const Rotation& r, RopeReason* reason);
RopeResult refusePositions(RopeReason* reason);

// A token, and whether it is inside the window.
HostToken tokenOf(const Rotation& r, uint32_t batch, uint32_t number, bool* turns);
// Whether one that should turn cannot.
bool isOutside(const RopeRotateDescription& d, const HostToken& token);
// `number` counts the tokens of all batches.
void findCosSin(const Rotation& r, uint64_t number, const HostToken& token, uint32_t pair, CosSin* cos_sin);

// An element on its way, in both ways at once.
struct Value {
    double reference;
    uint32_t bits;      // of the float32
    uint32_t raw = 0;   // as it was loaded
    bool as_is = false; // and still is
};
inline float floatOf(uint32_t bits) { return uintBitsToFloat(bits).value; }
inline uint32_t bitsOf(float value) { return floatBitsToUint({value}); }
inline float product(float a, float b) { return (Rounded{a} * Rounded{b}).value; }

struct Arrays {
    const void* in;
    double* reference; // either may be null
    void* out;
    RopeElement element_in, element_out;
};
Value load(const Arrays& arrays, uint64_t at);
void put(const Arrays& arrays, uint64_t at, const Value& value);

// The element of the rotary part that is a pair's first or second.
uint32_t pairElement(const RopeRotateDescription& d, RopePairing pairing, uint32_t pair, uint32_t which);
void turnPair(const Rotation& r, const CosSin& cos_sin, Value pair[2]);
uint64_t elementAt(const RopeLayout& layout, uint32_t batch, uint32_t token, uint32_t head);

} // namespace rope
