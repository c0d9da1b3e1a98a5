// This file binds the buffers of a fused pass: the lists in POSITIONS, the tensors, and the caches.
#include "plan/axes.h"
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"
#include "plan/enumerators.h"
#include "plan/fused_dispatch.h"

#include <string.h>

namespace rope {
namespace {

uint32_t lowWord(uint64_t value) { return static_cast<uint32_t>(value); }

uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }
uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

// This many bytes lie beyond any binding. Sums of a few of them stay within 64 bits.
constexpr uint64_t kBeyondBindings = 1ull << 56;

// Returns a * b, or kBeyondBindings if the product is larger.
uint64_t boundedProduct(uint64_t a, uint64_t b) { return a != 0 && b > kBeyondBindings / a ? kBeyondBindings : a * b; }

// Returns the bytes from the beginning of POSITIONS to the end of one list, whose elements the shader reads.
uint64_t listBytes(uint64_t offset, uint64_t rows, uint64_t row_stride, uint64_t entries, uint64_t stride,
                   uint32_t bytes) {
    return boundedProduct(smaller(offset, kBeyondBindings) + boundedProduct(rows - 1, row_stride) +
                              boundedProduct(entries - 1, stride) + 1,
                          bytes);
}

// Returns the bytes from the beginning of POSITIONS to the end of the slot map or block table.
uint64_t slotMapBytes(const RopeFusedDescription& filled, const RopeRotateDescription& d) {
    const RopeCache& cache = filled.cache;
    const uint32_t bytes = ropePositionBytes(cache.slot_map_element);
    switch (cacheKind(cache).map) {
    case SlotMap::kSlots:
        return listBytes(cache.slot_map_offset, d.batch, cache.slot_map_batch_stride, d.tokens,
                         cache.slot_map_token_stride, bytes);
    case SlotMap::kPages:
        return listBytes(cache.slot_map_offset, sequencesOf(d), cache.slot_map_batch_stride, cache.table_pages, 1,
                         bytes);
    default:
        return 0;
    }
}

} // namespace

void setPositionBuffer(const ResolvedFused& fused, const FusedTensor& t, bool cached, RopePush* push, RopePass* pass) {
    const RopeFusedDescription& filled = fused.filled;
    const RopeRotateDescription& d = t.d;
    RopePositions positions;
    RopeFrequencies frequencies;
    selectFusedPositions(fused, t, &positions, &frequencies);
    setPositions(positions, frequencies, push, pass);
    setWindow(d, push, pass);
    uint64_t bytes = cached ? slotMapBytes(filled, d) : 0;
    if (readsPositions(positions)) {
        const RopeAccess access = positionAccess(positions, frequencies);
        bytes = larger(bytes, listBytes(access.offset + access.extent - 1, d.batch, access.stride[0], d.tokens,
                                        access.stride[1], access.element_bytes));
        push->position_offset = lowWord(positions.offset);
        push->position_token = lowWord(access.stride[1]);
        if (!isPacked(positions)) push->position_batch = lowWord(access.stride[0]);
    } else {
        pass->constants[ROPE_ID_POSITION_ELEMENT] = shaderPositionElement(fused.count_element);
    }
    if (filled.tokens_counted != 0) {
        pass->constants[ROPE_ID_COUNTED] = 1;
        push->ROPE_COUNT_AT = lowWord(filled.tokens_offset);
        bytes = larger(bytes, (filled.tokens_offset + 1) * ropePositionBytes(fused.count_element));
    }
    pass->family = kFusedFamily;
    pass->joinable = 0;
    pass->whole_bindings |= 1u << ROPE_BINDING_POSITIONS;
    if (bytes == 0) return;
    pass->access[ROPE_BINDING_POSITIONS] = {ROPE_SLOT_POSITIONS, sizeof(uint32_t), 0, {0, 0, 0}, (bytes + 3) / 4};
}

void setCacheWords(const RopeCache& cache, uint32_t sequences, RopePush* push, RopePass* pass) {
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_PAGE_SIZE] = 1; // the shader divides by it, with a cache or without
    if (cache.kind == ROPE_CACHE_NONE) return;
    constants[ROPE_ID_CACHE] = cacheKind(cache).number;
    constants[ROPE_ID_SLOT_MAP_WIDE] = cache.slot_map_element == ROPE_POSITION_INT64;
    constants[ROPE_ID_SLOT_MAP_BATCH] =
        sequences == 1 ? 0 : lowWord(cache.slot_map_batch_stride); // one sequence then takes one pipeline at any stride
    constants[ROPE_ID_SLOT_MAP_TOKEN] =
        cacheKind(cache).map == SlotMap::kPages ? cache.table_pages : lowWord(cache.slot_map_token_stride);
    constants[ROPE_ID_SLOTS] = cache.slots;
    constants[ROPE_ID_PAGE_SIZE] = cache.page_size;
    push->ROPE_SLOT_MAP_AT = lowWord(cache.slot_map_offset);
    if (cache.shift == 0 || cache.delta == 0) return;
    constants[ROPE_ID_SHIFT] = 1;
    memcpy(&push->ROPE_DELTA, &cache.delta, sizeof cache.delta);
}

namespace {

// Returns the elements from a cache's first to behind its last.
uint64_t cacheElements(const RopeCache& cache, const FusedTensor& tensor, const RopeCacheLayout& layout, uint32_t dim) {
    const uint32_t batches = layout.batch_stride != 0 ? sequencesOf(tensor.d) : 1;
    return (batches - 1) * layout.batch_stride + (cache.slots / cache.page_size - 1ull) * layout.page_stride +
           (cache.page_size - 1ull) * layout.slot_stride + (tensor.heads - 1ull) * layout.head_stride + dim;
}

// Returns elements in the units that the shader counts: 32-bit words if integers are stored.
uint64_t destinationUnits(RopeElement element, uint64_t elements) {
    return isForCaches(element) ? elementBytes(element, elements) / sizeof(uint32_t) : elements;
}

// A range of a destination, in the units that the shader counts.
struct DestinationRange {
    uint64_t begin, end;
};

// Returns the range that a tensor takes of its cache, its scales among it.
DestinationRange cacheRange(const FusedDispatch& dispatch, const FusedTensor& tensor) {
    const RopeCache& cache = dispatch.fused.filled.cache;
    const RopeElement element = tensor.d.element_out;
    DestinationRange r;
    r.begin = destinationUnits(element, tensor.cache.offset);
    r.end = r.begin + destinationUnits(element, cacheElements(cache, tensor, tensor.cache, tensor.d.head_dim));
    if (formatOf(element).scale != ElementScale::kApart) return r;
    const uint64_t scales = cacheElements(cache, tensor, tensor.scales, 1);
    return {smaller(r.begin, tensor.scales.offset), larger(r.end, tensor.scales.offset + scales)};
}

RopeAccess cacheAccess(const FusedTensor& tensor, const DestinationRange& r) {
    const uint32_t bytes = isForCaches(tensor) ? sizeof(uint32_t) : ropeElementBytes(tensor.d.element_out);
    return {static_cast<uint32_t>(tensor.to_slot), bytes, r.begin, {0, 0, 0}, r.end - r.begin};
}

// Returns where a tensor's cache begins, in the units that the shader counts.
uint64_t cacheOffsetUnits(const FusedTensor& tensor) {
    return destinationUnits(tensor.d.element_out, tensor.cache.offset);
}

void setCacheBindings(const FusedDispatch& dispatch, RopePush* push, RopePass* pass) {
    const FusedTensor& k = dispatch.tensor;
    DestinationRange r = cacheRange(dispatch, k);
    uint64_t first = cacheOffsetUnits(k);
    uint32_t* constants = pass->constants;
    const bool scales = formatOf(k.d.element_out).scale == ElementScale::kApart;
    if (scales) constants[ROPE_ID_SCALE_AT] = lowWord(k.scales.offset - cacheOffsetUnits(k));
    if (dispatch.v != nullptr) {
        const DestinationRange v = cacheRange(dispatch, *dispatch.v);
        if (scales) constants[ROPE_ID_SCALE_V] = lowWord(dispatch.v->scales.offset - cacheOffsetUnits(*dispatch.v));
        if (dispatch.v_has_buffers) {
            pass->access[ROPE_BINDING_DESTINATION_V] = cacheAccess(*dispatch.v, v);
            push->ROPE_DESTINATION_V_AT = lowWord(cacheOffsetUnits(*dispatch.v) - v.begin);
        } else {
            r = {smaller(r.begin, v.begin), larger(r.end, v.end)};
            first = smaller(first, cacheOffsetUnits(*dispatch.v));
            constants[ROPE_ID_DESTINATION_V] = lowWord(cacheOffsetUnits(*dispatch.v) - cacheOffsetUnits(k));
        }
    }
    pass->access[ROPE_BINDING_DESTINATION] = cacheAccess(k, r);
    pass->whole_bindings |= 1u << ROPE_BINDING_DESTINATION;
    push->destination = {lowWord(first - r.begin), lowWord(k.cache.batch_stride), lowWord(k.cache.slot_stride), 0};
    constants[ROPE_ID_PAGE_STRIDE] = lowWord(k.cache.page_stride);
    constants[ROPE_ID_SCALE_BATCH] = lowWord(k.scales.batch_stride);
    constants[ROPE_ID_SCALE_PAGE] = lowWord(k.scales.page_stride);
    constants[ROPE_ID_SCALE_SLOT] = lowWord(k.scales.slot_stride);
    constants[ROPE_ID_SCALE_HEAD] = lowWord(k.scales.head_stride);
}

// Describes all heads of a token as one element range: a fused pass does not split heads between dispatches.
RopeAccess allHeadsAccess(RopeSlot slot, const RopeLayout& layout, RopeElement element, const FusedTensor& tensor) {
    RopeAccess access = tensorAccess(slot, layout, element, tensor.d.head_dim);
    access.extent += (tensor.heads - 1) * layout.head_stride;
    access.stride[2] = 0;
    return access;
}

// Binds K and V in one binding, or V in a binding of its own. In one binding, a constant has the elements from K to V.
void bindTensors(const FusedDispatch& dispatch, uint32_t binding, uint32_t v_binding, uint32_t v_constant,
                 const RopeAccess& k, const RopeAccess& v, RopePass* pass) {
    pass->access[binding] = k;
    if (dispatch.v == nullptr) return;
    if (dispatch.v_has_buffers) {
        pass->access[v_binding] = v;
        return;
    }
    const uint64_t begin = smaller(k.offset, v.offset);
    pass->access[binding].offset = begin;
    pass->access[binding].extent = larger(k.offset + k.extent, v.offset + v.extent) - begin;
    pass->constants[v_constant] = lowWord(v.offset - k.offset);
}

} // namespace

void setTensorBindings(const FusedDispatch& dispatch, RopePush* push, RopePass* pass) {
    const FusedTensor& t = dispatch.tensor;
    const FusedTensor& v = dispatch.v != nullptr ? *dispatch.v : t;
    pass->constants[ROPE_ID_SOURCE_HEAD] = lowWord(sourceHeadStride(t));
    pass->constants[ROPE_ID_DESTINATION_HEAD] = lowWord(destinationHeadStride(t));
    if (t.d.out_of_place != 0) {
        bindTensors(dispatch, ROPE_BINDING_SOURCE, ROPE_BINDING_SOURCE_V, ROPE_ID_SOURCE_V,
                    allHeadsAccess(t.from_slot, t.source, t.d.element_in, t),
                    allHeadsAccess(v.from_slot, v.source, v.d.element_in, v), pass);
    }
    if (t.cached) return setCacheBindings(dispatch, push, pass);
    bindTensors(dispatch, ROPE_BINDING_DESTINATION, ROPE_BINDING_DESTINATION_V, ROPE_ID_DESTINATION_V,
                allHeadsAccess(t.to_slot, t.destination, t.d.element_out, t),
                allHeadsAccess(v.to_slot, v.destination, v.d.element_out, v), pass);
}

RopeResult checkCacheRange(const RopePass& pass, const RopeLimits& limits, RopeReason* reason) {
    const int bindings[] = {ROPE_BINDING_DESTINATION, ROPE_BINDING_DESTINATION_V};
    for (const int binding : bindings) {
        const RopeAccess& cache = pass.access[binding];
        if (boundedProduct(cache.extent, cache.element_bytes) <= limits.storage_range) continue;
        return refuse(
            reason, ROPE_ERROR_TOO_LARGE,
            "a cache is bound whole and this one spans %llu bytes, more than the %llu that a binding may; use "
            "fewer slots, or K and V in buffers of their own",
            static_cast<unsigned long long>(boundedProduct(cache.extent, cache.element_bytes)),
            static_cast<unsigned long long>(limits.storage_range));
    }
    return ROPE_SUCCESS;
}

} // namespace rope
