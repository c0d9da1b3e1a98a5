#include "baselines.hpp"
#include "bench.hpp"

#include "../host/plan.h"

extern "C" {
#define ROPE_SHADER(name, file, needs, defines) extern const RopeShader rope_shader_##name;
#include "list.def"
#undef ROPE_SHADER
}

RopePlan negatePlan(const RopePlan& rotation, bool loads) {
    RopePlan plan = rotation;
    for (uint32_t i = 0; i < plan.pass_count; ++i)
        plan.passes[i].shader = loads ? &rope_shader_loads : &rope_shader_negate;
    return plan;
}

RopePlan copyPlan(uint64_t bytes, uint32_t vectors, const RopeLimits& limits) {
    const RopeShader& shader = vectors == 1   ? rope_shader_copy_1
                               : vectors == 2 ? rope_shader_copy_2
                               : vectors == 4 ? rope_shader_copy_4
                                              : rope_shader_copy_8;
    RopePlan plan;
    rope::Planner planner(&limits, &plan);
    RopePass* pass = planner.addPass(shader, 1, static_cast<uint32_t>(bytes / 16 / vectors), 1);
    rope::RopePush push = {};
    push.head_lanes = 1;
    rope::writePush(push, pass);
    pass->access[ROPE_BINDING_SOURCE] = {ROPE_SLOT_Q, 16, 0, {0, vectors, 0}, vectors};
    pass->access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_Q_OUT, 16, 0, {0, vectors, 0}, vectors};
    if (planner.finish() != ROPE_SUCCESS) fail(plan.reason.text);
    return plan;
}

RopePlan emptyPlan(const RopePlan& like) {
    RopePlan plan = like;
    plan.pass_count = 1;
    RopePass& pass = plan.passes[0];
    pass.shader = &rope_shader_empty;
    for (int axis = 0; axis < 3; ++axis) pass.count[axis] = pass.step[axis] = pass.parts[axis] = 1;
    return plan;
}
