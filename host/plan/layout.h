// Where the elements of tensors lie: strides, offsets and the bounds that keep them countable.
#pragma once

#include "rules/refuse.h"

namespace rope {

constexpr uint32_t kMaxCount = 1u << 30; // the most that a shader counts in 32 bits

// A stride, how many times a description takes it, and its name in a refusal: "batch" and so on.
struct NamedStride {
    uint64_t* stride;
    uint32_t count;
    const char* name;
};
// Clears the strides of axes with one entry. *reach grows from the elements of one entry to all from the first to the
// last. A tensor that is written may not overlap itself.
RopeResult resolveStrides(const char* name, NamedStride* strides, uint32_t count, bool written, uint64_t* span,
                          RopeReason* reason);
RopeResult checkElementCount(const char* name, const char* what, uint64_t elements, uint32_t count, RopeReason* reason);
RopeResult checkOffset(const char* name, uint64_t offset, RopeReason* reason);
RopeResult checkHeads(uint32_t heads, RopeReason* reason);

// Strides and offsets of rows and positions are so small that sums of them stay within 64 bits.
RopeResult checkStrideLimit(const char* name, uint64_t value, RopeReason* reason);

// The offset and all strides of a layout, or'ed: they are all multiples of a power of two where this is.
inline uint64_t strideBits(const RopeLayout& l) { return l.offset | l.batch_stride | l.token_stride | l.head_stride; }
inline uint64_t strideBits(const RopeCacheLayout& l) {
    return l.offset | l.batch_stride | l.page_stride | l.slot_stride | l.head_stride;
}

// Fills in the strides of a packed layout and checks the others.
RopeResult resolveLayout(const char* name, const RopeRotateDescription& d, uint32_t heads, bool written,
                         RopeLayout* layout, RopeReason* reason);
// The same for both sides of a tensor. A tensor in place has one side, and its destination becomes its source.
RopeResult resolveTensor(const char* source_name, const char* destination_name, const RopeRotateDescription& d,
                         RopeTensor* tensor, RopeReason* reason);

} // namespace rope
