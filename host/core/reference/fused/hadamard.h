// A stage on the CPU: blocks of a head are multiplied by Hadamard's matrix over the root of their elements. The factor
// comes first, and then butterflies of rising distances, as ggml has them.
#pragma once

#include "plan/fused/hadamard.h"
#include "reference/fused/head.h"

#include <math.h>

namespace rope {

inline void transform(const HeadWork& h, RopePairing pairing, HeadRun* run) {
    const FusedTensor& t = h.w.t;
    if (!t.takes(ROPE_STAGE_HADAMARD)) return;
    const uint32_t block = 1u << blockBits(t);
    const double root = 1 / sqrt(static_cast<double>(block));
    ElementValue x[kMaxVectorHead]; // as they lie in the head
    for (uint32_t i = 0; i < run->count; ++i)
        x[placeOf(t, *run, pairing, i)] = scaledValue(run->x[i], root, static_cast<float>(root));
    for (uint32_t distance = 1; distance < block; distance *= 2) {
        for (uint32_t e = 0; e < run->count; ++e) {
            if ((e & distance) != 0) continue;
            const ElementValue u = x[e], v = x[e + distance];
            x[e] = raisedValue(u, v.reference, floatOf(v.bits));
            x[e + distance] = raisedValue(u, -v.reference, -floatOf(v.bits));
        }
    }
    for (uint32_t i = 0; i < run->count; ++i) run->x[i] = x[placeOf(t, *run, pairing, i)];
}

} // namespace rope
