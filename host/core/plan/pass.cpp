// This file counts the bytes, the bindings, the workgroups and the divisions of a pass.
#include "plan/pass.h"

static_assert(sizeof(rope::RopePush) == sizeof(uint32_t) * ROPE_PUSH_WORDS &&
                  sizeof(rope::RopeRotatePush) == sizeof(rope::RopePush) &&
                  sizeof(rope::RopeFusedPush) == sizeof(rope::RopePush),
              "push constants are 128 bytes");
static_assert(offsetof(RopePass, access) == offsetof(RopePass, facts) + sizeof(RopePassFacts) &&
                  offsetof(RopePassFacts, to_begin) == offsetof(RopePassFacts, from_begin) + 3 * sizeof(uint64_t),
              "plans are compared as bytes, and a copied structure need not keep padding");

namespace rope {

uint64_t spanBytes(const RopeAccess& access, const uint32_t counts[kGridAxes]) {
    uint64_t elements = access.extent;
    for (int axis = 0; axis < kGridAxes; ++axis)
        if (!addProduct(counts[axis] - 1, access.stride[axis], &elements)) return UINT64_MAX;
    uint64_t bytes = 0;
    return addProduct(elements, access.element_bytes, &bytes) ? bytes : UINT64_MAX;
}

// The shader counts by its bytes, so that a plan has one hash in every process.
uint32_t hashPipeline(const RopePass& pass) {
    static_assert(ROPE_CONSTANT_COUNT % 2 == 0, "two constants are taken at a time");
    uint64_t hash = uint64_t{pass.bindings} << 32 | static_cast<uint32_t>(pass.shader->bytes);
    for (uint32_t i = 0; i < ROPE_CONSTANT_COUNT; i += 2) {
        uint64_t two;
        memcpy(&two, pass.constants + i, sizeof two);
        hash = ((hash << 5 | hash >> 59) ^ two) * 0x9E3779B97F4A7C15u;
    }
    return static_cast<uint32_t>(hash >> 32);
}

bool haveSamePipelines(const RopePlan& a, const RopePlan& b) {
    for (uint32_t i = 0; i < a.pass_count && i < b.pass_count; ++i) {
        const RopePass &first = a.passes[i], &second = b.passes[i];
        if (first.shader != second.shader || first.bindings != second.bindings ||
            memcmp(first.constants, second.constants, sizeof first.constants) != 0)
            return false;
    }
    return a.pass_count == b.pass_count;
}

uint64_t groupCountX(const RopePass& pass, uint32_t tokens) {
    const uint64_t taken = uint64_t{pass.group[2]} * pass.tokens_per_thread;
    return (tokens + taken - 1) / taken;
}

uint64_t groupCountZ(const RopePass& pass, uint32_t heads) {
    const uint64_t blocks = pass.blocks != 0
                                ? pass.blocks
                                : (static_cast<uint64_t>(heads) + pass.heads_per_thread - 1) / pass.heads_per_thread;
    return (blocks + pass.group[1] - 1) / pass.group[1] * pass.lane_parts;
}

void setGroup(uint32_t x, uint32_t y, uint32_t z, RopePass* pass) {
    pass->group[0] = pass->constants[ROPE_ID_GROUP_SIZE] = x;
    pass->group[1] = pass->constants[ROPE_ID_GROUP_BLOCKS] = y;
    pass->group[2] = pass->constants[ROPE_ID_GROUP_TOKENS] = z;
    pass->group_size = x * y * z;
    pass->lane_parts = 1;
}

} // namespace rope
