// Strides of a tensor as its record has them: fixed + grown * length, where the length is a push word. So tensors of
// any number of tokens, and caches of any number of slots, take one pipeline.
#pragma once

#include "plan/fused/arrangement.h"

namespace rope {

struct GrownStrides {
    uint64_t token, page;
    uint64_t head, head_grown;
    uint64_t batch, rows; // a sequence lies rows * length tokens, slots or pages and `batch` behind the one before it
    Length length;
};
// Strides count `unit` elements. Strides of a cache of blocks count blocks, because 32 bits do not count the elements
// of 4 GiB of 4-bit blocks.
GrownStrides sourceStrides(const FusedTensor& t, uint32_t unit);
GrownStrides destinationStrides(const FusedTensor& t, const ResolvedFused& fused, uint32_t unit);
// Returns the strides of stored scales by the rows and the length of their elements.
GrownStrides scaleStrides(const FusedTensor& t, const ResolvedFused& fused, const GrownStrides& elements,
                          uint64_t length);

// True if one push word serves both.
inline bool isOneLength(const Length& a, const Length& b) {
    return a.any || b.any || (a.packed == b.packed && a.tokens == b.tokens);
}

} // namespace rope
