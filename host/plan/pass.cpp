// This file counts the bytes, the workgroups and the divisions of a pass.
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
