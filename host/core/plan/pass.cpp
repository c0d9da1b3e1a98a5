// This file counts the bytes, the bindings, the workgroups and the divisions of a pass.
#include "plan/pass.h"

static_assert(sizeof(rope::RopePush) == sizeof(uint32_t) * ROPE_PUSH_WORDS &&
                  sizeof(rope::RopeRotatePush) == sizeof(rope::RopePush) &&
                  sizeof(rope::RopeFusedPush) == sizeof(rope::RopePush),
              "push constants are 128 bytes");

namespace rope {

uint64_t spanBytes(const PassAccess& access, const uint32_t counts[kGridAxes]) {
    uint64_t elements = access.extent;
    for (int axis = 0; axis < kGridAxes; ++axis)
        if (!addProduct(counts[axis] - 1, access.stride[axis], &elements)) return UINT64_MAX;
    uint64_t bytes = 0;
    return addProduct(elements, access.element_bytes, &bytes) ? bytes : UINT64_MAX;
}

// The shader counts by its bytes, so that a plan has one hash in every process.
static uint32_t hashPipeline(const PlanPass& pass) {
    static_assert(ROPE_CONSTANT_COUNT % 2 == 0, "two constants are taken at a time");
    uint64_t hash = uint64_t{pass.bindings} << 32 | static_cast<uint32_t>(pass.shader->bytes);
    for (uint32_t i = 0; i < ROPE_CONSTANT_COUNT; i += 2) {
        uint64_t two;
        memcpy(&two, pass.constants + i, sizeof two);
        hash = ((hash << 5 | hash >> 59) ^ two) * 0x9E3779B97F4A7C15u;
    }
    return static_cast<uint32_t>(hash >> 32);
}

void finishPass(uint32_t index, RopePlan* plan) {
    PlanPass& pass = passAt(*plan, index);
    pass.bindings = boundBindings(pass);
    uint64_t parts = 1;
    for (const uint32_t count : pass.parts) parts = parts * count <= UINT32_MAX ? parts * count : UINT32_MAX;
    pass.dispatches = static_cast<uint32_t>(parts);
    pass.pipeline_hash = hashPipeline(pass);
    plan->passes[index] = pass;
}

bool haveSamePipelines(const RopePlan& a, const RopePlan& b) {
    for (uint32_t i = 0; i < a.pass_count && i < b.pass_count; ++i) {
        const PlanPass &first = passAt(a, i), &second = passAt(b, i);
        if (first.shader != second.shader || first.bindings != second.bindings ||
            memcmp(first.constants, second.constants, sizeof first.constants) != 0)
            return false;
    }
    return a.pass_count == b.pass_count;
}

uint64_t groupCountX(const PlanPass& pass, uint32_t tokens) {
    const uint64_t taken = uint64_t{pass.group[2]} * pass.tokens_per_thread;
    return (tokens + taken - 1) / taken;
}

uint64_t groupCountZ(const PlanPass& pass, uint32_t heads) {
    const uint64_t blocks = pass.blocks != 0
                                ? pass.blocks
                                : (static_cast<uint64_t>(heads) + pass.heads_per_thread - 1) / pass.heads_per_thread;
    return (blocks + pass.group[1] - 1) / pass.group[1] * pass.lane_parts;
}

void setGroup(uint32_t x, uint32_t y, uint32_t z, PlanPass* pass) {
    pass->group[0] = pass->constants[ROPE_ID_GROUP_SIZE] = x;
    pass->group[1] = pass->constants[ROPE_ID_GROUP_BLOCKS] = y;
    pass->group[2] = pass->constants[ROPE_ID_GROUP_TOKENS] = z;
    pass->group_size = x * y * z;
    pass->lane_parts = 1;
}

} // namespace rope
