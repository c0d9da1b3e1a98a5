// This file fills in the defaults of fused passes, refuses contradictions, and makes a FusedTensor of each tensor that
// has heads.
#include "plan/fused/resolve.h"
#include "plan/cache_kinds.h"
#include "plan/description.h"
#include "plan/element_formats.h"
#include "plan/fused/biases.h"
#include "plan/fused/cache.h"
#include "plan/fused/geometry.h"
#include "plan/fused/hadamard.h"
#include "plan/fused/norms.h"
#include "rules/fixed.h"

#include <string.h>

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

constexpr uint32_t kMaxQueryScales = 1u << 16;

bool isPackedLayout(const RopeLayout& l) { return (l.batch_stride | l.token_stride | l.head_stride) == 0; }

// Sets the sources of tensors that are packed as rows of Q, K and V heads. Strides that the caller gives stay.
RopeResult setPackedSources(RopeFusedDescription* filled, RopeReason* reason) {
    RopeFusedTensor* tensors[] = {&filled->q, &filled->k, &filled->v};
    uint64_t row = 0;
    for (const RopeFusedTensor* tensor : tensors) {
        if (!isPackedLayout(tensor->from)) return ROPE_SUCCESS;
        row += static_cast<uint64_t>(tensor->heads) * tensor->head_dim;
    }
    RopeResult result = checkElementCount("packed rows", "token", row, filled->tokens, reason);
    uint64_t before = 0;
    for (RopeFusedTensor* tensor : tensors) {
        if (result == ROPE_SUCCESS) result = checkOffset("packed rows", tensor->from.offset, reason);
        tensor->from = {tensor->from.offset + before, filled->tokens * row, row, tensor->head_dim};
        before += static_cast<uint64_t>(tensor->heads) * tensor->head_dim;
    }
    return result;
}

RopeResult checkQueryScale(const RopeFusedDescription& given, RopeReason* reason) {
    const RopeQueryScale& scale = given.query_scale;
    if (scale.count == 0) return ROPE_SUCCESS;
    if (given.q.heads == 0) {
        return refuse(reason, ROPE_ERROR_INVALID, "query_scale.count is %u, and q has no heads; leave it 0",
                      scale.count);
    }
    if (scale.values == nullptr || scale.count > kMaxQueryScales) {
        return refuse(reason, ROPE_ERROR_INVALID, "query_scale has %u values at %s; it takes from 1 to %u, an array",
                      scale.count, scale.values == nullptr ? "null" : "an address", kMaxQueryScales);
    }
    if (scale.interval != 0 && scale.offset < 1u << 31) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "query_scale.interval is %u and query_scale.offset is %u; 1 or more, and less than 2^31",
                  scale.interval, scale.offset);
}

// True if pairing_out is another than pairing_in, before defaults are filled in.
bool changesPairing(const RopeRotation& r) {
    const RopePairing in = r.pairing == ROPE_PAIRING_DEFAULT ? ROPE_PAIRING_HALF : r.pairing;
    return r.pairing_out != ROPE_PAIRING_DEFAULT && r.pairing_out != in;
}

// Refuses options that a cache turned where it lies cannot have.
RopeResult checkShift(const RopeFusedDescription& given, RopeReason* reason) {
    if (!shiftsCache(given)) return ROPE_SUCCESS;
    const RopeCache& cache = given.cache;
    const char* what = given.q.heads != 0               ? "q has heads"
                       : given.v.heads != 0             ? "v has heads"
                       : given.k.norm.kind != 0         ? "k.norm is set"
                       : given.packed_qkv != 0          ? "packed_qkv is 1"
                       : given.k.bias != 0              ? "k.bias is 1"
                       : given.clip != 0                ? "clip is set"
                       : changesPairing(given.rotation) ? "pairing_out is another than pairing"
                                                        : nullptr;
    if (what != nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID, "operation shift with a cache turns K alone where it lies, but %s",
                      what);
    }
    if (cache.delta == 0 && cache.kind != ROPE_CACHE_SLOTS) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "cache.delta is 0 with cache.kind %d, whose positions are slots; only SLOTS (%d) turn by positions",
            static_cast<int>(cache.kind), ROPE_CACHE_SLOTS);
    }
    if (cache.delta == 0 || given.rotation.source == ROPE_SOURCE_INLINE) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "cache.delta is %d with source %d; it turns by computed angles, so use "
                  "ROPE_SOURCE_INLINE",
                  cache.delta, static_cast<int>(given.rotation.source));
}

// Checks which tensors have heads, and the options that depend on it.
RopeResult checkFusedTensors(const RopeFusedDescription& given, RopeReason* reason) {
    if (given.q.heads == 0 && given.k.heads == 0 && given.v.heads == 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "q.heads, k.heads and v.heads are all 0; one tensor at least has heads");
    }
    if (given.v.heads != 0 && given.cache.kind == ROPE_CACHE_NONE && given.out_of_place == 0 && given.packed_qkv == 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "v.heads is %u in place, not packed and without a cache; set out_of_place to 1, or give a cache",
                      given.v.heads);
    }
    if (given.tokens_counted != 0 && isPacked(given.positions)) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "tokens_counted with positions.kind %d; packed sequences are counted by their lengths",
                      static_cast<int>(given.positions.kind));
    }
    if (given.tokens_counted != 0 && given.rotation.skip_last != 0) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "skip_last is %u with tokens_counted, and the plan does not know where the tokens end; leave it 0",
            given.rotation.skip_last);
    }
    RopeResult result = checkHeads(given.q.heads, reason);
    if (result == ROPE_SUCCESS) result = checkHeads(given.k.heads, reason);
    if (result == ROPE_SUCCESS) result = checkHeads(given.v.heads, reason);
    if (result == ROPE_SUCCESS) result = checkStrideLimit("tokens_offset", given.tokens_offset, reason);
    if (result != ROPE_SUCCESS || given.tokens_counted == 0) return result;
    return checkStrideLimit("tokens_batch_stride", given.tokens_batch_stride, reason);
}

// Fills in how wide the heads of a tensor are, and where their rotary part starts.
RopeResult resolveWidth(const char* name, bool turned, const RopeRotateDescription& d, RopeFusedTensor* tensor,
                        RopeReason* reason) {
    if (tensor->heads == 0) return ROPE_SUCCESS;
    const bool own = tensor->head_dim != 0;
    if (!own) tensor->head_dim = d.head_dim;
    if (tensor->head_dim > kMaxCount) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s.head_dim is %u; it must be from 1 to %u, or 0", name,
                      tensor->head_dim, kMaxCount);
    }
    if (!turned) tensor->rotary_begin = own ? 0 : d.rotation.rotary_begin;
    if (turned && tensor->rotary_begin == 0) tensor->rotary_begin = d.rotation.rotary_begin;
    const uint64_t end = uint64_t{tensor->rotary_begin} + d.rotation.rotary_dim;
    if (!turned || end <= tensor->head_dim) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "%s.head_dim is %u and %s.rotary_begin is %u; a rotary part of %u elements does not lie in it", name,
                  tensor->head_dim, name, tensor->rotary_begin, d.rotation.rotary_dim);
}

// Fills in what a tensor is written as.
RopeResult resolveElement(const char* name, bool cached, bool in_place, RopeElement given, RopeFusedTensor* tensor,
                          RopeReason* reason) {
    if (tensor->heads == 0) return ROPE_SUCCESS;
    RopeElement& element = tensor->element;
    const RopeElement last = cached ? kLastElement : kLastTensorElement;
    if (element < ROPE_ELEMENT_DEFAULT || element > last) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s.element is %d; it must be %sRopeElement, 0 to %d", name,
                      static_cast<int>(element), cached ? "a " : "a float without a cache, a ", last);
    }
    if (element == ROPE_ELEMENT_DEFAULT) element = given;
    if (!in_place || element == given) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "%s.element is %d in place, and element is %d; set out_of_place to 1",
                  name, static_cast<int>(element), static_cast<int>(given));
}

bool rotates(const RopeFusedTensor& t) { return t.heads != 0 && t.no_rotation == 0; }

// Fills in all of a description but its tensors. The description is checked as a pass out of place, for tensors that
// are moved.
RopeResult resolveAllButTensors(ResolvedFused* fused, RopeReason* reason) {
    RopeFusedDescription* filled = &fused->filled;
    RopeResult result = checkFusedTensors(*filled, reason);
    if (result == ROPE_SUCCESS) result = checkQueryScale(*filled, reason);
    if (result == ROPE_SUCCESS) result = checkShift(*filled, reason);
    if (result != ROPE_SUCCESS) return result;
    RopeRotateDescription d = rotationOf(*filled);
    const bool wide = ropePositionBytes(d.positions.element) == 8;
    fused->count_element = wide ? ROPE_POSITION_INT64 : ROPE_POSITION_INT32;
    d.element_out = ROPE_ELEMENT_DEFAULT; // each tensor says its own
    d.out_of_place = 1;
    result = resolveWithoutTensors(rotates(filled->q) || rotates(filled->k), &d, reason);
    d.out_of_place = filled->out_of_place;
    filled->batch = d.batch;
    filled->element = d.element;
    filled->rotation = d.rotation;
    filled->positions = d.positions;
    if (!shiftsCache(*filled)) filled->cache.delta = 0;
    if (result == ROPE_SUCCESS) result = resolveCache(d, &filled->cache, reason);
    const bool cached = filled->cache.kind != ROPE_CACHE_NONE, in_place = filled->out_of_place == 0;
    if (result == ROPE_SUCCESS) result = resolveWidth("q", rotates(filled->q), d, &filled->q, reason);
    if (result == ROPE_SUCCESS) result = resolveWidth("k", rotates(filled->k), d, &filled->k, reason);
    if (result == ROPE_SUCCESS) result = resolveWidth("v", false, d, &filled->v, reason);
    if (result == ROPE_SUCCESS) result = resolveElement("q", false, in_place, d.element, &filled->q, reason);
    if (result == ROPE_SUCCESS)
        result = resolveElement("k", cached, !cached && in_place, d.element, &filled->k, reason);
    if (result == ROPE_SUCCESS)
        result = resolveElement("v", cached, !cached && in_place, d.element, &filled->v, reason);
    if (result == ROPE_SUCCESS) result = resolveNorm("q", d, filled->q, &filled->q.norm, reason);
    if (result == ROPE_SUCCESS) result = resolveNorm("k", d, filled->k, &filled->k.norm, reason);
    if (result == ROPE_SUCCESS) result = resolveNorm("v", d, filled->v, &filled->v.norm, reason);
    if (result == ROPE_SUCCESS) result = checkHadamard(*filled, reason);
    if (result == ROPE_SUCCESS) result = resolveBiases(filled, reason);
    if (result == ROPE_SUCCESS && filled->packed_qkv != 0) result = setPackedSources(filled, reason);
    return result != ROPE_SUCCESS || !cached ? result : resolveCacheLayouts(d, filled, reason);
}

// The part that a tensor plays: its names in refusals, and the buffers that it takes by default.
struct TensorRole {
    const char *name, *source_name, *destination_name;
    const RopeFusedTensor& tensor;
    RopeSlot slot, slot_out;
    FusedRole role;
};

uint32_t stagesOf(const RopeFusedDescription& filled, const TensorRole& role) {
    const RopeFusedTensor& t = role.tensor;
    return (t.bias != 0 ? ROPE_STAGE_BIASES : 0) | (filled.clip != 0 ? ROPE_STAGE_CLIP : 0) |
           (t.norm.kind != ROPE_NORM_NONE ? ROPE_STAGE_NORM : 0) |
           (role.role != kV && rotates(t) ? ROPE_STAGE_TURN : 0) |
           (role.role == kQ && filled.query_scale.count != 0 ? ROPE_STAGE_SCALE : 0) |
           (isForCaches(t.element) ? ROPE_STAGE_QUANTIZE : 0) | hadamardStage(t.hadamard);
}

// Sets where a cached tensor lies in the cache, and that it is written there.
void setCacheOfTensor(const RopeCache& cache, const RopeFusedTensor& given, FusedTensor* t) {
    t->cache = given.to;
    t->has_scales = storesScales(given);
    if (t->has_scales) t->scales = given.stored_scales;
    t->given_scale = given.given_scale;
    t->to_slot = t->role == kV && cache.one_buffer == 0 ? ROPE_SLOT_V_OUT : ROPE_SLOT_K_OUT;
    if (!isShifted(*t)) return;
    t->d.element = isForCaches(given.element) ? ROPE_ELEMENT_F32 : given.element; // what the shader turns
    t->from_slot = t->to_slot;
}

// A tensor that does not turn keeps the order of its elements.
void clearFusedRotation(RopeRotateDescription* d) {
    d->rotation.source = ROPE_SOURCE_INLINE;
    d->rotation.operation = ROPE_OPERATION_FORWARD;
    d->rotation.frequencies = {nullptr, d->rotation.rotary_dim / 2, 1, nullptr, 1};
    d->rotation.pairing_out = d->rotation.pairing;
}

// Returns the stride that the caller gives, or that of packed heads. One token alone takes the pipeline of many so.
uint64_t tokenStride(const RopeLayout& l, uint64_t packed_token) {
    return isPackedLayout(l) ? packed_token : l.token_stride;
}

RopeResult addFusedTensor(const TensorRole& role, ResolvedFused* fused, RopeReason* reason) {
    const RopeFusedTensor& given = role.tensor;
    if (given.heads == 0) return ROPE_SUCCESS;
    const RopeFusedDescription& filled = fused->filled;
    FusedTensor* t = &fused->tensors[fused->count++];
    t->name = role.name;
    t->role = role.role;
    t->d = rotationOf(filled);
    t->d.q = t->d.k = {};
    t->d.head_dim = given.head_dim;
    t->d.rotation.rotary_begin = given.rotary_begin;
    t->d.element_out = given.element;
    t->heads = given.heads;
    t->cached = t->role != kQ && filled.cache.kind != ROPE_CACHE_NONE;
    const bool in_place = t->cached ? shiftsCache(filled) : filled.out_of_place == 0;
    t->d.out_of_place = !in_place;
    t->stages = stagesOf(filled, role);
    if (t->role == kV && t->d.head_dim != filled.head_dim)
        t->d.rotation.rotary_dim = t->d.rotation.chunk_dim = 0; // it may not fit
    if (!t->takes(ROPE_STAGE_TURN)) clearFusedRotation(&t->d);
    t->norm = given.norm;
    t->bias_offset = given.bias_offset;
    t->from_slot = filled.packed_qkv != 0 ? ROPE_SLOT_Q : role.slot;
    t->to_slot = in_place ? t->from_slot : role.slot_out;
    RopeTensor sides = tensorOf(given);
    const RopeLayout& to = in_place ? sides.from : sides.to;
    const uint64_t packed_token = static_cast<uint64_t>(t->heads) * t->d.head_dim;
    t->source_token = tokenStride(sides.from, packed_token);
    t->destination_token = tokenStride(to, packed_token);
    t->source_batch = sides.from.batch_stride;
    t->destination_batch = to.batch_stride;
    t->source_packed = isPackedLayout(sides.from);
    t->destination_packed = !t->cached && isPackedLayout(to);
    RopeResult result = ROPE_SUCCESS;
    if (!t->cached) {
        result = resolveTensor(role.source_name, role.destination_name, t->d, &sides, reason);
        t->destination = sides.to;
    } else if (!in_place) {
        result = resolveLayout(role.source_name, t->d, t->heads, false, &sides.from, reason);
    }
    if (isShifted(*t))
        t->source_token = t->destination_token = 0; // a shift reads and writes the cache alone
    else
        t->source = sides.from;
    if (t->cached) setCacheOfTensor(filled.cache, given, t);
    if (result == ROPE_SUCCESS && !isForCaches(*t)) result = checkInPlace(t->d, reason);
    return result != ROPE_SUCCESS || !needsVectors(*t) ? result : checkVectorGeometry(*t, reason);
}

} // namespace

RopeResult resolveFused(const RopeFusedDescription& given, ResolvedFused* fused, RopeReason* reason) {
    memset(fused, 0, sizeof *fused);
    fused->filled = given;
    RopeFusedDescription* filled = &fused->filled;
    RopeResult result = resolveAllButTensors(fused, reason);
    const TensorRole roles[] = {{"q", "q.from", "q.to", filled->q, ROPE_SLOT_Q, ROPE_SLOT_Q_OUT, kQ},
                                {"k", "k.from", "k.to", filled->k, ROPE_SLOT_K, ROPE_SLOT_K_OUT, kK},
                                {"v", "v.from", "v.to", filled->v, ROPE_SLOT_V, ROPE_SLOT_V_OUT, kV}};
    for (const TensorRole& role : roles)
        if (result == ROPE_SUCCESS) result = addFusedTensor(role, fused, reason);
    if (result != ROPE_SUCCESS) return result;
    bool idle = true;
    for (uint32_t i = 0; i < fused->count; ++i) idle = idle && isIdle(fused->tensors[i]);
    if (idle) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "nothing turns, is normed, scaled or moved; set out_of_place to 1 or a cache, or leave the pass out");
    }
    return checkPositionRegions(*fused, reason);
}

// True if a tensor itself reads the lengths of packed sequences, also where rows turn it.
static bool needsLengths(const FusedTensor& t) {
    return t.cached || t.takes(ROPE_STAGE_SCALE) ||
           (t.takes(ROPE_STAGE_TURN) && (t.d.rotation.skip_first != 0 || t.d.rotation.skip_last != 0));
}

// Tensors may share a dispatch, so what one of them knows of a token all that turn know: with the lengths a token
// behind the last sequence does not turn.
PositionNeeds positionNeeds(const ResolvedFused& fused, const FusedTensor& t) {
    const RopeCache& cache = fused.filled.cache;
    const bool by_angles = t.takes(ROPE_STAGE_TURN) && t.d.rotation.source != ROPE_SOURCE_ROWS;
    PositionNeeds needs;
    needs.axes = by_angles && !isTurnedByDelta(cache);
    needs.set = by_angles && t.d.rotation.frequencies.sets > 1;
    needs.first_axis = t.takes(ROPE_STAGE_SCALE) || (t.cached && cacheKind(cache).by_position);
    needs.lengths = needsLengths(t);
    for (uint32_t i = 0; t.takes(ROPE_STAGE_TURN) && i < fused.count; ++i)
        needs.lengths = needs.lengths || needsLengths(fused.tensors[i]);
    return needs;
}

void selectPositions(const RopeRotateDescription& d, const PositionNeeds& needs, RopePositions* positions,
                     RopeFrequencies* frequencies) {
    *positions = d.positions;
    *frequencies = d.rotation.frequencies;
    if (!needs.axes && !needs.set) frequencies->axes = nullptr; // a set lies behind the rows of all axes
    if (!needs.set) frequencies->sets = 1;
    if (!needs.axes && !needs.set && !needs.first_axis) keepOnlyLengths(needs.lengths, positions);
}

} // namespace rope
#endif
