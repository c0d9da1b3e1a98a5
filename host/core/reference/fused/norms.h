// A stage on the CPU: norms.
#pragma once

#include "reference/fused/head.h"

#include <math.h>

namespace rope {

// Returns the place of an element among those that the norm takes, or more than they are.
inline uint32_t placeInNorm(const FusedTensor& t, const HeadRun& run, uint32_t i) {
    const RopePairing met = t.norm.after != 0 ? t.d.rotation.pairing_out : t.d.rotation.pairing;
    return placeOf(t, run, met, i) - t.norm.begin;
}

// Returns the sum of a head's squares, and of a norm that takes means the mean.
inline Factor sumOfHead(const FusedTensor& t, const HeadRun& run, Factor* mean) {
    const RopeNorm& norm = t.norm;
    ElementValue values[kMaxVectorHead]; // in the order of the sum
    for (uint32_t i = 0; i < run.count; ++i) {
        const uint32_t place = placeInNorm(t, run, i);
        if (place < norm.dim) values[place] = run.x[i];
    }
    if (norm.kind == ROPE_NORM_LAYER) {
        *mean = meanOf(sumOfElements(values, norm.dim), norm.dim);
        for (uint32_t e = 0; e < norm.dim; ++e) values[e] = raisedValue(values[e], -mean->reference, -mean->float32);
    }
    return sumOfSquares(values, norm.dim);
}

inline Factor normFactor(const FusedTensor& t, const Factor& sum) {
    const RopeNorm& norm = t.norm;
    const uint32_t all = (norm.all_heads != 0 ? t.heads : 1) * norm.dim;
    const Factor mean = meanOf(sum, norm.kind == ROPE_NORM_L2 ? 1 : all);
    return {1.0 / sqrt(mean.reference + static_cast<double>(norm.epsilon)),
            reciprocalRoot(mean.float32 + norm.epsilon)};
}

// Multiplies an element by its weight and adds its bias, if there are any.
inline ElementValue weighed(const HeadWork& h, uint32_t place, const ElementValue& value) {
    const RopeNorm& norm = h.w.t.norm;
    if (norm.no_weights != 0) return value;
    const uint64_t at = h.number * norm.weights_head_stride + place;
    const uint64_t in_buffer = norm.weights_offset + h.token.in_batch * norm.weights_token_stride + at;
    const float given =
        norm.weights != nullptr ? norm.weights[at] : readElement(h.w.weights, norm.weights_element, in_buffer);
    const float plus = norm.weight_plus;
    const ElementValue x =
        scaledValue(value, double{given} + double{plus}, plus != 0 ? given + plus : given); // -0 stays
    return norm.biases != nullptr ? raisedValue(x, norm.biases[at], norm.biases[at]) : x;
}

inline void normRun(const HeadWork& h, HeadRun* run) {
    const FusedTensor& t = h.w.t;
    if (!isNormed(t)) return;
    Factor mean = {};
    const Factor sum = t.norm.all_heads != 0 ? h.sum : sumOfHead(t, *run, &mean);
    const Factor factor = normFactor(t, sum);
    for (uint32_t i = 0; i < run->count; ++i) {
        ElementValue& x = run->x[i];
        const uint32_t place = placeInNorm(t, *run, i);
        const bool normed = place < t.norm.dim;
        if (normed && t.norm.kind == ROPE_NORM_LAYER) x = raisedValue(x, -mean.reference, -mean.float32);
        x = normed ? weighed(h, place, scaledValue(x, factor.reference, factor.float32))
                   : ElementValue{x.reference, x.bits};
    }
}

} // namespace rope
