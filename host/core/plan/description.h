// A rotation and a fused pass have members in common. These functions take them from the pass.
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

} // namespace rope
