#include "bench/cases/baselines.hpp"

#include "plan/pass.h"

#include <algorithm>

extern "C" {
#define ROPE_SHADER(name, file, family, needs, defines) extern const RopeShader rope_shader_##name;
#include "bench/cases/list.def"
#undef ROPE_SHADER
}

namespace measure {

static const char kCopyPrefix[] = "copy_";

RopePlan negatePlan(const RopePlan& rotation) {
    RopePlan plan = rotation;
    for (uint32_t i = 0; i < plan.pass_count; ++i) {
        rope::passAt(plan, i).shader = &rope_shader_negate;
        rope::finishPass(i, &plan);
    }
    return plan;
}

// Parts are as large as a binding and a dispatch allow, and begin at whole groups.
RopePlan copyPlan(uint64_t bytes, uint32_t vectors, const RopeLimits& limits) {
    const RopeShader& shader = vectors == 1   ? rope_shader_copy_1
                               : vectors == 2 ? rope_shader_copy_2
                               : vectors == 4 ? rope_shader_copy_4
                                              : rope_shader_copy_8;
    const uint32_t group = std::min(64u, limits.group_size);
    const auto threads = static_cast<uint32_t>(bytes / 16 / vectors);
    const uint64_t bound = limits.storage_range / 16 / vectors / group, dispatched = limits.group_count[0];
    RopePlan plan = {};
    plan.pass_count = 1;
    plan.version = ROPE_VERSION;
    plan.limits.storage_alignment = limits.storage_alignment;
    plan.bytes[ROPE_SLOT_Q] = plan.bytes[ROPE_SLOT_Q_OUT] = bytes;
    rope::PlanPass& pass = rope::passAt(plan, 0);
    pass.shader = &shader;
    pass.group[0] = pass.constants[ROPE_ID_GROUP_SIZE] = pass.group_size = group;
    pass.group[1] = pass.constants[ROPE_ID_GROUP_BLOCKS] = 1;
    pass.group[2] = pass.constants[ROPE_ID_GROUP_TOKENS] = pass.lane_parts = 1;
    pass.tokens_per_thread = group; // vectors in x
    pass.heads_per_thread = pass.address_unit = 1;
    for (uint32_t axis = 0; axis < rope::kGridAxes; ++axis) pass.count[axis] = pass.step[axis] = pass.parts[axis] = 1;
    pass.count[1] = threads;
    pass.step[1] = static_cast<uint32_t>(std::min<uint64_t>(threads, std::min(bound, dispatched) * group));
    pass.parts[1] = (threads + pass.step[1] - 1) / pass.step[1];
    pass.access[ROPE_BINDING_SOURCE] = {ROPE_SLOT_Q, 16, 0, {0, vectors, 0}, vectors};
    pass.access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_Q_OUT, 16, 0, {0, vectors, 0}, vectors};
    rope::finishPass(0, &plan);
    return plan;
}

void addCopies(BufferCopies* copies, const RopeBuffers& slots, uint64_t bytes, double share, const RopeLimits& limits,
               std::vector<Contestant>* contestants) {
    for (const uint32_t vectors : {1u, 2u, 4u, 8u})
        contestants->push_back(
            {kCopyPrefix + std::to_string(vectors), copies->work({copyPlan(bytes, vectors, limits)}, {slots}), share});
    contestants->push_back({"CopyBuffer", copies->copyCommand(slots, bytes), share});
}

bool isCopyKernel(const std::string& contestant) {
    return contestant.compare(0, sizeof kCopyPrefix - 1, kCopyPrefix) == 0;
}

RopePlan sumPlan(uint64_t bytes, const RopeLimits& limits) {
    RopePlan plan = copyPlan(bytes, 1, limits);
    rope::passAt(plan, 0).shader = &rope_shader_sum;
    rope::finishPass(0, &plan);
    return plan;
}

RopePlan emptyPlan(const RopePlan& like) {
    RopePlan plan = like;
    plan.pass_count = 1;
    rope::PlanPass& pass = rope::passAt(plan, 0);
    pass.shader = &rope_shader_empty;
    pass.blocks = 0; // one group, whatever the rotation takes
    pass.lane_parts = 1;
    for (uint32_t axis = 0; axis < rope::kGridAxes; ++axis) pass.count[axis] = pass.step[axis] = pass.parts[axis] = 1;
    rope::finishPass(0, &plan);
    return plan;
}

} // namespace measure
