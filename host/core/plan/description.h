// A rotation and a fused pass have members in common. These functions take them from one to the other.
#pragma once

#include <vkrope/rope.h>

namespace rope {

// A cache's layout without pages, and a layout that has none.
inline RopeCacheLayout cacheLayout(const RopeLayout& l) {
    return {l.offset, l.batch_stride, 0, l.token_stride, l.head_stride};
}
inline RopeLayout layoutOf(const RopeCacheLayout& l) {
    return {l.offset, l.batch_stride, l.token_stride, l.head_stride};
}

inline RopeTensor tensorOf(const RopeFusedTensor& t) { return {t.heads, t.from, layoutOf(t.to)}; }

// Returns the rotation of Q and K.
inline RopeRotateDescription rotationOf(const RopeFusedDescription& d) {
    const RopeElement out = d.q.heads != 0 ? d.q.element : d.k.element;
    return {d.batch,       d.tokens,      d.head_dim,     d.element,       out,     d.rotation, d.positions,
            tensorOf(d.q), tensorOf(d.k), d.out_of_place, d.count_outside, d.tuning};
}

inline void setTensor(const RopeTensor& from, RopeElement element, RopeFusedTensor* to) {
    to->heads = from.heads;
    to->from = from.from;
    to->to = cacheLayout(from.to);
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

} // namespace rope
