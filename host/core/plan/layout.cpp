// This file fills in packed strides, and refuses strides that overlap or cannot be counted.
//
// To add a layout: its strides here. The shaders only add strides.
#include "plan/layout.h"

namespace rope {

constexpr uint64_t kMaxElements = UINT64_MAX / 64; // the bytes of kMaxElements stay within 64 bits

void sortStrides(StrideCount* strides, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t j = i + 1; j < count; ++j)
            if (strides[j].stride < strides[i].stride) {
                const StrideCount swapped = strides[i];
                strides[i] = strides[j];
                strides[j] = swapped;
            }
}

RopeResult checkOffset(const char* name, uint64_t offset, RopeReason* reason) {
    if (offset <= kMaxElements) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s.offset is %llu; it lies beyond what 64 bits count", name,
                  static_cast<unsigned long long>(offset));
}

RopeResult checkElementCount(const char* name, const char* what, uint64_t elements, uint32_t count,
                             RopeReason* reason) {
    if (elements <= kMaxElements / count) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s has %u %ss of %llu elements, more than 64 bits count", name, count,
                  what, static_cast<unsigned long long>(elements));
}

RopeResult resolveStrides(const char* name, StrideCount* strides, uint32_t count, bool written, uint64_t* span,
                          RopeReason* reason) {
    for (StrideCount* s = strides; s != strides + count; ++s)
        if (s->count == 1) *s->place = s->stride = 0;
    sortStrides(strides, count);
    for (const StrideCount* s = strides; s != strides + count; ++s) {
        if (s->count == 1) continue;
        if (s->stride == 0 || (written && s->stride < *span)) {
            return refuse(reason, ROPE_ERROR_INVALID,
                          "%s.%s_stride is %llu and lets elements overlap; it must be at least %llu", name, s->name,
                          static_cast<unsigned long long>(s->stride), static_cast<unsigned long long>(*span));
        }
        if (s->stride > (kMaxElements - *span) / s->count) {
            return refuse(reason, ROPE_ERROR_TOO_LARGE,
                          "%s.%s_stride is %llu; the tensor has more bytes than 64 bits count", name, s->name,
                          static_cast<unsigned long long>(s->stride));
        }
        *span += s->stride * (s->count - 1);
    }
    return ROPE_SUCCESS;
}

RopeResult resolveLayout(const char* name, const RopeRotateDescription& d, uint32_t heads, bool written,
                         RopeLayout* layout, RopeReason* reason, bool heads_first) {
    if (layout->batch_stride == 0 && layout->token_stride == 0 && layout->head_stride == 0) {
        const uint32_t inner = heads_first ? d.tokens : heads, outer = heads_first ? heads : d.tokens;
        const uint64_t row = static_cast<uint64_t>(inner) * d.head_dim;
        const RopeResult result = checkElementCount(name, heads_first ? "head" : "token", row, outer, reason);
        if (result != ROPE_SUCCESS) return result;
        layout->token_stride = heads_first ? d.head_dim : row;
        layout->head_stride = heads_first ? row : d.head_dim;
        layout->batch_stride = outer * row;
    }
    StrideCount strides[3] = {{layout->batch_stride, d.batch, &layout->batch_stride, "batch"},
                              {layout->token_stride, d.tokens, &layout->token_stride, "token"},
                              {layout->head_stride, heads, &layout->head_stride, "head"}};
    uint64_t span = d.head_dim;
    const RopeResult result = resolveStrides(name, strides, 3, written, &span, reason);
    return result != ROPE_SUCCESS ? result : checkOffset(name, layout->offset, reason);
}

RopeResult resolveTensor(const char* source_name, const char* destination_name, const RopeRotateDescription& d,
                         RopeTensor* tensor, RopeReason* reason) {
    if (tensor->heads == 0) return ROPE_SUCCESS;
    if (tensor->heads > kMaxCount)
        return refuse(reason, ROPE_ERROR_TOO_LARGE, "heads is %u; it may be at most %u", tensor->heads, kMaxCount);
    const RopeResult result = resolveLayout(source_name, d, tensor->heads, d.out_of_place == 0, &tensor->from, reason);
    if (result != ROPE_SUCCESS) return result;
    if (d.out_of_place == 0) {
        tensor->to = tensor->from;
        return ROPE_SUCCESS;
    }
    return resolveLayout(destination_name, d, tensor->heads, true, &tensor->to, reason);
}

RopeResult checkStrideLimit(const char* name, uint64_t value, RopeReason* reason) {
    if (value <= kMaxStride) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s is %llu; it may be at most 2^33 elements", name,
                  static_cast<unsigned long long>(value));
}

} // namespace rope
