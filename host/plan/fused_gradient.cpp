// This file refuses gradients through a norm that no pass makes.
#include "plan/fused.h"

namespace rope {

RopeResult checkGradient(const RopeFusedDescription& given, RopeReason* reason) {
    if (!isGradient(given)) return ROPE_SUCCESS;
    const RopeRotateDescription& r = given.rotate;
    const uint32_t width = r.q.head_dim != 0 ? r.q.head_dim : r.head_dim;
    const char* what = r.k.heads != 0                         ? "k has heads: describe its gradient as q's, in a plan"
                       : given.v.heads != 0                   ? "v has heads: its gradient is another plan's"
                       : given.cache.kind != ROPE_CACHE_NONE  ? "cache.kind is set: leave it 0"
                       : given.biases.given != 0              ? "biases.given is set: leave it 0"
                       : given.clip != 0                      ? "clip is set: leave it 0"
                       : given.query_scale.count != 0         ? "query_scale is set: scale the gradient before"
                       : given.packed != 0                    ? "packed is 1: leave it 0, and give strides"
                       : given.q_norm.kind == ROPE_NORM_LAYER ? "q_norm.kind is LAYER: RMS and L2 have gradients here"
                       : given.q_norm.begin != 0 || (given.q_norm.dim != 0 && given.q_norm.dim != width)
                           ? "q_norm takes a part of the head: leave begin and dim 0"
                       : changesPairing(r) ? "pairing_out is another than pairing_in"
                                           : nullptr;
    if (what == nullptr) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "operation transpose with a norm is the gradient of q alone, but %s",
                  what);
}

} // namespace rope
