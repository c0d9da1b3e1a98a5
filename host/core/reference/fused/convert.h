// The first and the last stage on the CPU: elements are widened to float32, and become what the destination holds.
#pragma once

#include "reference/fused/head.h"
#include "reference/quantize.h"

namespace rope {

inline HeadPlace placeInCache(const HeadWork& h) {
    const FusedTensor& t = h.w.t;
    return {h.w.arrays.out, h.token.to + h.number * t.cache.head_stride,
            h.token.scale + h.number * t.scales.head_stride, h.number, &t.given_scale};
}

inline void load(const HeadWork& h, HeadRun* run) {
    const FusedTensor& t = h.w.t;
    const RopePairing pairing = t.d.rotation.pairing;
    if (isShifted(t) && isForCaches(t)) {
        ElementValue values[kMaxVectorHead];
        readCacheHead(t.d.element_out, placeInCache(h), values, t.d.head_dim);
        for (uint32_t i = 0; i < run->count; ++i) run->x[i] = values[placeOf(t, *run, pairing, i)];
        return;
    }
    const uint64_t from = h.token.from + h.number * (isShifted(t) ? t.cache.head_stride : t.source.head_stride);
    for (uint32_t i = 0; i < run->count; ++i) run->x[i] = loadValue(h.w.arrays, from + placeOf(t, *run, pairing, i));
}

inline void store(const HeadWork& h, const HeadRun& run) {
    const FusedTensor& t = h.w.t;
    const TensorArrays& arrays = h.w.arrays;
    const uint64_t to = h.token.to + h.number * (t.cached ? t.cache.head_stride : t.destination.head_stride);
    ElementValue values[kMaxVectorHead];
    for (uint32_t i = 0; i < run.count; ++i) {
        const uint32_t place = placeOf(t, run, t.d.rotation.pairing_out, i);
        if (!isForCaches(t)) {
            storeValue(arrays, to + place, run.x[i]);
            continue;
        }
        values[place] = run.x[i];
        if (arrays.reference != nullptr) arrays.reference[to + place] = run.x[i].reference;
    }
    if (isForCaches(t) && arrays.out != nullptr) storeCacheHead(t.d.element_out, placeInCache(h), values, t.d.head_dim);
}

} // namespace rope
