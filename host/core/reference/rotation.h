// The CPU's own runs of rotations, additions, biases, relative vectors and fused passes share these functions: where
// tokens rotate, by what, and how pairs are rotated.
#pragma once

#include "plan/positions.h"
#include "reference/element.h"
#include "reference/token.h"
#include "shaders/numbers/pair.h"

namespace rope {

struct CosSin {
    double reference[2]; // the reference's cos and sin
    float float32[2];    // the shaders' cos and sin
};

// HostRotation has everything that is the same for all heads and tokens.
struct HostRotation {
    const RopeRotateDescription& d;
    const void* positions;
    const void* rows;
    ReadPositions read;
    double scale;  // the factor on cos and sin that the operation asks for
    uint32_t grid; // this grid splits cos and sin of that scale
    bool backward;
    bool positions_known; // positions are given, or counted
};
HostRotation makeHostRotation(const RopeRotateDescription& d, const void* positions, const void* rows);
// Forgets positions that only a reference would read: rows give the angles, and no reference is wanted.
inline void forgetUnread(bool wants_reference, HostRotation* r) {
    r->positions_known = r->positions_known && (wants_reference || r->rows == nullptr);
}
// Refuses a rotation whose angles neither rows nor frequencies and positions give.
RopeResult checkAngleSource(const HostRotation& r, RopeReason* reason);
RopeResult refuseNullPositions(RopeReason* reason);

// Returns a token. `turns` becomes true if the token is inside the window.
HostToken rotationToken(const HostRotation& r, uint32_t batch, uint32_t number, bool* turns);
// True if a token that should rotate cannot: it has no position, or no row of the table.
bool isOutside(const RopeRotateDescription& d, const HostToken& token);
// Finds cos and sin of a pair. `number` counts the tokens of all batches.
void findCosSin(const HostRotation& r, uint64_t number, const HostToken& token, uint32_t pair, CosSin* cos_sin);

// An element on its way: the value of the reference, and the shaders' bits.
struct ElementValue {
    double reference;
    uint32_t bits;      // the float32's bits, as the shaders have them
    uint32_t raw = 0;   // the element as it was loaded
    bool as_is = false; // the element is still as it was loaded
};
inline float floatOf(uint32_t bits) { return uintBitsToFloat(bits).value; }
inline uint32_t bitsOf(float value) { return floatBitsToUint({value}); }
inline float product(float a, float b) { return (Rounded{a} * Rounded{b}).value; }

// The arrays of one tensor.
struct TensorArrays {
    const void* in;
    double* reference; // either may be null
    void* out;
    RopeElement element_in, element_out;
};
ElementValue loadValue(const TensorArrays& arrays, uint64_t at);
void storeValue(const TensorArrays& arrays, uint64_t at, const ElementValue& value);

// Returns the element of the rotary part that is a pair's first or second.
uint32_t pairElement(const RopeRotateDescription& d, RopePairing pairing, uint32_t pair, uint32_t which);
void turnPair(const HostRotation& r, const CosSin& cos_sin, ElementValue pair[2]);
// Returns the first element of a head.
uint64_t headElement(const RopeLayout& layout, uint32_t batch, uint32_t token, uint32_t head);

} // namespace rope
