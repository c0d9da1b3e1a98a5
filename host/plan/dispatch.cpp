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
        if (*index < pass.dispatches) return &pass;
        *index -= pass.dispatches;
    }
    return nullptr;
}

// The batches, tokens and heads of one dispatch, and its window of the cache.
struct PassPart {
    uint32_t begin[kGridAxes];
    uint32_t count[kGridAxes];
};

PassPart partOf(const RopePass& pass, uint32_t index) {
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
RopePlace bindPart(const RopePass& pass, uint32_t index, const PassPart& part, uint32_t alignment,
                   RopeBinding* binding) {
    const RopeAccess& access = pass.access[index];
    const int axes = isCache(pass, index) ? kGridAxes : kSequence; // only a cache has strides behind kHead
    uint64_t element = access.offset, span = access.extent;        // Planner::sumBytes found that both fit into 64 bits
    uint32_t strides[kGridAxes];
    for (int axis = 0; axis < axes; ++axis) {
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

// Returns a place counted in units of so many elements.
RopePlace placeInUnits(uint32_t elements, const RopePlace& p) {
    return {p.offset / elements, p.batch / elements, p.token / elements, p.head / elements};
}

// Sets where the tensors of a rotation lie. The plan has set the strides from head to head where it has two tensors.
void setRotationWords(const RopePass& pass, const RopePlace* places, RopePush* push) {
    RopeRotatePush words;
    memcpy(&words, pass.push, sizeof words);
    const RopeRotatePush planned = words;
    memcpy(&words, push, offsetof(RopeRotatePush, source_k));
    if (isBound(pass, ROPE_BINDING_DESTINATION_K)) {
        const uint32_t from = isBound(pass, ROPE_BINDING_SOURCE_K) ? ROPE_BINDING_SOURCE_K : ROPE_BINDING_DESTINATION_K;
        words.source_k = placeInUnits(pass.address_unit, places[from]);
        words.destination_k = placeInUnits(pass.address_unit, places[ROPE_BINDING_DESTINATION_K]);
        words.source.head = planned.source.head;
        words.destination.head = planned.destination.head;
        words.source_k.head = planned.source_k.head;
        words.destination_k.head = planned.destination_k.head;
    }
    memcpy(push, &words, sizeof words);
}

// Returns what so many elements of a cache of integers take of its binding, in the binding's elements.
uint32_t storedElements(const RopePass& pass, uint32_t binding, uint64_t elements) {
    const uint64_t halves =
        elements * (pass.constants[ROPE_ID_CACHE_FORMAT] >> ROPE_FORMAT_HALVES) / ROPE_BLOCK_ELEMENTS;
    return static_cast<uint32_t>(halves * 2 / pass.access[binding].element_bytes);
}

// Returns the first sequence of the part in a cache that is bound from its first sequence on.
uint32_t firstSequence(const RopePass& pass, const PassPart& part, uint32_t binding) {
    return isCache(pass, binding) && pass.access[binding].stride[kBatch] == 0 ? part.begin[kBatch] : 0;
}

// Tells which window of the cache a dispatch takes, as window.glsl reads it.
void setWindow(const RopePass& pass, const PassPart& part, RopeFusedPush* words) {
    if (windowCount(pass) == 1) return;
    const uint32_t page = part.begin[kSequence] * pass.count[kPage] + part.begin[kPage];
    const uint32_t first = page * pass.count[kSlot] + part.begin[kSlot];
    words->ROPE_WINDOW = first * pass.parts[kCacheHead] + part.begin[kCacheHead] / pass.step[kCacheHead];
}

// Adds to the words that say where a fused pass's tensors begin what their bindings lose to alignment, and where the
// part's sequences begin in a cache.
void setFusedTensorWords(const RopePass& pass, const PassPart& part, const RopePlace* places, RopeFusedPush* words) {
    const uint32_t* constants = pass.constants;
    const uint32_t unit = pass.address_unit;
    const bool integers = ROPE_IS_FOR_CACHES(constants[ROPE_ID_ELEMENT_CACHE]);
    const uint32_t sources[] = {fusedBinding(pass, 0, true), fusedBinding(pass, 1, true), fusedBinding(pass, 2, true)};
    const uint32_t destinations[] = {fusedBinding(pass, 0, false), fusedBinding(pass, 1, false),
                                     fusedBinding(pass, 2, false)};
    const bool cached = isCache(pass, destinations[1]);
    const uint64_t sequence = firstSequence(pass, part, destinations[1]);
    const uint64_t first = sequence * words->kv_to_batch * unit;
    const uint32_t shift =
        integers ? storedElements(pass, destinations[1], first) : static_cast<uint32_t>(first / unit);
    words->k_to += places[destinations[1]].offset / (integers ? 1 : unit) + shift;
    const bool own_v = constants[ROPE_ID_V_ELEMENTS] != 0;
    const uint32_t v_shift = firstSequence(pass, part, destinations[2]) * constants[ROPE_ID_V_DESTINATION_BATCH];
    words->v_to += places[destinations[2]].offset / (integers ? 1 : unit) + (own_v ? v_shift : shift);
    words->k_from += places[sources[1]].offset / unit;
    if (constants[ROPE_ID_MOVES] != 0) {
        words->ROPE_SOURCE_SLOTS_AT += part.begin[kBatch] * words->slot_map_batch;
    } else {
        words->v_from += places[sources[2]].offset / unit;
    }
    words->kv_from_batch = places[sources[1]].batch / unit;
    if (!cached) words->kv_to_batch = places[destinations[1]].batch / unit;
    words->slot_map_at += part.begin[kBatch] * words->slot_map_batch;
    words->count_at += part.begin[kBatch] * constants[ROPE_ID_COUNT_STRIDE];
    if (integers && constants[ROPE_ID_Q_HEADS] == 0) {
        const uint32_t scale_shift = static_cast<uint32_t>(sequence) * words->ROPE_SCALE_BATCH - shift;
        words->ROPE_K_SCALES += scale_shift;
        words->ROPE_V_SCALES += scale_shift;
        return;
    }
    words->q_from += places[sources[0]].offset / unit;
    words->q_to += places[destinations[0]].offset / unit;
    words->q_from_batch = places[sources[0]].batch / unit;
    words->q_to_batch = places[destinations[0]].batch / unit;
}

// Completes the words of a fused pass. `tokens` has those that all families share.
void setFusedWords(const RopePass& pass, const PassPart& part, const RopePlace* places, const RopePush& tokens,
                   uint32_t* push) {
    RopeFusedPush words;
    memcpy(&words, pass.push, sizeof words);
    const RopeFusedPush planned = words;
    writeTokenWords(tokens, &words);
    words.position_offset = planned.position_offset + part.begin[kBatch] * planned.position_batch +
                            part.begin[kToken] * planned.position_token;
    words.position_batch = planned.position_batch;
    words.position_token = planned.position_token;
    setFusedTensorWords(pass, part, places, &words);
    setWindow(pass, part, &words);
    const uint32_t in_place = pass.constants[ROPE_ID_IN_PLACE], has_q = pass.constants[ROPE_ID_Q_HEADS] != 0;
    if (has_q && (in_place & 1) != 0) {
        words.q_from = words.q_to;
        words.q_from_batch = words.q_to_batch;
    }
    if ((in_place & (has_q ? 2 : 1)) != 0) {
        words.k_from = words.k_to;
        if (pass.constants[ROPE_ID_MOVES] == 0) words.v_from = words.v_to;
        words.kv_from_batch = words.kv_to_batch;
    }
    memcpy(push, &words, sizeof words);
}

} // namespace

void fillDispatch(const RopePass& pass, uint32_t index, uint32_t alignment, RopeDispatch* dispatch) {
    const PassPart part = partOf(pass, index);
    RopePush push = readPush(pass);
    RopePlace places[ROPE_BINDING_COUNT] = {};
    memset(dispatch->bindings, 0, sizeof dispatch->bindings);
    for (uint32_t i = 0; pass.bindings >> i != 0; ++i) {
        if (isBound(pass, i)) places[i] = bindPart(pass, i, part, alignment, &dispatch->bindings[i]);
    }
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
    push.rows.offset += rows.offset; // frequencies that are turned by are bound whole, from 0
    push.rows.batch = rows.batch;
    if (!isBoundWhole(pass, ROPE_BINDING_COS_SIN)) push.rows.token = rows.token;
    push.source = placeInUnits(pass.address_unit, places[ROPE_BINDING_SOURCE]);
    push.destination = placeInUnits(pass.address_unit, places[ROPE_BINDING_DESTINATION]);
    push.tokens = part.count[kToken];
    push.heads = part.count[kHead];
    if (pass.family == kRotationFamily) setRotationWords(pass, places, &push);

    memcpy(dispatch->push, &push, sizeof push);
    if (pass.family == kFusedFamily) setFusedWords(pass, part, places, push, dispatch->push);
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
    const RopePass* pass = passOfDispatch(plan, &index);
    if (pass == nullptr) {
        memset(dispatch, 0, sizeof *dispatch);
        return;
    }
    dispatch->shader = pass->shader;
    memcpy(dispatch->constants, pass->constants, sizeof dispatch->constants);
    fillDispatch(*pass, index, plan->limits.storage_alignment, dispatch);
}

void ropeGroups(const RopePlan* plan, uint32_t index, uint32_t tokens, uint32_t groups[3]) {
    if (groups == nullptr) return;
    groups[0] = groups[1] = groups[2] = 0;
    const RopePass* pass = passOfDispatch(plan, &index);
    if (pass == nullptr) return;
    const PassPart part = partOf(*pass, index);
    uint32_t count = tokens > part.begin[kToken] ? tokens - part.begin[kToken] : 0;
    if (count > part.count[kToken] || (pass->joined_tokens != 0 && tokens != 0)) count = part.count[kToken];
    groups[0] = static_cast<uint32_t>(groupCountX(*pass, count));
    groups[1] = part.count[kBatch];
    groups[2] = static_cast<uint32_t>(groupCountZ(*pass, part.count[kHead]));
}
