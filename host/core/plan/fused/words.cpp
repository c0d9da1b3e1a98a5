// This file completes the push words of a fused pass's dispatch: where its part of the tensors and of the cache lies in
// their bindings.
#include "plan/fused/words.h"
#include "plan/completion.h"
#include "plan/fused/dispatch.h"
#include "plan/fused/resolve.h"

#include <string.h>

namespace rope {
namespace {

// Returns what so many elements of a cache of integers take of its binding, in the binding's elements.
uint32_t storedElements(const RopePass& pass, uint32_t binding, uint64_t elements) {
    const uint64_t halves =
        elements * (pass.constants[ROPE_ID_CACHE_FORMAT] >> ROPE_FORMAT_HALVES) / ROPE_BLOCK_ELEMENTS;
    return static_cast<uint32_t>(halves * 2 / pass.access[binding].element_bytes);
}

bool storesScalesApart(const uint32_t* constants) {
    const uint32_t format = constants[ROPE_ID_CACHE_FORMAT];
    const bool is_given = (constants[ROPE_ID_K_SCALE] | constants[ROPE_ID_V_SCALE]) != 0;
    return format != 0 && (format & ROPE_FORMAT_BLOCKS) == 0 && !is_given;
}

// Returns the first sequence of the part in a cache that is bound from its first sequence on.
uint32_t firstSequence(const RopePass& pass, const PassPart& part, uint32_t binding) {
    return isCache(pass, binding) && pass.access[binding].stride[kBatch] == 0 ? part.begin[kBatch] : 0;
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
    const uint64_t first = sequence * words->kv_to_batch * destinationUnit(pass);
    const uint32_t shift =
        integers ? storedElements(pass, destinations[1], first) : static_cast<uint32_t>(first / unit);
    words->k_to += places[destinations[1]].offset / (integers ? 1 : unit) + shift;
    words->v_to += places[destinations[2]].offset / (integers ? 1 : unit) + shift;
    words->k_from += places[sources[1]].offset / unit;
    words->v_from += places[sources[2]].offset / unit;
    // Where heads share a sequence's stride, the plan set the word.
    const auto set_sequence = [&](uint32_t heads_id, const RopePlace& place, uint32_t* word) {
        if (constants[heads_id] < ROPE_SHARES_SEQUENCE) *word = place.batch / unit;
    };
    set_sequence(ROPE_ID_KV_SOURCE_HEAD, places[sources[1]], &words->kv_from_batch);
    if (!cached) words->kv_to_batch = places[destinations[1]].batch / unit;
    words->slot_map_at += part.begin[kBatch] * words->slot_map_batch;
    words->count_at += part.begin[kBatch] * constants[ROPE_ID_COUNT_STRIDE];
    const bool has_q = constants[ROPE_ID_Q_HEADS] != 0;
    if (storesScalesApart(constants)) {
        const uint32_t batch = has_q ? words->ROPE_SCALE_BATCH_BESIDE_Q : words->ROPE_SCALE_BATCH;
        const uint32_t scale_shift = static_cast<uint32_t>(sequence) * batch - shift;
        (has_q ? words->ROPE_K_SCALES_BESIDE_Q : words->ROPE_K_SCALES) += scale_shift;
        (has_q ? words->ROPE_V_SCALES_BESIDE_Q : words->ROPE_V_SCALES) += scale_shift;
    }
    if (!has_q) return;
    words->q_from += places[sources[0]].offset / unit;
    words->q_to += places[destinations[0]].offset / unit;
    set_sequence(ROPE_ID_Q_SOURCE_HEAD, places[sources[0]], &words->q_from_batch);
    set_sequence(ROPE_ID_Q_DESTINATION_HEAD, places[destinations[0]], &words->q_to_batch);
}

void completeFusedWords(const RopePass& pass, const PassPart& part, const RopePlace* places, uint32_t* push) {
    RopePush shared;
    RopeFusedPush words;
    memcpy(&shared, push, sizeof shared);
    memcpy(&words, pass.push, sizeof words);
    const RopeFusedPush planned = words;
    writeTokenWords(shared, &words);
    words.position_offset = planned.position_offset + part.begin[kBatch] * planned.position_batch +
                            part.begin[kToken] * planned.position_token;
    words.position_batch = planned.position_batch;
    words.position_token = planned.position_token;
    setFusedTensorWords(pass, part, places, &words);
    const uint32_t in_place = pass.constants[ROPE_ID_IN_PLACE], has_q = pass.constants[ROPE_ID_Q_HEADS] != 0;
    if (has_q && (in_place & 1) != 0) {
        words.q_from = words.q_to;
        words.q_from_batch = words.q_to_batch;
    }
    if ((in_place & (has_q ? 2 : 1)) != 0) {
        words.k_from = words.k_to;
        words.v_from = words.v_to;
        words.kv_from_batch = words.kv_to_batch;
    }
    memcpy(push, &words, sizeof words);
}

// Tensors may share a binding, and begin at words of their own in it.
bool findFusedBegin(const RopePass& pass, uint32_t tensor, bool source, TensorBegin* begin) {
    const uint32_t* constants = pass.constants;
    const uint32_t heads[] = {constants[ROPE_ID_Q_HEADS], constants[ROPE_ID_K_HEADS], constants[ROPE_ID_V_HEADS]};
    RopeFusedPush words;
    memcpy(&words, pass.push, sizeof words);
    const uint32_t from[] = {words.q_from, words.k_from, words.v_from}, to[] = {words.q_to, words.k_to, words.v_to};
    begin->binding = fusedBinding(pass, tensor, source);
    begin->element =
        pass.access[begin->binding].offset + uint64_t{source ? from[tensor] : to[tensor]} * pass.address_unit;
    return heads[tensor] != 0;
}

constexpr RopeCompletion kFusedCompletion = {completeFusedWords, findFusedBegin, true};

} // namespace

const RopeCompletion* fusedCompletion() { return &kFusedCompletion; }

} // namespace rope
