// This file hands out a plan's dispatches: each part of each pass, with its bindings and push words.
#include "plan/pass.h"

#include <stddef.h>
#include <string.h>

namespace rope {
namespace {

// Returns 0 for a plan that was refused, or that another version made.
uint32_t acceptedPassCount(const RopePlan* plan) {
    return plan != nullptr && plan->version == ROPE_VERSION ? plan->pass_count : 0;
}

// Returns the pass of a plan's dispatch, and turns the dispatch's number in the plan into its number in the pass.
// Returns null behind the last dispatch.
const RopePass* passOfDispatch(const RopePlan* plan, uint32_t* index) {
    for (uint32_t i = 0; i < acceptedPassCount(plan); ++i) {
        const RopePass& pass = plan->passes[i];
        if (*index < partCount(pass)) return &pass;
        *index -= static_cast<uint32_t>(partCount(pass));
    }
    return nullptr;
}

// The batches, tokens and heads of one dispatch.
struct PassPart {
    uint32_t begin[kGridAxes];
    uint32_t count[kGridAxes];
};

PassPart partOf(const RopePass& pass, uint32_t index) {
    PassPart part;
    for (int axis = kHead; axis >= 0; --axis) {
        part.begin[axis] = index % pass.parts[axis] * pass.step[axis];
        index /= pass.parts[axis];
        const uint32_t left = pass.count[axis] - part.begin[axis];
        part.count[axis] = left < pass.step[axis] ? left : pass.step[axis];
    }
    return part;
}

// Binds the memory that the part spans. A binding starts at an aligned offset; the elements from there to the part's
// first are the offset of the place that is returned.
RopePlace bindPart(const RopeAccess& access, const PassPart& part, uint32_t alignment, RopeBinding* binding) {
    uint64_t element = access.offset;
    uint32_t strides[kGridAxes];
    for (int axis = 0; axis < kGridAxes; ++axis) {
        element += part.begin[axis] * access.stride[axis];
        strides[axis] = part.count[axis] > 1 ? static_cast<uint32_t>(access.stride[axis]) : 0;
    }
    const uint64_t byte = element * access.element_bytes;
    const uint64_t left_over = byte % alignment;
    binding->slot = static_cast<RopeSlot>(access.slot);
    binding->offset = byte - left_over;
    binding->range = rowsInWholeWords(access, left_over + spanBytes(access, part.count));
    return {static_cast<uint32_t>(left_over / access.element_bytes), strides[kBatch], strides[kToken], strides[kHead]};
}

// Returns a place counted in units of so many elements.
RopePlace placeInUnits(uint32_t elements, const RopePlace& p) {
    return {p.offset / elements, p.batch / elements, p.token / elements, p.head / elements};
}

// Sets the words that tell a thread its token, its group of heads and its lane.
void setThreadWords(const RopePass& pass, const PassPart& part, RopePush* push) {
    push->head_lanes = pass.head_lanes;
    const Divisor lanes = makeDivisor(static_cast<uint32_t>(lanesPerToken(pass, part.count[kHead])));
    const Divisor head_lanes = makeDivisor(pass.head_lanes);
    push->lanes_magic = lanes.magic;
    push->head_lanes_magic = head_lanes.magic;
    push->shifts = lanes.shift | head_lanes.shift << 16;
}

// Sets where the tensors of a rotation lie. The plan has set the strides from head to head where it has two tensors.
void setRotationWords(const RopePass& pass, const RopePlace* places, RopePush* push) {
    RopeRotatePush words;
    memcpy(&words, pass.push, sizeof words);
    const RopeRotatePush planned = words;
    memcpy(&words, push, offsetof(RopeRotatePush, source_k));
    if (pass.access[ROPE_BINDING_DESTINATION_K].extent != 0) {
        const uint32_t from =
            pass.access[ROPE_BINDING_SOURCE_K].extent != 0 ? ROPE_BINDING_SOURCE_K : ROPE_BINDING_DESTINATION_K;
        words.source_k = placeInUnits(pass.address_unit, places[from]);
        words.destination_k = placeInUnits(pass.address_unit, places[ROPE_BINDING_DESTINATION_K]);
        words.source.head = planned.source.head;
        words.destination.head = planned.destination.head;
        words.source_k.head = planned.source_k.head;
        words.destination_k.head = planned.destination_k.head;
    }
    memcpy(push, &words, sizeof words);
}

// Sets the words of a fused pass that depend on the part. The families share push words, so a fused pass takes words
// that its counts leave free.
void setFusedWords(const RopePass& pass, const PassPart& part, const RopePush& planned, const RopePlace* places,
                   RopePush* push) {
    push->ROPE_FIRST_BATCH = part.begin[kBatch];
    push->ROPE_SOURCE_V_AT = places[ROPE_BINDING_SOURCE_V].offset;
    push->ROPE_DESTINATION_V_AT = planned.ROPE_DESTINATION_V_AT + places[ROPE_BINDING_DESTINATION_V].offset;
    if (isBoundWhole(pass, ROPE_BINDING_POSITIONS)) {
        push->position_offset = planned.position_offset + part.begin[kBatch] * planned.position_batch +
                                part.begin[kToken] * planned.position_token;
        push->position_batch = planned.position_batch;
        push->position_token = planned.position_token;
    }
    if (isBoundWhole(pass, ROPE_BINDING_DESTINATION)) {
        push->destination = planned.destination;
        push->destination.offset += places[ROPE_BINDING_DESTINATION].offset;
    }
}

} // namespace
} // namespace rope

using namespace rope;

uint32_t ropeDispatchCount(const RopePlan* plan) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < acceptedPassCount(plan); ++i) count += partCount(plan->passes[i]);
    return static_cast<uint32_t>(count);
}

void ropeGetDispatch(const RopePlan* plan, uint32_t index, RopeDispatch* dispatch) {
    if (dispatch == nullptr) return;
    const RopePass* pass = passOfDispatch(plan, &index);
    if (pass == nullptr) {
        memset(dispatch, 0, sizeof *dispatch);
        return;
    }
    const PassPart part = partOf(*pass, index);
    RopePush push = readPush(*pass);
    const RopePush planned = push;
    RopePlace places[ROPE_BINDING_COUNT] = {};
    memset(dispatch->bindings, 0, sizeof dispatch->bindings);
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        const RopeAccess& access = pass->access[i];
        if (access.extent == 0) continue;
        places[i] = bindPart(access, part, plan->limits.storage_alignment, &dispatch->bindings[i]);
    }
    // In place a thread reads where it writes.
    if (pass->access[ROPE_BINDING_SOURCE].extent == 0) places[ROPE_BINDING_SOURCE] = places[ROPE_BINDING_DESTINATION];
    const RopePlace positions = places[ROPE_BINDING_POSITIONS];
    push.first_token = part.begin[kToken];
    if (pass->access[ROPE_BINDING_POSITIONS].extent != 0) {
        push.position_offset = positions.offset;
        push.position_batch = pass->sequences != 0 ? pass->sequences : positions.batch;
        push.position_token = positions.token;
    }
    const RopePlace rows = places[ROPE_BINDING_COS_SIN];
    push.rows.offset += pass->access[ROPE_BINDING_COS_SIN].slot == ROPE_SLOT_ROWS ? rows.offset : 0;
    push.rows.batch = rows.batch;
    if (!isBoundWhole(*pass, ROPE_BINDING_COS_SIN)) push.rows.token = rows.token;
    push.source = placeInUnits(pass->address_unit, places[ROPE_BINDING_SOURCE]);
    push.destination = placeInUnits(pass->address_unit, places[ROPE_BINDING_DESTINATION]);
    push.tokens = part.count[kToken];
    push.heads = part.count[kHead];
    if (pass->family == kRotationFamily) {
        setRotationWords(*pass, places, &push);
    } else {
        setThreadWords(*pass, part, &push);
        if (pass->family == kFusedFamily) setFusedWords(*pass, part, planned, places, &push);
    }

    dispatch->shader = pass->shader;
    memcpy(dispatch->constants, pass->constants, sizeof dispatch->constants);
    memcpy(dispatch->push, &push, sizeof push);
    dispatch->groups[0] = static_cast<uint32_t>(groupCountX(*pass, part.count[kToken], part.count[kHead]));
    dispatch->groups[1] = part.count[kBatch];
    dispatch->groups[2] = static_cast<uint32_t>(groupCountZ(*pass, part.count[kHead]));
}

void ropeGroups(const RopePlan* plan, uint32_t index, uint32_t tokens, uint32_t groups[3]) {
    if (groups == nullptr) return;
    groups[0] = groups[1] = groups[2] = 0;
    const RopePass* pass = passOfDispatch(plan, &index);
    if (pass == nullptr) return;
    const PassPart part = partOf(*pass, index);
    uint32_t count = tokens > part.begin[kToken] ? tokens - part.begin[kToken] : 0;
    if (count > part.count[kToken] || (pass->joined_tokens != 0 && tokens != 0)) count = part.count[kToken];
    groups[0] = static_cast<uint32_t>(groupCountX(*pass, count, part.count[kHead]));
    groups[1] = part.count[kBatch];
    groups[2] = static_cast<uint32_t>(groupCountZ(*pass, part.count[kHead]));
}
