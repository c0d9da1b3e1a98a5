// A fused pass on the CPU carries a tensor, a token of it, a head, and a run of the head's elements. Each stage is a
// file beside this one, and takes a run.
#pragma once

#include "plan/fused/resolve.h"
#include "reference/norm_sums.h"
#include "reference/rotation.h"

namespace rope {

// One tensor of the description, and the arrays that it is read from and written to.
struct TensorWork {
    const ResolvedFused& fused;
    const FusedTensor& t;
    HostRotation rotation;
    TensorArrays arrays;
    const void* slot_map; // slots or page table
    const void* weights;  // of a norm that has no array
    const void* biases;   // of the projection
};

// One token of a tensor: where it stands on axis 0, by what it rotates, and where it goes.
struct TokenWork {
    HostToken standing;
    HostToken turning;
    bool turns;
    uint64_t number;                    // the token's number among the tokens of all batches
    uint32_t in_batch;                  // and among its own tensor's
    uint64_t from, to;                  // element 0 of head 0
    uint64_t scale;                     // the element of head 0's scale, if scales lie apart
    CosSin cos_sin[kMaxVectorHead / 2]; // of the first pairs
};

struct HeadWork {
    const TensorWork& w;
    const TokenWork& token;
    uint32_t number;
    Factor sum; // of a norm of all heads: of their squares
};

// The elements of a head that are carried together: all of them, or a part of a head that no stage needs whole. The
// elements of pairs come first, a pair's two side by side.
struct HeadRun {
    uint32_t first, count;
    ElementValue x[kMaxVectorHead];
};

inline uint32_t pairedElements(const FusedTensor& t) { return t.takes(ROPE_STAGE_TURN) ? t.d.rotation.rotary_dim : 0; }
// Returns the place in the head of an element of a run, as this pairing has it.
inline uint32_t placeOf(const FusedTensor& t, const HeadRun& run, RopePairing pairing, uint32_t i) {
    const RopeRotation& r = t.d.rotation;
    const uint32_t number = run.first + i, paired = pairedElements(t);
    if (number < paired) return r.rotary_begin + pairElement(t.d, pairing, number / 2, number % 2);
    return number - paired < r.rotary_begin ? number - paired : number;
}

inline ElementValue scaledValue(const ElementValue& value, double reference, float factor) {
    return {value.reference * reference, bitsOf(product(floatOf(value.bits), factor))};
}
inline ElementValue raisedValue(const ElementValue& value, double reference, float summand) {
    return {value.reference + reference, bitsOf(floatOf(value.bits) + summand)};
}

} // namespace rope
