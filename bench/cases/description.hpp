// The fused pass that does what a rotation does.
#pragma once

#include "plan/description.h"

namespace measure {

inline void setTensor(const RopeTensor& from, RopeElement element, RopeFusedTensor* to) {
    to->heads = from.heads;
    to->from = from.from;
    to->to = rope::cacheLayout(from.to);
    to->element = element;
}

inline void setRotation(const RopeRotateDescription& r, RopeFusedDescription* d) {
    d->batch = r.batch;
    d->tokens = r.tokens;
    d->head_dim = r.head_dim;
    d->element = r.element;
    d->rotation = r.rotation;
    d->positions = r.positions;
    setTensor(r.q, r.element_out, &d->q);
    setTensor(r.k, r.element_out, &d->k);
    d->out_of_place = r.out_of_place;
    d->count_outside = r.count_outside;
    d->tuning = r.tuning;
}

} // namespace measure
