// This file carries out fused passes on the CPU, a head at a time: the reference in double, and the shaders' own bits.
#include "plan/fused/cache.h"
#include "plan/left_out.h"
#include "reference/fused/biases.h"
#include "reference/fused/clip.h"
#include "reference/fused/convert.h"
#include "reference/fused/hadamard.h"
#include "reference/fused/norms.h"
#include "reference/fused/query_scale.h"
#include "reference/fused/turn.h"
#include "reference/slot.h"

#if !defined(VKROPE_NO_REFERENCE) && !defined(VKROPE_NO_FUSED)
namespace rope {
namespace {

// ---- Where a token goes

// Finds the token without the axes and sets of the rotation.
HostToken standingToken(const TensorWork& w, uint32_t batch, uint32_t number) {
    RopeFrequencies plain = {};
    plain.sets = 1;
    const HostRotation& r = w.rotation;
    return findToken(r.read.positions, plain, r.positions, r.d.tokens, batch, number);
}

HostToken turningToken(const TensorWork& w, uint32_t batch, uint32_t number, bool* turns) {
    HostToken token = rotationToken(w.rotation, batch, number, turns);
    *turns = *turns && w.t.takes(ROPE_STAGE_TURN);
    const RopeCache& cache = w.fused.filled.cache;
    for (int64_t& position : token.position)
        if (isTurnedByDelta(cache)) position = ROPE_WHOLE_POSITION(cache.delta);
    return token;
}

// Returns the tokens of a batch, read from its count of tokens if the description has one.
uint32_t countTokens(const ResolvedFused& fused, const void* positions, uint32_t batch) {
    const RopeFusedDescription& g = fused.filled;
    if (g.tokens_counted == 0) return g.tokens;
    const int64_t count = readInteger(positions, fused.count_element, g.tokens_offset + batch * g.tokens_batch_stride);
    return count < 0 ? 0 : count < g.tokens ? static_cast<uint32_t>(count) : g.tokens;
}

// Finds the slot of a token. A ring has none for a token that a later one of its
// sequence overtakes.
SlotOutcome placeInCache(const TensorWork& w, uint32_t batch, uint32_t number, const HostToken& standing,
                         uint64_t* slot) {
    const RopeCache& cache = w.fused.filled.cache;
    if (isLongRing(cache, w.t.d)) {
        const bool packed = isPacked(w.t.d.positions);
        const uint32_t left = packed ? standing.left : countTokens(w.fused, w.rotation.positions, batch) - number;
        if (left > cache.slots) return SlotOutcome::kSkipped;
    }
    return findSlot(cache, w.slot_map, batch, number, standing, slot);
}

// Finds where a token goes and by what it rotates. Returns false if nothing is written.
bool makeTokenWork(const TensorWork& w, uint32_t batch, uint32_t number, TokenWork* token) {
    const RopeRotateDescription& d = w.t.d;
    const RopeCache& cache = w.fused.filled.cache;
    token->standing = standingToken(w, batch, number);
    token->number = static_cast<uint64_t>(batch) * d.tokens + number;
    token->in_batch = number;
    token->from = headElement(w.t.source, batch, number, 0);
    token->to = headElement(w.t.destination, batch, number, 0);
    if (w.t.cached) {
        uint64_t slot;
        if (placeInCache(w, batch, number, token->standing, &slot) != SlotOutcome::kTaken) return false;
        token->to = slotElement(cache, w.t.cache, token->standing.sequence, slot);
        token->scale = slotElement(cache, w.t.scales, token->standing.sequence, slot);
        if (isShifted(w.t)) token->from = token->to;
    }
    token->turning = turningToken(w, batch, number, &token->turns);
    token->turns = token->turns && (d.rotation.source == ROPE_SOURCE_ROWS || !isOutside(d, token->turning));
    for (uint32_t pair = 0; token->turns && pair < smaller(d.rotation.rotary_dim, kMaxVectorHead) / 2; ++pair)
        findCosSin(w.rotation, token->number, token->turning, pair, &token->cos_sin[pair]);
    return true;
}

// ---- What becomes of its heads

// Takes the next elements of a head, if there are any left.
bool nextRun(const FusedTensor& t, HeadRun* run) {
    run->first += run->count;
    run->count = smaller(t.d.head_dim - run->first, kMaxVectorHead);
    return run->count != 0;
}

void moveHead(const HeadWork& h) {
    const RopeRotation& r = h.w.t.d.rotation;
    const bool normed_last = h.w.t.norm.after != 0;
    HeadRun run = {};
    while (nextRun(h.w.t, &run)) {
        load(h, &run);
        addBiases(h, &run);
        clip(h, &run);
        if (!normed_last) normRun(h, &run);
        if (isShifted(h.w.t)) transform(h, r.pairing, &run); // back
        turn(h, &run);
        if (normed_last) normRun(h, &run);
        scaleQueries(h, &run);
        transform(h, r.pairing_out, &run);
        store(h, run);
    }
}

// Returns the sum that a norm of all heads goes by.
Factor sumOfHeads(const TensorWork& w, const TokenWork& token) {
    Factor all = {};
    for (uint32_t head = 0; head < w.t.heads; ++head) {
        const HeadWork h = {w, token, head, {}};
        HeadRun run = {};
        nextRun(w.t, &run);
        load(h, &run);
        addBiases(h, &run);
        clip(h, &run);
        if (w.t.norm.after != 0) turn(h, &run);
        Factor mean;
        const Factor sum = sumOfHead(w.t, run, &mean);
        all = {all.reference + sum.reference, all.float32 + sum.float32};
    }
    return all;
}

// Carries one token of a tensor from its source to its destination.
void moveToken(const TensorWork& w, uint32_t batch, uint32_t number) {
    TokenWork token;
    if (!makeTokenWork(w, batch, number, &token)) return;
    if (isShifted(w.t) && isForCaches(w.t) && !token.turns) return; // it stays as it lies
    const Factor sum = normsAllHeads(w.t) ? sumOfHeads(w, token) : Factor{};
    for (uint32_t head = 0; head < w.t.heads; ++head) moveHead({w, token, head, sum});
}

// ---- The whole

TensorWork makeTensorWork(const ResolvedFused& fused, const FusedTensor& t, const RopeHostFused& data) {
    TensorWork w = {fused, t, makeHostRotation(t.d, data.positions, data.rows), {}, nullptr, nullptr, data.biases};
    w.slot_map = fused.filled.cache.map_in_positions != 0 ? data.positions : data.slot_map;
    w.weights = t.role == kQ ? data.q_weights : data.k_weights;
    w.rotation.read = fusedPositions(fused, t);
    const bool is_q = t.role == kQ;
    const bool is_k = t.role == kK;
    const bool in_k_out = is_k || (t.cached && t.to_slot == ROPE_SLOT_K_OUT);
    w.arrays.out = is_q ? data.q_out : in_k_out ? data.k_out : data.v_out;
    w.arrays.reference = is_q ? data.reference_q : is_k ? data.reference_k : data.reference_v;
    w.arrays.in = t.from_slot == ROPE_SLOT_Q       ? data.q
                  : t.from_slot == ROPE_SLOT_K     ? data.k
                  : t.from_slot == ROPE_SLOT_K_OUT ? data.k_out
                                                   : data.v;
    w.arrays.element_in = t.d.element;
    w.arrays.element_out = t.d.element_out;
    return w;
}

RopeResult checkArrays(const TensorWork& w, RopeReason* reason) {
    if (isIdle(w.t)) return ROPE_SUCCESS;
    const RopeFusedDescription& g = w.fused.filled;
    const bool reads = readsPositions(w.rotation.read.positions) || (w.t.cached && readsPositionsForSlots(g.cache)) ||
                       g.tokens_counted != 0;
    if (reads && w.rotation.positions == nullptr) return refuseNullPositions(reason);
    if (w.t.cached && readsSlotMap(g.cache) && w.slot_map == nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "the cache's slots are read from slot_map, which is null; it is an array here");
    }
    if (hasWeightsInBuffer(w.t.norm) && w.weights == nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s.norm.weights and %s_weights are null; give one of them, or set %s.norm.no_weights to 1",
                      w.t.name, w.t.name, w.t.name);
    }
    if (w.t.takes(ROPE_STAGE_BIASES) && w.biases == nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s.bias is 1 and biases is null; it is an array here", w.t.name);
    }
    if (w.arrays.in == nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s is read from %s, which is null; it is an array here", w.t.name,
                      w.t.from_slot == ROPE_SLOT_K_OUT ? "k_out"
                      : w.t.from_slot == ROPE_SLOT_Q   ? "q"
                                                       : w.t.name);
    }
    return w.t.takes(ROPE_STAGE_TURN) ? checkAngleSource(w.rotation, reason) : ROPE_SUCCESS;
}

// True if a token of this tensor cannot rotate though it should, or has no slot.
bool isMissed(const TensorWork& w, uint32_t batch, uint32_t number) {
    bool turns;
    uint64_t slot;
    const HostToken token = turningToken(w, batch, number, &turns);
    if (turns && w.t.d.rotation.source != ROPE_SOURCE_ROWS && isOutside(w.t.d, token)) return true;
    return w.t.cached &&
           placeInCache(w, batch, number, standingToken(w, batch, number), &slot) == SlotOutcome::kOutside;
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropeHostRunFused(const RopeFusedDescription* description, RopeHostFused* data, RopeReason* reason) {
    clear(reason);
    if (description == nullptr || data == nullptr) return refuseNull(reason, "description or data");
    ResolvedFused fused;
    RopeResult result = resolveFused(*description, &fused, reason);
    for (uint32_t i = 0; result == ROPE_SUCCESS && i < fused.count; ++i)
        result = checkArrays(makeTensorWork(fused, fused.tensors[i], *data), reason);
    if (result != ROPE_SUCCESS) return result;
    data->outside = 0;
    for (uint32_t batch = 0; batch < fused.filled.batch; ++batch) {
        const uint32_t tokens = countTokens(fused, data->positions, batch);
        for (uint32_t token = 0; token < tokens; ++token) {
            bool missed = false;
            for (uint32_t i = 0; i < fused.count; ++i) {
                TensorWork w = makeTensorWork(fused, fused.tensors[i], *data);
                forgetUnread(w.arrays.reference != nullptr, &w.rotation);
                if (isIdle(w.t)) continue;
                missed = missed || isMissed(w, batch, token);
                moveToken(w, batch, token);
            }
            data->outside += missed;
        }
    }
    return result;
}
#else

#ifdef VKROPE_NO_REFERENCE
RopeResult ropeHostRunFused(const RopeFusedDescription*, RopeHostFused*, RopeReason* reason) {
    return rope::refuseLeftOut("the CPU's reference", "REFERENCE", reason);
}
#else
RopeResult ropeHostRunFused(const RopeFusedDescription*, RopeHostFused*, RopeReason* reason) {
    return rope::refuseLeftOut("fused passes", "FUSED", reason);
}
#endif

#endif
