// This file plans relative vectors: ropePlanRelative.
#include "plan/relative.h"
#include "../shaders/modules.h"
#include "plan/element_formats.h"
#include "plan/enumerators.h"
#include "plan/positions.h"
#include "plan/tensor.h"

#include <string.h>

namespace rope {
namespace {

// Describes the vectors of one head. The stride between heads is pair_stride.
RopeAccess vectorAccess(const ResolvedRelative& r) {
    const RopeRows& rows = r.filled.rows;
    return {ROPE_SLOT_ROWS,
            ropeElementBytes(rows.element),
            rows.offset,
            {0, 0, rows.pair_stride},
            (r.row_count - 1) * rows.row_stride + r.filled.dim};
}

void addRelativePass(const ResolvedRelative& r, Planner* planner) {
    const RopeRelativeDescription& g = r.filled;
    const bool keys = g.side == ROPE_RELATIVE_KEYS;
    const RopeShader& shader = keys ? rope_shader_relative_keys : rope_shader_relative_values;
    RopePass* pass = planner->addPass(shader, r.d.batch, g.queries, g.heads);
    RopePush push = {};
    setPositions(r.d.positions, r.d.frequencies, &push, pass);
    pass->access[ROPE_BINDING_COS_SIN] = vectorAccess(r);
    pass->access[ROPE_BINDING_SOURCE] = tensorAccess(ROPE_SLOT_Q, g.q, g.element_q, r.q_count);
    pass->access[ROPE_BINDING_DESTINATION] = tensorAccess(ROPE_SLOT_X, g.x, g.element_x, r.x_count);
    pass->constants[ROPE_ID_ELEMENT_IN] = shaderElement(g.element_q);
    pass->constants[ROPE_ID_ELEMENT_OUT] = shaderElement(g.element_x);
    pass->constants[ROPE_ID_ROWS] = ROPE_ROWS_SINGLE;
    pass->constants[ROPE_ID_ROW_ELEMENT] = shaderElement(g.rows.element);
    pass->constants[ROPE_ID_SCALED] = g.scale != 1;
    const uint32_t elements = keys ? ROPE_RELATIVE_RUN : 2;
    pass->head_lanes = (r.x_count - 1) / elements + 1;
    push.ROPE_KEYS = g.keys;
    push.ROPE_DIM = g.dim;
    push.ROPE_FIRST_KEY = static_cast<uint32_t>(g.first_key);
    push.rows.head = g.rows.pair_stride;
    push.ROPE_ROW_STRIDE = static_cast<uint32_t>(g.rows.row_stride);
    push.ROPE_LEAST = static_cast<uint32_t>(g.least);
    push.ROPE_MOST = g.most;
    memcpy(&push.term_scale, &g.scale, sizeof g.scale);
    writePush(push, pass);
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanRelative(const RopeRelativeDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    Planner planner(limits, plan);
    ResolvedRelative relative;
    const RopeResult result = resolveRelative(*description, &relative, planner.reason());
    if (result != ROPE_SUCCESS) return planner.refused(result);
    addRelativePass(relative, &planner);
    return planner.finish();
}
