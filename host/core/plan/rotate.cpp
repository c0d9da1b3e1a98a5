// This file plans a rotation of Q and K: ropePlanRotate. Both turn in one dispatch where they have the same lanes of
// the wide shader and the device binds them together; otherwise each has a pass of its own.
#include "plan/element_formats.h"
#include "plan/positions.h"
#include "plan/range.h"
#include "plan/resolve.h"
#include "plan/rows.h"
#include "plan/tensor.h"
#include "plan/tuning.h"
#include "shaders/modules.h"

#include <string.h>

namespace rope {
namespace {

// Tensors that turn in one pass: Q and K, or one of them.
struct TurnedTensors {
    const TensorPass* tensors[2];
    uint32_t count;
};

// Returns the blocks of heads that one token's threads take, a thread one lane of a block each.
uint32_t countBlocks(const TurnedTensors& t, uint32_t heads_per_thread) {
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < t.count; ++i)
        blocks += (t.tensors[i]->tensor.heads + heads_per_thread - 1) / heads_per_thread;
    return blocks;
}

uint32_t mostHeads(const TurnedTensors& t) {
    const uint32_t first = t.tensors[0]->tensor.heads, last = t.tensors[t.count - 1]->tensor.heads;
    return first > last ? first : last;
}

// Two tensors of a pass are not split along heads, so an access of theirs spans all of them.
PassAccess rotatedAccess(const TurnedTensors& t, uint32_t i, bool source, const RopeRotateDescription& d) {
    const TensorPass& tensor = *t.tensors[i];
    const RopeLayout& layout = source ? tensor.tensor.from : tensor.tensor.to;
    PassAccess access = tensorAccess(source ? tensor.from_slot : tensor.to_slot, layout,
                                     source ? d.element : d.element_out, d.head_dim);
    if (t.count == 1) return access;
    access.extent += (tensor.tensor.heads - 1) * layout.head_stride;
    access.stride[kHead] = 0;
    return access;
}

void setTensorAccesses(const TurnedTensors& t, const RopeRotateDescription& d, PlanPass* pass) {
    for (uint32_t i = 0; i < t.count; ++i) {
        if (d.out_of_place != 0) pass->access[ROPE_BINDING_SOURCE + i] = rotatedAccess(t, i, true, d);
        pass->access[ROPE_BINDING_DESTINATION + i] = rotatedAccess(t, i, false, d);
    }
}
static_assert(ROPE_BINDING_SOURCE_K == ROPE_BINDING_SOURCE + 1 &&
                  ROPE_BINDING_DESTINATION_K == ROPE_BINDING_DESTINATION + 1,
              "K's bindings follow Q's");

// How tensors are cut into lanes, blocks of heads and groups.
struct RotationCut {
    uint32_t pair_lanes, lanes, copied; // elements that lanes copy
    uint32_t heads, blocks;             // heads of a thread
    GroupCut groups;
};
RotationCut cutRotation(const TurnedTensors& t, const RopeRotateDescription& d, const ShaderVariant& variant,
                        const RopeLimits& limits) {
    const HeadGeometry g = geometryOf(d);
    RotationCut cut = {
        pairLanes(g, variant), 0, d.out_of_place != 0 ? d.head_dim - d.rotation.rotary_dim : 0, 0, 0, {}};
    cut.lanes = cut.pair_lanes + copyLanes(cut.copied, d.rotation.rotary_begin, variant);
    cut.heads = chooseRotationHeads(g, mostHeads(t), limits);
    cut.blocks = countBlocks(t, cut.heads);
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
    constants[ROPE_ID_NATIVE_HALVES] = takesNativeHalves(geometryOf(d), limits);
    setGroupConstants(cut.groups, variant, cut.lanes, cut.heads, pass);
    if (cut.groups.shares) pass->facts.stages |= kShares;
    if (t.count == 1) return;
    pass->blocks = cut.blocks;
    constants[ROPE_ID_Q_HEADS] = t.tensors[0]->tensor.heads;
    constants[ROPE_ID_K_HEADS] = t.tensors[1]->tensor.heads;
    constants[ROPE_ID_Q_BLOCKS] = (t.tensors[0]->tensor.heads + cut.heads - 1) / cut.heads;
}

// Writes the push words: those that all families share, then K's places. No part of a pass of two tensors cuts heads,
// so the strides between heads are final here.
void writeRotatePush(const TurnedTensors& t, const RopePush& common, PlanPass* pass) {
    RopeRotatePush push = familyPush<RopeRotatePush>(common);
    if (t.count == 2) {
        const uint32_t unit = pass->address_unit;
        const RopeTensor &q = t.tensors[0]->tensor, &k = t.tensors[1]->tensor;
        push.source.head = static_cast<uint32_t>(q.from.head_stride / unit);
        push.destination.head = static_cast<uint32_t>(q.to.head_stride / unit);
        push.source_k.head = static_cast<uint32_t>(k.from.head_stride / unit);
        push.destination_k.head = static_cast<uint32_t>(k.to.head_stride / unit);
    }
    writePush(push, pass);
}

void addRotationPass(const TurnedTensors& t, const RopeRotateDescription& d, const ShaderVariant& variant,
                     Planner* planner) {
    PlanPass* pass =
        planner->addPass(rope_shader_rotate_wide, d.batch, d.tokens, t.count == 1 ? t.tensors[0]->tensor.heads : 1);
    pass->facts.words = t.count == 2 ? kRotationWords : kTensorWords;
    pass->facts.stages = kTurn | (d.out_of_place == 0 ? kInPlace : 0);
    for (uint32_t i = 0; i < t.count; ++i) pass->facts.heads[i] = t.tensors[i]->tensor.heads;
    RopePush push = {};
    setTokenPositions(d, &push, pass);
    pass->access[ROPE_BINDING_COS_SIN] = cosSinAccess(d);
    setTensorAccesses(t, d, pass);
    setRotationConstants(d, variant, pass);
    pass->address_unit = addressUnit(variant);
    setGroups(t, d, variant, planner->limits(), pass);
    if (d.rotation.source != ROPE_SOURCE_INLINE) setRowWords(d.rotation.rows, &push);
    setScaleOrTable(d, &push, pass);
    writeRotatePush(t, push, pass);
}

// Returns the storage buffers of a pass with both tensors.
uint32_t bothTensorsBuffers(const RopeRotateDescription& d) {
    RopePositions positions;
    RopeFrequencies frequencies;
    selectRotationPositions(d, &positions, &frequencies);
    return (readsPositions(positions) ? 2u : 1u) + (d.out_of_place != 0 ? 4u : 2u);
}

// True if a part of one side has to take fewer heads: all of them span more than a binding, and tokens lie closer to
// each other than heads do. Tensors that go together are not split along heads.
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

// True if both tensors turn in one pass: there are two, of the same lanes, and no limit asks for fewer heads.
bool turnTogether(const RopeRotateDescription& d, const TurnedTensors& both, const ShaderVariant* variants,
                  const RopeLimits& limits) {
    if (d.q.heads == 0 || d.k.heads == 0 || splitsHeads(d, d.q, limits) || splitsHeads(d, d.k, limits)) return false;
    if (variants[0].lane_pairs != variants[1].lane_pairs || variants[0].by_words != variants[1].by_words) return false;
    const RotationCut cut = cutRotation(both, d, variants[0], limits);
    const uint64_t rows = (uint64_t{cut.blocks} + cut.groups.size[1] - 1) / cut.groups.size[1];
    return rows * cut.groups.lane_parts <= kMaxGroupsZ && bothTensorsBuffers(d) <= limits.storage_buffers;
}

// Plans the passes of a resolved description.
RopeResult planPasses(const RopeRotateDescription& d, Planner* planner) {
    const bool out_of_place = d.out_of_place != 0;
    const TensorPass tensors[] = {
        {"q", d.q, ROPE_SLOT_Q, out_of_place ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q},
        {"k", d.k, ROPE_SLOT_K, out_of_place ? ROPE_SLOT_K_OUT : ROPE_SLOT_K},
    };
    ShaderVariant variants[2];
    for (uint32_t i = 0; i < 2; ++i) {
        variants[i] = chooseVariant(geometryOf(d), sideBits(tensors[i].tensor), planner->limits());
        if (tensors[i].tensor.heads != 0 && !variants[i].fits)
            return refuseOddPlaces(tensors[i].name, oddHalves(geometryOf(d)), planner->reason());
    }
    const TurnedTensors both = {{&tensors[0], &tensors[1]}, 2};
    if (turnTogether(d, both, variants, planner->limits())) {
        addRotationPass(both, d, variants[0], planner);
    } else {
        for (uint32_t i = 0; i < 2; ++i)
            if (tensors[i].tensor.heads != 0) addRotationPass({{&tensors[i], nullptr}, 1}, d, variants[i], planner);
    }
    addCountPass(d, planner);
    return planner->finish();
}

} // namespace
} // namespace rope

using namespace rope;

namespace {

RopeResult planRotation(const RopeRotateDescription& description, const RopeLimits* limits, RopePlan* plan) {
    Planner planner(limits, plan);
    RopeRotateDescription d;
    RopeResult result = resolveRotate(description, &d, planner.reason());
    if (result == ROPE_SUCCESS) result = checkTuning(d.tuning, planner.limits(), planner.reason());
    if (result == ROPE_SUCCESS) result = planPasses(d, &planner);
    return result == ROPE_SUCCESS ? result : planner.refused(result);
}

RopeResult planRotationOf(const TokenPlanner& planner, uint32_t tokens, RopePlan* plan) {
    RopeRotateDescription d = *static_cast<const RopeRotateDescription*>(planner.description);
    d.tokens = tokens;
    return planRotation(d, planner.limits, plan);
}

} // namespace

RopeResult ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    return planRotation(*description, limits, plan);
}

RopeResult ropePlanRotateRange(const RopeRotateDescription* description, uint32_t least, uint32_t most,
                               const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS], uint32_t* plan_count) {
    const uint32_t sequences = description != nullptr ? description->batch : 0;
    return planRange({description, limits, planRotationOf, sequences, true}, least, most, plans, plan_count);
}
