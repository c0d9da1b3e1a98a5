// This file splits strides into a fixed part and a part that grows with a length. Strides tell the order of a tensor:
// all heads of a token, or all tokens of a head.
#include "plan/fused/strides.h"
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"
#include "plan/fused/bindings.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

// The strides of a tensor and their counts. The stride of a single sequence may be 0: its tensor is then dense.
struct Order {
    uint64_t batch, token, head;
    uint32_t heads, batches;
    bool packed;
};

bool isByHead(const Order& o) { return o.heads > 1 && o.token != 0 && o.head >= o.token; }

GrownStrides takeApart(const Order& o) {
    GrownStrides s = {o.token, 0, o.heads > 1 ? o.head : 0, 0, 0, 1, {0, o.batches == 1, o.packed}};
    if (isByHead(o)) {
        const uint64_t length = o.head / o.token;
        s.length = {length, false, false};
        s.head_grown = o.token;
        s.head = o.head - o.token * length;
        s.rows = o.batch != 0 ? o.batch / o.head : o.heads;
        s.batch = o.batch != 0 ? o.batch - s.rows * o.token * length : s.rows * s.head;
    } else if (o.batch != 0) {
        s.length.tokens = o.token != 0 ? o.batch / o.token : 0;
        s.batch = o.batch - o.token * s.length.tokens;
    }
    return s;
}

GrownStrides sideStrides(const FusedSide& s, const FusedTensor& t, uint32_t unit) {
    const uint64_t batch = s.given_batch != 0 ? s.given_batch : s.batch_stride;
    return takeApart({batch / unit, s.given_token / unit, s.head_stride / unit, t.heads, t.d.batch, s.packed});
}

} // namespace

GrownStrides sourceStrides(const FusedTensor& t, uint32_t unit) { return sideStrides(t.source, t, unit); }

GrownStrides destinationStrides(const FusedTensor& t, const ResolvedFused& fused, uint32_t unit) {
    if (formatOf(t.d.element_out).scale == ElementScale::kInBlock) unit = ROPE_BLOCK_ELEMENTS;
    if (!t.cached) return sideStrides(t.destination, t, unit);
    const RopeCache& cache = fused.filled.cache;
    const bool paged = cache.page_size != cache.slots, per_sequence = cacheKind(cache).per_sequence;
    const uint32_t caches = per_sequence ? sequencesOf(t.d) : 1;
    const RopeCacheLayout c = {0, t.cache.batch_stride / unit, t.cache.page_stride / unit, t.cache.token_stride / unit,
                               t.cache.head_stride / unit};
    GrownStrides s = paged ? takeApart({c.batch_stride, c.page_stride, 0, 1, caches, false})
                           : takeApart({c.batch_stride, c.token_stride, c.head_stride, t.heads, caches, false});
    if (!per_sequence) s.batch = s.rows = 0; // all sequences have one cache
    if (!paged) return s;
    s.page = s.token;
    s.token = c.token_stride;
    s.head = c.head_stride;
    return s;
}

GrownStrides scaleStrides(const FusedTensor& t, const ResolvedFused& fused, const GrownStrides& elements,
                          uint64_t length) {
    const RopeCacheLayout& c = t.scales;
    const RopeCache& cache = fused.filled.cache;
    const bool paged = cache.page_size != cache.slots;
    const bool by_head = !paged && isByHead({0, c.token_stride, c.head_stride, t.heads, 1, false});
    GrownStrides s = {c.token_stride, c.page_stride, 0, by_head ? c.token_stride : 0, 0, elements.rows, {}};
    s.head = c.head_stride - s.head_grown * length;
    if (c.batch_stride != 0) s.batch = c.batch_stride - s.rows * length * (paged ? c.page_stride : c.token_stride);
    return s;
}

} // namespace rope
#endif
