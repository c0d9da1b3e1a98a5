// This file fills in the defaults of fused passes, refuses contradictions, and makes a FusedTensor of each tensor that
// has heads.
#include "plan/fused/resolve.h"
#include "plan/cache_kinds.h"
#include "plan/description.h"
#include "plan/element_formats.h"
#include "plan/fused/biases.h"
#include "plan/fused/cache.h"
#include "plan/fused/hadamard.h"
#include "plan/fused/norms.h"

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

// True if pairing_out is another than pairing_in, before defaults are filled in.
bool changesPairing(const RopeRotation& r) {
    const RopePairing in = r.pairing == ROPE_PAIRING_DEFAULT ? ROPE_PAIRING_HALF : r.pairing;
    return r.pairing_out != ROPE_PAIRING_DEFAULT && r.pairing_out != in;
}

// Refuses contradictions between the options of a pass. `shift`: K rotates where it lies in the cache, by itself.
RopeResult checkFusedOptions(const RopeFusedDescription& g, RopeReason* reason) {
    const RopeQueryScale& scale = g.query_scale;
    const bool scaled = scale.count != 0, shift = shiftsCache(g), by_positions = g.cache.delta == 0;
    const char* const beside_shift = g.q.heads != 0               ? "q has heads"
                                     : g.v.heads != 0             ? "v has heads"
                                     : g.k.norm.kind != 0         ? "k.norm is set"
                                     : g.packed_qkv != 0          ? "packed_qkv is 1"
                                     : g.k.bias != 0              ? "k.bias is 1"
                                     : g.clip != 0                ? "clip is set"
                                     : changesPairing(g.rotation) ? "pairing_out is another than pairing"
                                                                  : nullptr;
    const RefusalRow refusals[] = {
        invalid(g.q.heads == 0 && g.k.heads == 0 && g.v.heads == 0,
                "q.heads, k.heads and v.heads are all 0; one tensor at least has heads"),
        invalid(g.v.heads != 0 && g.cache.kind == ROPE_CACHE_NONE && g.out_of_place == 0 && g.packed_qkv == 0,
                "v.heads is %u in place, not packed and without a cache; set out_of_place to 1, or give a cache",
                g.v.heads),
        invalid(g.tokens_counted != 0 && isPacked(g.positions),
                "tokens_counted with positions.kind %d; packed sequences are counted by their lengths",
                g.positions.kind),
        invalid(g.tokens_counted != 0 && g.rotation.skip_last != 0,
                "skip_last is %u with tokens_counted, and the plan does not know where the tokens end; leave it 0",
                g.rotation.skip_last),
        tooLarge(larger(larger(g.q.heads, g.k.heads), g.v.heads) > kMaxCount, "heads is %u; it may be at most %u",
                 larger(larger(g.q.heads, g.k.heads), g.v.heads), kMaxCount),
        tooLarge(g.tokens_offset > kMaxStride, "tokens_offset is %u; it may be at most 2^33 elements", g.tokens_offset),
        tooLarge(g.tokens_counted != 0 && g.tokens_batch_stride > kMaxStride,
                 "tokens_batch_stride is %u; it may be at most 2^33 elements", g.tokens_batch_stride),
        invalid(scaled && g.q.heads == 0, "query_scale.count is %u, and q has no heads; leave it 0", scale.count),
        invalid(scaled && scale.values == nullptr, "query_scale has %u values at null; it takes an array", scale.count),
        invalid(scale.count > kMaxQueryScales, "query_scale has %u values; it takes from 1 to %u", scale.count,
                kMaxQueryScales),
        invalid(scaled && (scale.interval == 0 || scale.offset >= 1u << 31),
                "query_scale.interval is %u and query_scale.offset is %u; 1 or more, and less than 2^31",
                scale.interval, scale.offset),
        invalid(shift && beside_shift != nullptr, "operation shift with a cache turns K alone where it lies, but %s"),
        invalid(shift && by_positions && g.cache.kind != ROPE_CACHE_SLOTS,
                "cache.delta is 0 with cache.kind %d, whose positions are slots; only SLOTS (%d) turn by positions",
                g.cache.kind, ROPE_CACHE_SLOTS),
        invalid(shift && !by_positions && g.rotation.source != ROPE_SOURCE_INLINE,
                "cache.delta is %d with source %d; it turns by computed angles, so use ROPE_SOURCE_INLINE",
                g.cache.delta, g.rotation.source),
    };
    return refuseByFirst(refusals, reason, beside_shift);
}

// Fills in how wide the heads of a tensor are, where their rotary part starts, and what the tensor is written as.
RopeResult resolveWidthAndElement(const char* name, bool turned, bool cached, const RopeRotateDescription& d,
                                  RopeFusedTensor* t, RopeReason* reason) {
    if (t->heads == 0) return ROPE_SUCCESS;
    const bool own = t->head_dim != 0, in_place = !cached && d.out_of_place == 0;
    if (!own) t->head_dim = d.head_dim;
    if (!turned) t->rotary_begin = own ? 0 : d.rotation.rotary_begin;
    if (turned && t->rotary_begin == 0) t->rotary_begin = d.rotation.rotary_begin;
    const RopeElement last = cached ? kLastElement : kLastTensorElement;
    const bool is_element = t->element >= ROPE_ELEMENT_DEFAULT && t->element <= last;
    const RefusalRow refusals[] = {
        invalid(t->head_dim > kMaxCount, "%s.head_dim is %u; it must be from 1 to %u, or 0", t->head_dim, kMaxCount),
        invalid(turned && uint64_t{t->rotary_begin} + d.rotation.rotary_dim > t->head_dim,
                "%s.head_dim is %u and %s.rotary_begin is %u; a rotary part of %u elements does not lie in it",
                t->head_dim, t->rotary_begin, d.rotation.rotary_dim),
        invalid(!is_element && cached, "%s.element is %d; it must be a RopeElement, 0 to %d", t->element, last),
        invalid(!is_element, "%s.element is %d; it must be a float without a cache, a RopeElement, 0 to %d", t->element,
                last),
        invalid(in_place && t->element != ROPE_ELEMENT_DEFAULT && t->element != d.element,
                "%s.element is %d in place, and element is %d; set out_of_place to 1", t->element, d.element),
    };
    if (t->element == ROPE_ELEMENT_DEFAULT) t->element = d.element;
    return refuseByFirst(refusals, reason, name);
}

bool rotates(const RopeFusedTensor& t) { return t.heads != 0 && t.no_rotation == 0; }

// Fills in all of a description but its tensors. The description is checked as a pass out of place, for tensors that
// are moved.
RopeResult resolveAllButTensors(ResolvedFused* fused, RopeReason* reason) {
    RopeFusedDescription* filled = &fused->filled;
    RopeResult result = checkFusedOptions(*filled, reason);
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
    const bool cached = filled->cache.kind != ROPE_CACHE_NONE;
    for (const FusedRole role : kFusedRoles) {
        RopeFusedTensor* t = tensorOf(filled, role);
        const char* name = kRoleNames[role];
        const bool turned = role != kV && rotates(*t);
        if (result == ROPE_SUCCESS) result = resolveWidthAndElement(name, turned, cached && role != kQ, d, t, reason);
        if (result == ROPE_SUCCESS) result = resolveNorm(name, d, t, reason);
    }
    if (result == ROPE_SUCCESS) result = checkHadamard(*filled, reason);
    if (result == ROPE_SUCCESS) result = resolveBiases(filled, reason);
    if (result == ROPE_SUCCESS && filled->packed_qkv != 0) result = setPackedSources(filled, reason);
    return result != ROPE_SUCCESS || !cached ? result : resolveCacheLayouts(d, filled, reason);
}

uint32_t stagesOf(const RopeFusedDescription& filled, const RopeFusedTensor& t, FusedRole role) {
    return (t.bias != 0 ? ROPE_STAGE_BIASES : 0) | (filled.clip != 0 ? ROPE_STAGE_CLIP : 0) |
           (t.norm.kind != ROPE_NORM_NONE ? ROPE_STAGE_NORM : 0) | (role != kV && rotates(t) ? ROPE_STAGE_TURN : 0) |
           (role == kQ && filled.query_scale.count != 0 ? ROPE_STAGE_SCALE : 0) |
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
    t->d.element = isForCaches(given.element) ? ROPE_ELEMENT_F32 : given.element; // what the shader rotates
    t->from_slot = t->to_slot;
}

// A tensor that does not rotate keeps the order of its elements.
void clearFusedRotation(RopeRotateDescription* d) {
    d->rotation.source = ROPE_SOURCE_INLINE;
    d->rotation.operation = ROPE_OPERATION_FORWARD;
    d->rotation.frequencies = {nullptr, d->rotation.rotary_dim / 2, 1, nullptr, 1};
    d->rotation.pairing_out = d->rotation.pairing;
}

// Returns what the caller says of a side. One token alone takes the pipeline of many, so packed heads have a stride
// too.
FusedSide sideOf(const RopeLayout& l, uint64_t packed_token) {
    return {{}, isPackedLayout(l) ? packed_token : l.token_stride, l.batch_stride, isPackedLayout(l)};
}

RopeResult addFusedTensor(FusedRole role, ResolvedFused* fused, RopeReason* reason) {
    static constexpr struct {
        const char *from, *to;
        RopeSlot slot, slot_out;
    } kRoles[] = {{"q.from", "q.to", ROPE_SLOT_Q, ROPE_SLOT_Q_OUT},
                  {"k.from", "k.to", ROPE_SLOT_K, ROPE_SLOT_K_OUT},
                  {"v.from", "v.to", ROPE_SLOT_V, ROPE_SLOT_V_OUT}};
    const RopeFusedDescription& filled = fused->filled;
    const RopeFusedTensor& given = tensorOf(filled, role);
    if (given.heads == 0) return ROPE_SUCCESS;
    FusedTensor* t = &fused->tensors[fused->count++];
    t->name = kRoleNames[role];
    t->role = role;
    t->d = rotationOf(filled);
    t->d.q = t->d.k = {};
    t->d.head_dim = given.head_dim;
    t->d.rotation.rotary_begin = given.rotary_begin;
    t->d.element_out = given.element;
    t->heads = given.heads;
    t->cached = t->role != kQ && filled.cache.kind != ROPE_CACHE_NONE;
    const bool in_place = t->cached ? shiftsCache(filled) : filled.out_of_place == 0;
    t->d.out_of_place = !in_place;
    t->stages = stagesOf(filled, given, role);
    if (t->role == kV && t->d.head_dim != filled.head_dim)
        t->d.rotation.rotary_dim = t->d.rotation.chunk_dim = 0; // it may not fit
    if (!t->takes(ROPE_STAGE_TURN)) clearFusedRotation(&t->d);
    t->norm = given.norm;
    t->bias_offset = given.bias_offset;
    t->from_slot = filled.packed_qkv != 0 ? ROPE_SLOT_Q : kRoles[role].slot;
    t->to_slot = in_place ? t->from_slot : kRoles[role].slot_out;
    RopeTensor sides = tensorOf(given);
    const uint64_t packed_token = static_cast<uint64_t>(t->heads) * t->d.head_dim;
    t->source = sideOf(sides.from, packed_token);
    t->destination = sideOf(in_place ? sides.from : sides.to, packed_token);
    if (t->cached) t->destination.packed = false;
    RopeResult result = ROPE_SUCCESS;
    if (!t->cached) {
        result = resolveTensor(kRoles[role].from, kRoles[role].to, t->d, &sides, reason);
        static_cast<RopeLayout&>(t->destination) = sides.to;
    } else if (!in_place) {
        result = resolveLayout(kRoles[role].from, t->d, t->heads, false, &sides.from, reason);
    }
    if (isShifted(*t))
        t->source.given_token = t->destination.given_token = 0; // a shift reads and writes the cache alone
    else
        static_cast<RopeLayout&>(t->source) = sides.from;
    if (t->cached) setCacheOfTensor(filled.cache, given, t);
    if (result == ROPE_SUCCESS && !isForCaches(*t)) result = checkInPlace(t->d, reason);
    return result != ROPE_SUCCESS || !needsVectors(*t) ? result : checkVectorGeometry(*t, reason);
}

} // namespace

RopeResult resolveFused(const RopeFusedDescription& given, ResolvedFused* fused, RopeReason* reason) {
    memset(fused, 0, sizeof *fused);
    fused->filled = given;
    RopeResult result = resolveAllButTensors(fused, reason);
    for (const FusedRole role : kFusedRoles)
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

// True if a tensor itself reads the lengths of packed sequences, also where rows rotate it.
static bool needsLengths(const FusedTensor& t) {
    return t.cached || t.takes(ROPE_STAGE_SCALE) ||
           (t.takes(ROPE_STAGE_TURN) && (t.d.rotation.skip_first != 0 || t.d.rotation.skip_last != 0));
}

// All rotated tensors of a pass treat a token alike, so each reads the lengths if any of them does. By the lengths a
// token behind the last sequence does not rotate.
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

ReadPositions selectPositions(const RopeRotateDescription& d, const PositionNeeds& needs) {
    ReadPositions read = {d.positions, d.rotation.frequencies};
    if (!needs.axes && !needs.set) read.frequencies.axes = nullptr; // a set lies behind the rows of all axes
    if (!needs.set) read.frequencies.sets = 1;
    if (!needs.axes && !needs.set && !needs.first_axis) keepOnlyLengths(needs.lengths, &read.positions);
    return read;
}

} // namespace rope
#endif
