// This file counts the bytes, the bindings, the workgroups and the divisions of a pass.
#include "plan/pass.h"

static_assert(sizeof(rope::RopePush) == sizeof(uint32_t) * ROPE_PUSH_WORDS, "push constants are 128 bytes");

namespace rope {

uint64_t spanBytes(const RopeAccess& access, const uint32_t counts[kGridAxes]) {
    uint64_t elements = access.extent;
    for (int axis = 0; axis < kGridAxes; ++axis) {
        if (!addProduct(counts[axis] - 1, access.stride[axis], &elements)) return UINT64_MAX;
    }
    uint64_t bytes = 0;
    return addProduct(elements, access.element_bytes, &bytes) ? bytes : UINT64_MAX;
}

uint32_t boundBindings(const RopePass& pass) {
    uint32_t bound = 0;
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) bound |= static_cast<uint32_t>(pass.access[i].extent != 0) << i;
    return bound;
}

// The shader counts by its bytes, so that a plan has one hash in every process.
uint32_t hashPipeline(const RopePass& pass) {
    static_assert(ROPE_CONSTANT_COUNT % 2 == 0, "two constants are taken at a time");
    uint64_t hash = uint64_t{boundBindings(pass)} << 32 | static_cast<uint32_t>(pass.shader->bytes);
    for (uint32_t i = 0; i < ROPE_CONSTANT_COUNT; i += 2) {
        uint64_t two;
        memcpy(&two, pass.constants + i, sizeof two);
        hash = ((hash << 5 | hash >> 59) ^ two) * 0x9E3779B97F4A7C15u;
    }
    return static_cast<uint32_t>(hash >> 32);
}

uint64_t groupCountX(const RopePass& pass, uint32_t tokens, uint32_t heads) {
    const uint32_t size = pass.group_size;
    const uint64_t token_groups = (static_cast<uint64_t>(tokens) + pass.tokens_per_thread - 1) / pass.tokens_per_thread;
    return (token_groups * lanesPerToken(pass, heads) + size - 1) / size;
}

Divisor makeDivisor(uint32_t divisor) {
    uint32_t shift = 0;
    while ((1ull << shift) < divisor) ++shift;
    const uint64_t magic = ((1ull << (31 + shift)) + divisor - 1) / divisor;
    return {static_cast<uint32_t>(magic), shift};
}

} // namespace rope
