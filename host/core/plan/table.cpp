// This file plans a table of cos and sin: ropePlanTable.
#include "plan/enumerators.h"
#include "plan/frequencies.h"
#include "plan/pass.h"
#include "plan/planner.h"
#include "plan/positions.h"
#include "plan/resolve.h"
#include "plan/rows.h"
#include "plan/scale.h"
#include "shaders/modules.h"
#include "shaders/numbers/angle.h"

using namespace rope;

namespace {

constexpr uint32_t kTableGroup = 64; // threads, one for each pair of a row

RopeResult addTablePass(const RopeTableDescription& d, Planner* planner) {
    const uint32_t pairs = d.frequencies.count;
    const uint64_t stride = d.rows.row_stride;
    PlanPass* pass = planner->addPass(rope_shader_table, d.batch, d.tokens, 1);
    const uint32_t most = planner->limits().group_size < kTableGroup ? planner->limits().group_size : kTableGroup;
    const uint32_t in_group = pairs < most ? pairs : most;
    setGroup(in_group, 1, most / in_group, pass);
    pass->lane_parts = (pairs + in_group - 1) / in_group;
    pass->constants[ROPE_ID_PAIR_COUNTS] = pairs;
    pass->constants[ROPE_ID_ANGLE] = shaderNumber(d.angle);
    RopePush common = {};
    setPositions({d.positions, d.frequencies}, &common, pass);
    pass->access[ROPE_BINDING_COS_SIN] = frequencyAccess(d.frequencies);
    PassAccess& rows = pass->access[ROPE_BINDING_DESTINATION];
    rows = rowAccess(d.rows, pairs);
    rows.stride[0] = d.tokens * stride;
    rows.stride[1] = stride;
    const SplitScale scale = splitScale(d.frequencies.scale);
    pass->constants[ROPE_ID_SCALE_GRID] = scale_grid(scale.mantissa, scale.exponent);
    setRowWords(d.rows, &common);
    common.scale_mantissa = scale.mantissa;
    common.scale_exponent = scale.exponent;
    RopeTablePush push = familyPush<RopeTablePush>(common);
    push.row_copy = d.rows.copy_offset;
    writePush(push, pass);
    return ROPE_SUCCESS;
}

} // namespace

RopeResult ropePlanTable(const RopeTableDescription* description, const RopeLimits* limits, RopePlan* plan) {
    return planDescription(description, limits, plan, resolveTable, addTablePass);
}
