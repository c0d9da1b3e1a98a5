// A stage on the CPU: the rotation.
#pragma once

#include "reference/fused/head.h"

namespace rope {

inline void turn(const HeadWork& h, HeadRun* run) {
    const uint32_t paired = pairedElements(h.w.t);
    if (!h.token.turns) return;
    for (uint32_t i = 0; i < run->count && run->first + i < paired; i += 2) {
        const uint32_t pair = (run->first + i) / 2;
        CosSin cos_sin;
        const bool kept = pair < kMaxVectorHead / 2;
        if (!kept) findCosSin(h.w.rotation, h.token.number, h.token.turning, pair, &cos_sin);
        turnPair(h.w.rotation, kept ? h.token.cos_sin[pair] : cos_sin, &run->x[i]);
    }
}

} // namespace rope
