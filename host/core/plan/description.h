// A rotation and a fused pass have members in common. These functions take them from one to the other.
#pragma once

#include <vkrope/rope.h>

namespace rope {

inline RopeRotateDescription rotationOf(const RopeFusedDescription& d) {
    return {d.batch,     d.tokens, d.head_dim, d.element,      d.element_out,   d.rotation,
            d.positions, d.q,      d.k,        d.out_of_place, d.count_outside, d.tuning};
}

inline void setRotation(const RopeRotateDescription& r, RopeFusedDescription* d) {
    d->batch = r.batch;
    d->tokens = r.tokens;
    d->head_dim = r.head_dim;
    d->element = r.element;
    d->element_out = r.element_out;
    d->rotation = r.rotation;
    d->positions = r.positions;
    d->q = r.q;
    d->k = r.k;
    d->out_of_place = r.out_of_place;
    d->count_outside = r.count_outside;
    d->tuning = r.tuning;
}

} // namespace rope
