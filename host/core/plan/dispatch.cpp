// This file hands out a plan's dispatches: each part of each pass, with its bindings and push words.
//
// To complete other push words: a case for each structure of push words.
#include "plan/element_formats.h"
#include "plan/pass.h"

#include <string.h>

namespace rope {
namespace {

// Returns 0 for a plan that was refused, or that another version made.
uint32_t acceptedPassCount(const RopePlan* plan) {
    return plan != nullptr && plan->version == ROPE_VERSION ? plan->pass_count : 0;
}

// Returns the pass of a plan's dispatch, and turns the dispatch's number in the plan into its number in the pass.
// Returns null behind the last dispatch.
const PlanPass* passOfDispatch(const RopePlan* plan, uint32_t* index) {
    for (uint32_t i = 0; i < acceptedPassCount(plan); ++i) {
        const PlanPass& pass = passAt(*plan, i);
        if (*index < pass.dispatches) return &pass;
        *index -= pass.dispatches;
    }
    return nullptr;
}

PassPart partOf(const PlanPass& pass, uint32_t index) {
    PassPart part;
    for (int axis = kGridAxes - 1; axis >= 0; --axis) {
        part.begin[axis] = index % pass.parts[axis] * pass.step[axis];
        index /= pass.parts[axis];
        const uint32_t left = pass.count[axis] - part.begin[axis];
        part.count[axis] = left < pass.step[axis] ? left : pass.step[axis];
    }
    return part;
}

// Binds the memory that the part spans. A binding starts at an aligned offset; the elements from there to the part's
// first are the offset of the place that is returned.
RopePlace bindPart(const PlanPass& pass, uint32_t index, const PassPart& part, uint32_t alignment,
                   RopeBinding* binding) {
    const PassAccess& access = pass.access[index];
    uint64_t element = access.offset, span = access.extent; // Planner::sumBytes found that both fit into 64 bits
    uint32_t strides[kGridAxes];
    for (int axis = 0; axis < kGridAxes; ++axis) {
        element += part.begin[axis] * access.stride[axis];
        span += (part.count[axis] - 1) * access.stride[axis];
        strides[axis] = part.count[axis] > 1 ? static_cast<uint32_t>(access.stride[axis]) : 0;
    }
    const uint64_t byte = element * access.element_bytes;
    const uint64_t left_over = byte & (alignment - 1);
    binding->slot = static_cast<RopeSlot>(access.slot);
    binding->offset = byte - left_over;
    binding->range = inWholeWords(access, left_over + span * access.element_bytes);
    const uint32_t first = left_over != 0 ? static_cast<uint32_t>(left_over / access.element_bytes) : 0;
    return {first, strides[kBatch], strides[kToken], strides[kHead]};
}

// Sets where K lies beside Q. No part of a pass of two tensors cuts heads, so the plan has set the strides between
// them.
void fillRotationWords(const PlanPass& pass, const RopePlace* places, uint32_t* push) {
    RopeRotatePush planned, words;
    memcpy(&planned, pass.push, sizeof planned);
    memcpy(&words, push, sizeof words);
    const uint32_t from = isBound(pass, ROPE_BINDING_SOURCE_K) ? ROPE_BINDING_SOURCE_K : ROPE_BINDING_DESTINATION_K;
    words.source_k = placeInUnits(pass.address_unit, places[from]);
    words.destination_k = placeInUnits(pass.address_unit, places[ROPE_BINDING_DESTINATION_K]);
    words.source.head = planned.source.head;
    words.destination.head = planned.destination.head;
    words.source_k.head = planned.source_k.head;
    words.destination_k.head = planned.destination_k.head;
    memcpy(push, &words, sizeof words);
}

// Adds to the words what the part begins behind: tokens and sequences before it, and what bindings lose to alignment.
void fillFusedWords(const PlanPass& pass, const PassPart& part, const RopePlace* places, uint32_t* push) {
    const PassFacts& facts = pass.facts;
    const uint32_t batch = part.begin[kBatch], token = part.begin[kToken], unit = pass.address_unit;
    RopeFusedPush words;
    memcpy(&words, pass.push, sizeof words);
    words.tokens = part.count[kToken];
    words.first_token = token;
    words.rows_offset += places[ROPE_BINDING_COS_SIN].offset;
    words.position_offset += batch * words.position_batch + token * facts.position_token;
    words.slot_map_at += batch * words.slot_map_batch;
    words.count_at += batch * facts.count_batch;
    for (uint32_t t = 0; t < 3; ++t) {
        const bool words_of_cache = isForCaches(static_cast<RopeElement>(facts.elements[t]));
        words.to[t] += places[facts.to[t]].offset / (words_of_cache ? 1 : unit) + batch * facts.to_sequence[t];
        words.from[t] =
            facts.from[t] == facts.to[t] ? words.to[t] : words.from[t] + places[facts.from[t]].offset / unit;
    }
    for (uint32_t t = 0; t < 2; ++t)
        words.scale_at[t] += places[facts.to[1 + t]].offset + batch * facts.scale_sequence[t];
    memcpy(push, &words, sizeof words);
}

// Counts take the push words of fused passes.
void fillCountWords(const PlanPass& pass, const RopePush& tokens, uint32_t* push) {
    RopeFusedPush words = {};
    copyTokenWords(tokens, pass.count[kToken], &words);
    memcpy(push, &words, sizeof words);
}

} // namespace

void fillDispatch(const PlanPass& pass, uint32_t index, uint32_t alignment, RopeDispatch* dispatch) {
    const PassPart part = partOf(pass, index);
    RopePush push;
    memcpy(&push, pass.push, sizeof push);
    dispatch->shader = pass.shader;
    memcpy(dispatch->constants, pass.constants, sizeof dispatch->constants);
    RopePlace places[ROPE_BINDING_COUNT] = {};
    memset(dispatch->bindings, 0, sizeof dispatch->bindings);
    for (uint32_t i = 0; pass.bindings >> i != 0; ++i)
        if (isBound(pass, i)) places[i] = bindPart(pass, i, part, alignment, &dispatch->bindings[i]);
    // In place a thread reads where it writes.
    if (!isBound(pass, ROPE_BINDING_SOURCE)) places[ROPE_BINDING_SOURCE] = places[ROPE_BINDING_DESTINATION];
    const RopePlace positions = places[ROPE_BINDING_POSITIONS];
    push.first_token = part.begin[kToken];
    if (isBound(pass, ROPE_BINDING_POSITIONS)) {
        push.position_offset = positions.offset;
        push.position_batch = pass.sequences != 0 ? pass.sequences : positions.batch;
        push.position_token = positions.token;
    }
    const RopePlace rows = places[ROPE_BINDING_COS_SIN];
    push.rows.offset += rows.offset; // frequencies that are rotated by are bound whole, from 0
    push.rows.batch = rows.batch;
    if (!isBoundWhole(pass, ROPE_BINDING_COS_SIN)) push.rows.token = rows.token;
    push.source = placeInUnits(pass.address_unit, places[ROPE_BINDING_SOURCE]);
    push.destination = placeInUnits(pass.address_unit, places[ROPE_BINDING_DESTINATION]);
    push.tokens = part.count[kToken];
    push.heads = part.count[kHead];
    memcpy(dispatch->push, &push, sizeof push);
    if (pass.facts.words == kRotationWords) fillRotationWords(pass, places, dispatch->push);
    if (pass.facts.words == kFusedWords) fillFusedWords(pass, part, places, dispatch->push);
    if (pass.facts.words == kCountWords) fillCountWords(pass, push, dispatch->push);
    dispatch->groups[0] = static_cast<uint32_t>(groupCountX(pass, part.count[kToken]));
    dispatch->groups[1] = part.count[kBatch];
    dispatch->groups[2] = static_cast<uint32_t>(groupCountZ(pass, part.count[kHead]));
}

} // namespace rope

using namespace rope;

uint32_t ropeDispatchCount(const RopePlan* plan) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < acceptedPassCount(plan); ++i) count += plan->passes[i].dispatches;
    return count;
}

void ropeGetDispatch(const RopePlan* plan, uint32_t index, RopeDispatch* dispatch) {
    if (dispatch == nullptr) return;
    const PlanPass* pass = passOfDispatch(plan, &index);
    if (pass == nullptr) {
        memset(dispatch, 0, sizeof *dispatch);
        return;
    }
    fillDispatch(*pass, index, plan->limits.storage_alignment, dispatch);
}

void ropeGroups(const RopePlan* plan, uint32_t index, uint32_t tokens, uint32_t groups[3]) {
    if (groups == nullptr) return;
    groups[0] = groups[1] = groups[2] = 0;
    const PlanPass* pass = passOfDispatch(plan, &index);
    if (pass == nullptr) return;
    const PassPart part = partOf(*pass, index);
    uint32_t count = tokens > part.begin[kToken] ? tokens - part.begin[kToken] : 0;
    if (count > part.count[kToken] || (pass->joined_tokens != 0 && tokens != 0)) count = part.count[kToken];
    groups[0] = static_cast<uint32_t>(groupCountX(*pass, count));
    groups[1] = part.count[kBatch];
    groups[2] = static_cast<uint32_t>(groupCountZ(*pass, part.count[kHead]));
}
