// The calls of families that this build leaves out, see host/families.cmake, which defines VKROPE_LEAVES_OUT_... for
// this file alone. Each call refuses by naming the option that brings its family back.
#include "rules/refuse.h"

#include <string.h>

namespace rope {
namespace {

struct Family {
    const char* what;
    const char* option;
};

RopeResult refuseFamily(Family family, RopeReason* reason) {
    return refuse(reason, ROPE_ERROR_INVALID, "this build of vkrope leaves out %s; build it with -D%s=ON", family.what,
                  family.option);
}

RopeResult refusePlan(Family family, RopePlan* plan) {
    if (plan == nullptr) return ROPE_ERROR_INVALID;
    memset(plan, 0, sizeof *plan);
    return refuseFamily(family, &plan->reason);
}

} // namespace
} // namespace rope

using namespace rope;

#ifdef VKROPE_LEAVES_OUT_ADDITIONS
static const Family kAdditions = {"positions added to embeddings", "VKROPE_WITH_ADDITIONS"};
RopeResult ropePlanAdd(const RopeAddDescription*, const RopeLimits*, RopePlan* plan) {
    return refusePlan(kAdditions, plan);
}
RopeResult ropeHostRunAdd(const RopeAddDescription*, RopeHostAdd*, RopeReason* reason) {
    return refuseFamily(kAdditions, reason);
}
#endif

#ifdef VKROPE_LEAVES_OUT_BIASES
static const Family kBiases = {"biases on attention scores", "VKROPE_WITH_BIASES"};
RopeResult ropePlanBias(const RopeBiasDescription*, const RopeLimits*, RopePlan* plan) {
    return refusePlan(kBiases, plan);
}
RopeResult ropeWriteBuckets(const RopeBiasDescription*, void*, RopeReason* reason) {
    return refuseFamily(kBiases, reason);
}
uint32_t ropeBucketVectors(uint32_t, uint32_t) { return 0; }
RopeResult ropeHostRunBias(const RopeBiasDescription*, RopeHostBias*, RopeReason* reason) {
    return refuseFamily(kBiases, reason);
}
#endif

#ifdef VKROPE_LEAVES_OUT_RELATIVE
static const Family kRelative = {"relative vectors", "VKROPE_WITH_RELATIVE"};
RopeResult ropePlanRelative(const RopeRelativeDescription*, const RopeLimits*, RopePlan* plan) {
    return refusePlan(kRelative, plan);
}
RopeResult ropeHostRunRelative(const RopeRelativeDescription*, RopeHostRelative*, RopeReason* reason) {
    return refuseFamily(kRelative, reason);
}
#endif

#ifdef VKROPE_LEAVES_OUT_FUSED
static const Family kFused = {"fused passes", "VKROPE_WITH_FUSED"};
RopeResult ropePlanFused(const RopeFusedDescription*, const RopeLimits*, RopePlan* plan) {
    return refusePlan(kFused, plan);
}
RopeResult ropePlanFusedRange(const RopeFusedDescription*, uint32_t, uint32_t, const RopeLimits*,
                              RopePlan plans[ROPE_MAX_RANGE_PLANS], uint32_t* plan_count) {
    if (plan_count == nullptr) return ROPE_ERROR_INVALID;
    *plan_count = 0;
    return refusePlan(kFused, plans);
}
RopeResult ropeWriteParameters(const RopeFusedDescription*, void*, RopeReason* reason) {
    return refuseFamily(kFused, reason);
}
RopeResult ropeHostRunFused(const RopeFusedDescription*, RopeHostFused*, RopeReason* reason) {
    return refuseFamily(kFused, reason);
}
#endif
