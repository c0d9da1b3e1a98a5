// A stage on the CPU: queries are multiplied by a value of their position.
#pragma once

#include "reference/fused/head.h"

namespace rope {

inline void scaleQueries(const HeadWork& h, HeadRun* run) {
    if (!h.w.t.takes(ROPE_STAGE_SCALE)) return;
    const RopeQueryScale& scale = h.w.fused.filled.query_scale;
    const HostToken& standing = h.token.standing;
    int64_t at = (standing.position[0] >> 32) + scale.offset;
    at = standing.placed && standing.known && at > 0 ? at / scale.interval : 0;
    const float value = scale.values[at < scale.count ? at : scale.count - 1];
    for (uint32_t i = 0; i < run->count; ++i) run->x[i] = scaledValue(run->x[i], value, value);
}

} // namespace rope
