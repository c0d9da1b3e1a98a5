// A stage on the CPU: elements are limited as they are loaded. NaN stays.
#pragma once

#include "reference/fused/head.h"

#include <math.h>

namespace rope {

inline void clip(const HeadWork& h, HeadRun* run) {
    if (!h.w.t.takes(ROPE_STAGE_CLIP)) return;
    const float clip = h.w.fused.filled.clip;
    for (uint32_t i = 0; i < run->count; ++i) {
        ElementValue& x = run->x[i];
        const uint32_t size = x.bits & 0x7FFFFFFFu;
        const bool limited = size > bitsOf(clip) && size <= 0x7F800000u;
        const double most = x.reference < 0 ? -static_cast<double>(clip) : clip;
        x = {fabs(x.reference) > static_cast<double>(clip) ? most : x.reference,
             limited ? (x.bits & 0x80000000u) | bitsOf(clip) : x.bits};
    }
}

} // namespace rope
