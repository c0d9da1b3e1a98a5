// Layouts say where the elements of tensors lie: strides, offsets, and the bounds that keep them countable.
#pragma once

#include "rules/refuse.h"

namespace rope {

constexpr uint32_t kMaxCount = 1u << 30;    // the largest count that shaders take in 32 bits
constexpr uint64_t kMaxStride = 1ull << 33; // kMaxCount strides stay within 64 bits

// A stride, how many entries it separates, and, to be filled in and refused, its place and its name: "batch" and so on.
struct StrideCount {
    uint64_t stride, count;
    uint64_t* place = nullptr;
    const char* name = "";
};
// Sorts strides from the smallest up. The span of one entry of a stride is then known from the strides before it.
void sortStrides(StrideCount* strides, uint32_t count);
// Clears the strides of a single entry, and refuses strides that overlap or cannot be counted. *span grows from the
// elements of one entry to all elements from the first to the last. A tensor that is written may not overlap itself. A
// tensor that is read may overlap itself, but not by a stride of 0.
RopeResult resolveStrides(const char* name, StrideCount* strides, uint32_t count, bool written, uint64_t* span,
                          RopeReason* reason);
// Refuses `count` parts of `elements` elements if 64 bits do not count the bytes. `what` names a part: "token".
RopeResult checkElementCount(const char* name, const char* what, uint64_t elements, uint32_t count, RopeReason* reason);
RopeResult checkOffset(const char* name, uint64_t offset, RopeReason* reason);

// Refuses strides and offsets of rows and positions whose sums could pass 64 bits.
RopeResult checkStrideLimit(const char* name, uint64_t value, RopeReason* reason);

// Returns the offset and all strides of a layout, or'ed. They are all multiples of a power of two if the result is.
inline uint64_t strideBits(const RopeLayout& l) { return l.offset | l.batch_stride | l.token_stride | l.head_stride; }
inline uint64_t strideBits(const RopeCacheLayout& l) {
    return l.offset | l.batch_stride | l.page_stride | l.token_stride | l.head_stride;
}

// Fills in the strides of a packed layout, [batch][tokens][heads] or [batch][heads][tokens], and checks the others.
RopeResult resolveLayout(const char* name, const RopeRotateDescription& d, uint32_t heads, bool written,
                         RopeLayout* layout, RopeReason* reason, bool heads_first = false);
// Fills in both sides of a tensor. A tensor in place has one side, and its destination becomes its source.
RopeResult resolveTensor(const char* source_name, const char* destination_name, const RopeRotateDescription& d,
                         RopeTensor* tensor, RopeReason* reason);

} // namespace rope
