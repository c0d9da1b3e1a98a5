// A stage on the CPU: the projection's biases are added to elements as they are loaded.
#pragma once

#include "reference/fused/head.h"

namespace rope {

inline void addBiases(const HeadWork& h, HeadRun* run) {
    const FusedTensor& t = h.w.t;
    if (!t.takes(ROPE_STAGE_BIASES)) return;
    const uint64_t first = t.bias_offset + uint64_t{h.number} * t.d.head_dim;
    for (uint32_t i = 0; i < run->count; ++i) {
        const uint32_t place = placeOf(t, *run, t.d.rotation.pairing, i);
        const float bias = readElement(h.w.biases, h.w.fused.filled.bias_element, first + place);
        run->x[i] = raisedValue(run->x[i], bias, bias);
    }
}

} // namespace rope
