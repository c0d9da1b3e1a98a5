// A stage of fused passes: blocks of heads are multiplied by Hadamard's matrix. Its refusals, and which butterflies are
// a lane's own.
//
// To change the blocks: shaders/fused/hadamard.glsl, this file and host/core/reference/fused/hadamard.h.
#include "plan/fused/hadamard.h"
#include "plan/fused/record.h"
#include "plan/pairing.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

constexpr uint32_t kLeastBlock = 16, kMostBlock = 512;

RopeResult checkBlock(const char* name, const RopeFusedTensor& t, RopeReason* reason) {
    const uint32_t block = t.hadamard;
    if (block == 0 || t.heads == 0) return ROPE_SUCCESS;
    const bool normed = t.norm.kind != ROPE_NORM_NONE;
    const RefusalRow refusals[] = {
        invalid(block < kLeastBlock || block > kMostBlock || (block & (block - 1)) != 0,
                "%s.hadamard is %u; it must be a power of two from %u to %u, or 0", block, kLeastBlock, kMostBlock),
        invalid(t.head_dim % block != 0,
                "%s.hadamard is %u, and %s has heads of %u elements, which are no whole blocks", block, t.head_dim),
        invalid(normed && ((t.norm.begin | t.norm.dim) & (block - 1)) != 0,
                "%s.norm takes %u elements from %u on, and %s.hadamard is %u; a norm takes whole blocks", t.norm.dim,
                t.norm.begin, block),
    };
    return refuseByFirst(refusals, reason, name);
}

// True if all lanes of a tensor hold eight elements side by side, in two vectors of float32.
bool liesSideBySide(const FusedGroup& group, const FusedTensor& t) {
    const TensorLanes& lanes = group.lanes[t.role];
    if (group.stages.relayed != 0) return true;
    if (lanes.paired && liesInChunks(t.d.rotation.pairing_out)) return false;
    return lanes.rotary_begin % 8 == 0 && lanes.copied % 8 == 0;
}

// True if the two runs of each lane are the halves of a block, which is the head.
bool holdsHalves(const FusedGroup& group, const FusedTensor& t) {
    const TensorLanes& lanes = group.lanes[t.role];
    const RopeRotation& r = t.d.rotation; // a tensor that does not rotate keeps the pairing that it is read by
    return group.stages.relayed == 0 && lanes.paired && lanes.copied == 0 && liesInChunks(r.pairing_out) &&
           r.chunk_dim == t.d.head_dim && 1u << blockBits(t) == t.d.head_dim;
}

} // namespace

uint32_t hadamardStage(uint32_t block) {
    uint32_t bits = 0;
    while (block >> (bits + 1) != 0) ++bits;
    return bits << ROPE_TENSOR_HADAMARD;
}

RopeResult checkHadamard(const RopeFusedDescription& filled, RopeReason* reason) {
    RopeResult result = ROPE_SUCCESS;
    for (const FusedRole role : kFusedRoles)
        if (result == ROPE_SUCCESS) result = checkBlock(kRoleNames[role], tensorOf(filled, role), reason);
    const RopeFusedTensor &q = filled.q, &k = filled.k;
    const RopeOperation operation = filled.rotation.operation;
    const bool any = (q.hadamard | k.hadamard | filled.v.hadamard) != 0;
    const RefusalRow refusals[] = {
        invalid(
            q.heads != 0 && k.heads != 0 && q.hadamard != k.hadamard,
            "q.hadamard is %u and k.hadamard is %u; the attention's products would be others, so give both the same",
            q.hadamard, k.hadamard),
        invalid(any && operation != ROPE_OPERATION_FORWARD && operation != ROPE_OPERATION_SHIFT,
                "operation is %d with hadamard, which goes with forward, %d, and shift, %d; turn the gradient back in "
                "a pass "
                "of its own, whose q has the block and no_rotation",
                operation, ROPE_OPERATION_FORWARD, ROPE_OPERATION_SHIFT),
    };
    return result != ROPE_SUCCESS ? result : refuseByFirst(refusals, reason);
}

bool canTransformTogether(const FusedTensor& a, const FusedTensor& b) {
    if (blockBits(a) == 0 || blockBits(b) == 0) return true;
    const uint32_t block = 1u << larger(blockBits(a), blockBits(b));
    return a.d.head_dim % block == 0 && b.d.head_dim % block == 0;
}

uint32_t hadamardWords(const FusedTensor& t) {
    return t.takes(ROPE_STAGE_HADAMARD) ? t.d.head_dim + (t.d.head_dim + 31) / 32 : 0;
}

void setHadamard(const FusedGroup& group, PlanPass* pass) {
    if (group.stages.transformed == 0) return;
    const bool side_by_side = group.variant.lane_pairs == 4 && !anyOf(group, [&](const FusedTensor& t) {
                                  return t.takes(ROPE_STAGE_HADAMARD) && !liesSideBySide(group, t);
                              });
    if (side_by_side) pass->constants[ROPE_ID_PASS] |= ROPE_PASS_SIDE_BY_SIDE;
    forEachTensor(group, [&](const FusedTensor& t) {
        if (t.takes(ROPE_STAGE_HADAMARD) && !side_by_side && holdsHalves(group, t))
            record(pass->constants, t.role)[field::kind] |= 1u << ROPE_TENSOR_LAST_IN_LANE;
    });
}

} // namespace rope
#endif
