// This file owns how wide the heads of each tensor of a fused pass are. The rotary part is the same for all, wherever
// it starts.
#include "plan/fused.h"

namespace rope {
namespace {

RopeResult resolveWidth(const char* name, bool turned, const RopeRotateDescription& d, RopeTensor* tensor,
                        RopeReason* reason) {
    if (tensor->heads == 0) return ROPE_SUCCESS;
    if (turned && tensor->head_dim == 0 && tensor->rotary_begin != 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s.rotary_begin is %u and %s.head_dim is 0; give both, or leave both 0 for the description's",
                      name, tensor->rotary_begin, name);
    }
    if (tensor->head_dim == 0) {
        tensor->head_dim = d.head_dim;
        tensor->rotary_begin = d.rotary_begin;
        return ROPE_SUCCESS;
    }
    if (tensor->head_dim > kMaxCount) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s.head_dim is %u; it must be from 1 to %u, or 0", name,
                      tensor->head_dim, kMaxCount);
    }
    if (!turned) tensor->rotary_begin = 0;
    const uint64_t end = uint64_t{tensor->rotary_begin} + d.rotary_dim;
    if (!turned || end <= tensor->head_dim) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "%s.head_dim is %u and %s.rotary_begin is %u; a rotary part of %u elements does not lie in it", name,
                  tensor->head_dim, name, tensor->rotary_begin, d.rotary_dim);
}

} // namespace

RopeResult resolveWidths(RopeFusedDescription* filled, RopeReason* reason) {
    RopeRotateDescription* d = &filled->rotate;
    const bool turned = filled->no_rotation == 0;
    RopeResult result = resolveWidth("q", turned, *d, &d->q, reason);
    if (result == ROPE_SUCCESS) result = resolveWidth("k", turned, *d, &d->k, reason);
    return result != ROPE_SUCCESS ? result : resolveWidth("v", false, *d, &filled->v, reason);
}

} // namespace rope
