// This file plans a rotation of Q and K: ropePlanRotate. One dispatch rotates both where they have the same
// lanes of the wide shader and the device's limit has room for their buffers. Otherwise each tensor has a pass.
#include "plan/positions.h"
#include "plan/range.h"
#include "plan/resolve.h"
#include "plan/rows.h"
#include "plan/tensor.h"
#include "plan/tuning.h"
#include "shaders/modules.h"

namespace rope {
namespace {

const RopeTensor& tensorAt(const RopeRotateDescription& d, uint32_t i) { return i == 0 ? d.q : d.k; }

// The tensors that one pass rotates: Q and K, or one tensor alone.
struct TurnedTensors {
    uint32_t first, count;
};

// Sets what a tensor reads or writes. Two tensors of a pass are not split along heads, so an access of theirs spans all
// of them.
void setAccess(const TurnedTensors& t, uint32_t i, bool source, const RopeRotateDescription& d, PlanPass* pass) {
    const RopeTensor& tensor = tensorAt(d, i);
    const RopeLayout& layout = source ? tensor.from : tensor.to;
    const uint32_t slot = (source || d.out_of_place == 0 ? ROPE_SLOT_Q : ROPE_SLOT_Q_OUT) + i;
    PassAccess& access = pass->access[(source ? ROPE_BINDING_SOURCE : ROPE_BINDING_DESTINATION) + i - t.first];
    access = tensorAccess(static_cast<RopeSlot>(slot), layout, source ? d.element : d.element_out, d.head_dim,
                          t.count == 1 ? 1 : tensor.heads);
}
static_assert(ROPE_BINDING_SOURCE_K == ROPE_BINDING_SOURCE + 1 && ROPE_SLOT_K == ROPE_SLOT_Q + 1 &&
                  ROPE_BINDING_DESTINATION_K == ROPE_BINDING_DESTINATION + 1 && ROPE_SLOT_K_OUT == ROPE_SLOT_Q_OUT + 1,
              "K's bindings and slots follow Q's");

// How tensors are cut into lanes, blocks of heads and groups.
struct RotationCut {
    uint32_t pair_lanes, lanes, copied; // elements that lanes copy
    uint32_t heads, blocks;             // heads of a thread, and blocks of heads of a token
    GroupCut groups;
};
RotationCut cutRotation(const TurnedTensors& t, const RopeRotateDescription& d, const ShaderVariant& variant,
                        const RopeLimits& limits) {
    const HeadGeometry g = geometryOf(d);
    RotationCut cut = {
        pairLanes(g, variant), 0, d.out_of_place != 0 ? d.head_dim - d.rotation.rotary_dim : 0, 0, 0, {}};
    cut.lanes = cut.pair_lanes + copyLanes(cut.copied, d.rotation.rotary_begin, variant);
    const uint32_t most = larger(tensorAt(d, t.first).heads, tensorAt(d, t.first + t.count - 1).heads);
    cut.heads = chooseRotationHeads(g, most, limits);
    for (uint32_t i = t.first; i < t.first + t.count; ++i)
        cut.blocks += (tensorAt(d, i).heads + cut.heads - 1) / cut.heads;
    cut.groups = cutIntoGroups(g, cut.blocks, cut.lanes, largestGroup(g, limits), limits);
    return cut;
}

// Sets how the pass is cut into groups, with the constants that say so.
void setGroups(const TurnedTensors& t, const RopeRotateDescription& d, const ShaderVariant& variant,
               const RopeLimits& limits, PlanPass* pass) {
    uint32_t* constants = pass->constants;
    const RotationCut cut = cutRotation(t, d, variant, limits);
    constants[ROPE_ID_PAIR_COUNTS] = d.rotation.rotary_dim / 2 | cut.pair_lanes << 16;
    constants[ROPE_ID_ROTARY_BEGIN] = d.rotation.rotary_begin;
    constants[ROPE_ID_PASS_ELEMENTS] = cut.copied;
    constants[ROPE_ID_EVERY_TOKEN] = everyTokenTurns(d);
    setNativeHalves(limits, pass, d.element, d.element_out);
    setGroupConstants(cut.groups, variant, cut.lanes, cut.heads, pass);
    if (cut.groups.shares) pass->facts.stages |= kShares;
    if (t.count == 1) return;
    pass->blocks = cut.blocks;
    constants[ROPE_ID_Q_HEADS] = d.q.heads;
    constants[ROPE_ID_K_HEADS] = d.k.heads;
    constants[ROPE_ID_Q_BLOCKS] = (d.q.heads + cut.heads - 1) / cut.heads;
}

void addRotationPass(const TurnedTensors& t, const RopeRotateDescription& d, const ShaderVariant& variant,
                     Planner* planner) {
    const bool both = t.count == 2;
    PlanPass* pass =
        planner->addPass(rope_shader_rotate_wide, d.batch, d.tokens, both ? 1 : tensorAt(d, t.first).heads);
    pass->facts.words = both ? kRotationWords : kTensorWords;
    pass->facts.stages = kTurn | (d.out_of_place == 0 ? kInPlace : 0);
    RopePush push = {};
    setTokenPositions(d, &push, pass);
    pass->access[ROPE_BINDING_COS_SIN] = cosSinAccess(d);
    for (uint32_t i = t.first; i < t.first + t.count; ++i) {
        pass->facts.heads[i - t.first] = tensorAt(d, i).heads;
        if (d.out_of_place != 0) setAccess(t, i, true, d, pass);
        setAccess(t, i, false, d, pass);
    }
    setRotationConstants(d, variant, pass);
    setGroups(t, d, variant, planner->limits(), pass);
    if (d.rotation.source != ROPE_SOURCE_INLINE) setRowWords(d.rotation.rows, &push);
    setScaleOrTable(d, &push, pass);
    RopeRotatePush words = familyPush<RopeRotatePush>(push);
    if (both) { // no part of the pass cuts heads, so the strides between them are final here
        words.source.head = static_cast<uint32_t>(d.q.from.head_stride / pass->address_unit);
        words.destination.head = static_cast<uint32_t>(d.q.to.head_stride / pass->address_unit);
        words.source_k.head = static_cast<uint32_t>(d.k.from.head_stride / pass->address_unit);
        words.destination_k.head = static_cast<uint32_t>(d.k.to.head_stride / pass->address_unit);
    }
    writePush(words, pass);
}

// Returns the storage buffers of a pass with both tensors.
uint32_t bothTensorsBuffers(const RopeRotateDescription& d) {
    return (readsPositions(rotationPositions(d).positions) ? 2u : 1u) + (d.out_of_place != 0 ? 4u : 2u);
}

// True if a part of one side has to take fewer heads: all heads span more than a binding, and tokens lie closer to
// each other than heads do. Tensors that share a dispatch are not split along heads.
bool splitsHeads(const RopeRotateDescription& d, uint32_t heads, const RopeLayout& l, RopeElement element,
                 const RopeLimits& limits) {
    const PassAccess access = tensorAccess(ROPE_SLOT_Q, l, element, d.head_dim);
    const uint32_t counts[] = {d.batch, d.tokens, heads};
    const uint64_t lost = access.offset * access.element_bytes % limits.storage_alignment;
    const uint64_t room = limits.storage_range > lost ? limits.storage_range - lost : 0;
    return l.head_stride > l.token_stride && spanBytes(access, counts) > room;
}

bool splitsHeads(const RopeRotateDescription& d, const RopeTensor& t, const RopeLimits& limits) {
    return splitsHeads(d, t.heads, t.from, d.element, limits) || splitsHeads(d, t.heads, t.to, d.element_out, limits);
}

// True if both tensors rotate in one pass: there are two, of the same lanes, and no limit asks for fewer heads.
bool turnTogether(const RopeRotateDescription& d, const ShaderVariant* variants, const RopeLimits& limits) {
    if (d.q.heads == 0 || d.k.heads == 0 || splitsHeads(d, d.q, limits) || splitsHeads(d, d.k, limits)) return false;
    if (variants[0].lane_pairs != variants[1].lane_pairs || variants[0].by_words != variants[1].by_words) return false;
    const RotationCut cut = cutRotation({0, 2}, d, variants[0], limits);
    const uint64_t rows = (uint64_t{cut.blocks} + cut.groups.size[1] - 1) / cut.groups.size[1];
    return rows * cut.groups.lane_parts <= kMaxGroupsZ && bothTensorsBuffers(d) <= limits.storage_buffers;
}

// Adds the passes of a resolved description.
RopeResult addRotationPasses(const RopeRotateDescription& d, Planner* planner) {
    const RopeResult result = checkTuning(d.tuning, planner->limits(), planner->reason());
    if (result != ROPE_SUCCESS) return result;
    ShaderVariant variants[2];
    for (uint32_t i = 0; i < 2; ++i) {
        variants[i] = chooseVariant(geometryOf(d), sideBits(tensorAt(d, i)), planner->limits());
        if (tensorAt(d, i).heads != 0 && !variants[i].fits)
            return refuseOddPlaces(i == 0 ? "q" : "k", oddHalves(geometryOf(d)), planner->reason());
    }
    const bool together = turnTogether(d, variants, planner->limits());
    if (together) addRotationPass({0, 2}, d, variants[0], planner);
    for (uint32_t i = 0; i < 2 && !together; ++i)
        if (tensorAt(d, i).heads != 0) addRotationPass({i, 1}, d, variants[i], planner);
    addCountPass(d, planner);
    return ROPE_SUCCESS;
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits, RopePlan* plan) {
    return planDescription(description, limits, plan, resolveRotate, addRotationPasses);
}

RopeResult ropePlanRotateRange(const RopeRotateDescription* description, uint32_t least, uint32_t most,
                               const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS], uint32_t* plan_count) {
    return planRange<ropePlanRotate>(description, limits, /* cuts_by_tokens= */ true, least, most, plans, plan_count);
}
