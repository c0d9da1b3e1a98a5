// What the CPU's own runs of rotations and of fused passes share: where tokens turn, by what, and pairs turned.
#pragma once

#include "../shaders/pair.h"
#include "plan/positions.h"
#include "reference/element.h"
#include "reference/token.h"

namespace rope {

struct CosSin {
    double reference[2]; // cos and sin
    float float32[2];
};

// Everything that is the same for all heads and tokens.
struct HostRotation {
    const RopeRotateDescription& d;
    const void* positions;
    const void* rows;
    RopePositions positions_read; // what of the positions is
    RopeFrequencies frequencies;
    double scale;  // what the operation wants
    uint32_t grid; // by which cos and sin of that scale are taken apart
    bool backward;
    bool positions_known; // positions are known
};
HostRotation makeHostRotation(const RopeRotateDescription& d, const void* positions, const void* rows);
RopeResult checkAngleSource(const HostRotation& r, RopeReason* reason);
RopeResult refuseNullPositions(RopeReason* reason);

// A token, and whether it is inside the window.
HostToken rotationToken(const HostRotation& r, uint32_t batch, uint32_t number, bool* turns);
// Whether one that should turn cannot.
bool isOutside(const RopeRotateDescription& d, const HostToken& token);
// `number` counts the tokens of all batches.
void findCosSin(const HostRotation& r, uint64_t number, const HostToken& token, uint32_t pair, CosSin* cos_sin);

// An element on its way, in both ways at once.
struct ElementValue {
    double reference;
    uint32_t bits;      // of the float32
    uint32_t raw = 0;   // as it was loaded
    bool as_is = false; // and still is
};
inline float floatOf(uint32_t bits) { return uintBitsToFloat(bits).value; }
inline uint32_t bitsOf(float value) { return floatBitsToUint({value}); }
inline float product(float a, float b) { return (Rounded{a} * Rounded{b}).value; }

struct TensorArrays {
    const void* in;
    double* reference; // either may be null
    void* out;
    RopeElement element_in, element_out;
};
ElementValue loadValue(const TensorArrays& arrays, uint64_t at);
void storeValue(const TensorArrays& arrays, uint64_t at, const ElementValue& value);

// The element of the rotary part that is a pair's first or second.
uint32_t pairElement(const RopeRotateDescription& d, RopePairing pairing, uint32_t pair, uint32_t which);
void turnPair(const HostRotation& r, const CosSin& cos_sin, ElementValue pair[2]);
uint64_t headElement(const RopeLayout& layout, uint32_t batch, uint32_t token, uint32_t head);

} // namespace rope
