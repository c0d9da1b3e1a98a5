// This file plans a division of frequencies by factors that lie on the device: ropePlanFactors.
#include "plan/enumerators.h"
#include "plan/frequencies.h"
#include "plan/pass.h"
#include "plan/planner.h"
#include "shaders/modules.h"

using namespace rope;

namespace {

constexpr uint32_t kFactorsGroup = 64; // threads, one for each pair

RopeResult checkFactors(const RopeFactorsDescription& d, RopeFactorsDescription* checked, RopeReason* reason) {
    *checked = d;
    RopeResult result = checkPairCount("count", d.count, reason);
    if (result == ROPE_SUCCESS) result = checkSetCount("sets", d.sets, reason);
    return result == ROPE_SUCCESS ? checkChoice("angle", d.angle, ROPE_ANGLE_COMPATIBLE, reason) : result;
}

RopeResult addFactorsPass(const RopeFactorsDescription& d, Planner* planner) {
    // A token is a pair, and a sequence is a set.
    PlanPass* pass = planner->addPass(rope_shader_factors, d.sets > 1 ? d.sets : 1, d.count, 1);
    setGroup(1, 1, pass->group_size < kFactorsGroup ? pass->group_size : kFactorsGroup, pass);
    pass->constants[ROPE_ID_ANGLE] = shaderNumber(d.angle);
    pass->access[ROPE_BINDING_COS_SIN] = {ROPE_SLOT_FREQUENCIES, 16, 0, {d.count, 1, 0}, 1};
    pass->access[ROPE_BINDING_SOURCE] = {ROPE_SLOT_FACTORS, sizeof(float), d.offset, {0, 1, 0}, 1};
    pass->access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_FREQUENCIES_OUT, 16, 0, {d.count, 1, 0}, 1};
    return ROPE_SUCCESS;
}

} // namespace

RopeResult ropePlanFactors(const RopeFactorsDescription* description, const RopeLimits* limits, RopePlan* plan) {
    return planDescription(description, limits, plan, checkFactors, addFactorsPass);
}
