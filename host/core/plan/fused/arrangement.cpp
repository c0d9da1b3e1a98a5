// This file decides which tensors of a fused pass share a dispatch. They share it if their threads are cut alike, and
// if the numbers that are no fields of a record are theirs alike.
#include "plan/fused/arrangement.h"
#include "plan/fused/bindings.h"
#include "plan/fused/groups.h"
#include "plan/fused/hadamard.h"
#include "plan/fused/norms.h"
#include "plan/fused/strides.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

// A dispatch has one quantized format, in which its scales are found or given. Floats may lie beside it.
bool haveLikeFormats(const FusedTensor& a, const FusedTensor& b) {
    if (!isForCaches(a) || !isForCaches(b)) return true;
    return a.d.element_out == b.d.element_out && a.d.head_dim == b.d.head_dim &&
           (a.given_scale.count != 0) == (b.given_scale.count != 0);
}

// K and V have one length on each side.
bool haveLikeLengths(const FusedGroup& group) {
    if (!group.has(kK) || !group.has(kV)) return true;
    const FusedTensor &k = *group.tensors[kK], &v = *group.tensors[kV];
    const uint32_t unit = addressUnit(group.variant);
    return isOneLength(sourceStrides(k, unit).length, sourceStrides(v, unit).length) &&
           isOneLength(destinationStrides(k, *group.fused, unit).length,
                       destinationStrides(v, *group.fused, unit).length);
}

// Joins two dispatches if the device can carry out both in one.
bool join(const FusedGroup& a, const FusedGroup& b, const RopeLimits& limits, FusedGroup* both) {
    if (a.isEmpty() || b.isEmpty()) return false;
    *both = {a.fused, {}, {}, {}, {}, 0, 0, 0, {}, {}, {}, {}};
    for (const FusedRole role : kFusedRoles) both->tensors[role] = a.has(role) ? a.tensors[role] : b.tensors[role];
    for (const FusedTensor* x : a.tensors) {
        for (const FusedTensor* y : b.tensors) {
            if (x == nullptr || y == nullptr) continue;
            if (!canNormTogether(*x, *y) || !canTransformTogether(*x, *y) || !haveLikeFormats(*x, *y)) return false;
        }
    }
    if (!chooseLanes(limits, both) || !haveLikeLengths(*both) || !cutThreads(limits, both)) return false;
    bindTensors(both);
    return countBuffers(*both) <= limits.storage_buffers && !exceedsBinding(*both, limits);
}

} // namespace

RopeResult arrange(const ResolvedFused& fused, const RopeLimits& limits, FusedArrangement* arrangement,
                   RopeReason* reason) {
    FusedGroup groups[3] = {}, both;
    for (uint32_t i = 0; i < fused.count; ++i) {
        const FusedTensor& t = fused.tensors[i];
        FusedGroup& group = groups[t.role];
        group.fused = &fused;
        if (isIdle(t)) continue;
        group.tensors[t.role] = &t;
        const bool any_place = (limits.enabled & ROPE_ENABLED_STORAGE_16) != 0;
        const RopeResult result = any_place ? ROPE_SUCCESS : checkWholeWords(t, reason);
        if (result != ROPE_SUCCESS) return result;
        if (!chooseLanes(limits, &group) || !cutThreads(limits, &group)) return refuseThreads(group, limits, reason);
        bindTensors(&group);
    }
    if (join(groups[kK], groups[kV], limits, &both)) {
        groups[kK] = both;
        groups[kV] = {};
    }
    if (takesTensorsTogether(limits) && groups[kK].has(kK) && join(groups[kQ], groups[kK], limits, &both)) {
        groups[kK] = both;
        groups[kQ] = {};
    }
    arrangement->count = 0;
    for (const FusedGroup& group : groups)
        if (!group.isEmpty()) arrangement->groups[arrangement->count++] = group;
    return ROPE_SUCCESS;
}

} // namespace rope
#endif
