// This file binds the buffers of a fused pass: the lists in POSITIONS, the tensors, and the caches.
#include "plan/fused/bindings.h"
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"
#include "plan/enumerators.h"
#include "plan/fused/cache.h"
#include "plan/fused/record.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

// This many bytes lie beyond any binding. Sums of a few of them stay within 64 bits.
constexpr uint64_t kBeyondBindings = 1ull << 56;

// Returns a * b, or kBeyondBindings if the product is larger.
uint64_t boundedProduct(uint64_t a, uint64_t b) { return a != 0 && b > kBeyondBindings / a ? kBeyondBindings : a * b; }

// Returns the bytes from the beginning of a buffer to the end of one list, whose elements the shader reads.
uint64_t listBytes(uint64_t offset, uint64_t rows, uint64_t row_stride, uint64_t entries, uint64_t stride,
                   uint32_t bytes) {
    return boundedProduct(smaller(offset, kBeyondBindings) + boundedProduct(rows - 1, row_stride) +
                              boundedProduct(entries - 1, stride) + 1,
                          bytes);
}

// Returns the bytes from the beginning of its buffer to the end of the slot map or page table.
uint64_t slotMapBytes(const RopeFusedDescription& filled, const RopeRotateDescription& d) {
    const RopeCache& cache = filled.cache;
    if (!readsSlotMap(cache)) return 0;
    const bool table = cacheKind(cache).map == SlotMap::kPages;
    return listBytes(cache.map_offset, table ? sequencesOf(d) : d.batch, cache.map_batch_stride,
                     table ? cache.table_pages : d.tokens, 1, ropePositionBytes(cache.map_element));
}

// Binds the first `bytes` bytes of a buffer that holds lists.
void bindLists(uint32_t binding, RopeSlot slot, uint64_t bytes, PlanPass* pass) {
    pass->whole_bindings |= 1u << binding;
    if (bytes == 0) return;
    pass->access[binding] = {static_cast<uint32_t>(slot), sizeof(uint32_t), 0, {0, 0, 0}, (bytes + 3) / 4};
}

// The positions that a pass with these needs reads, and the bytes of POSITIONS that it takes.
struct PositionBuffer : ReadPositions {
    PassAccess access;
    uint64_t bytes, slot_map_bytes;
};
PositionBuffer findPositions(const ResolvedFused& fused, const PositionNeeds& needs, const RopeRotateDescription& d,
                             bool cached) {
    const RopeFusedDescription& filled = fused.filled;
    PositionBuffer found = {selectPositions(d, needs), {}, 0, cached ? slotMapBytes(filled, d) : 0};
    found.bytes = filled.cache.map_in_positions != 0 ? found.slot_map_bytes : 0;
    if (readsPositions(found.positions)) {
        found.access = positionAccess(found.positions, found.frequencies);
        const uint64_t last = found.access.offset + found.access.extent - 1;
        found.bytes = larger(found.bytes, listBytes(last, d.batch, found.access.stride[kBatch], d.tokens,
                                                    found.access.stride[kToken], found.access.element_bytes));
    }
    if (filled.tokens_counted != 0) {
        const uint64_t counts = listBytes(filled.tokens_offset, d.batch, filled.tokens_batch_stride, 1, 0,
                                          ropePositionBytes(fused.count_element));
        found.bytes = larger(found.bytes, counts);
    }
    return found;
}

// Returns what a tensor takes of a cache, its scales among it. Sequences that are not packed are the pass's
// batches. If a stride has the same bytes for elements and scales, a part moves along it. Otherwise the range spans
// that axis whole.
PassAccess cacheAccess(const FusedGroup& group, const FusedTensor& t) {
    const RopeElement element = t.d.element_out;
    const RopeCache& cache = group.fused->filled.cache;
    PassAccess access = {static_cast<uint32_t>(t.to_slot), 0, 0, {}, 0};
    access.element_bytes = isForCaches(element) ? storedBytes(group) : ropeElementBytes(element);
    const uint32_t sequences = cacheKind(cache).per_sequence ? sequencesOf(t.d) : 1;
    const auto last = [&](const RopeCacheLayout& l) { // of a sequence: where its last head begins
        return (cache.slots / cache.page_size - 1ull) * l.page_stride + (cache.page_size - 1ull) * l.token_stride +
               (t.heads - 1ull) * l.head_stride;
    };
    uint64_t elements = last(t.cache) + t.d.head_dim, scales = last(t.scales) + 1;
    const uint64_t stride = destinationUnits(group, element, t.cache.batch_stride);
    if (!isPacked(t.d.positions) && (!t.has_scales || stride == t.scales.batch_stride)) {
        access.stride[kBatch] = stride;
    } else {
        elements += (sequences - 1ull) * t.cache.batch_stride;
        scales += (sequences - 1ull) * t.scales.batch_stride;
    }
    access.offset = destinationUnits(group, element, t.cache.offset);
    uint64_t end = access.offset + destinationUnits(group, element, elements);
    if (t.has_scales) {
        end = larger(end, t.scales.offset + scales);
        access.offset = smaller(access.offset, t.scales.offset);
    }
    access.extent = end - access.offset;
    return access;
}

// Returns what a tensor reads, or what it writes. Extent 0: it is read where it is written. No part of a fused pass
// splits heads.
PassAccess sideAccess(const FusedGroup& group, const FusedTensor& t, bool source) {
    if (!source && t.cached) return cacheAccess(group, t);
    if (!source) return tensorAccess(t.to_slot, t.destination, t.d.element_out, t.d.head_dim, t.heads);
    if (t.d.out_of_place == 0) return {};
    return tensorAccess(t.from_slot, t.source, t.d.element, t.d.head_dim, t.heads);
}

// True if one binding takes both: they lie in one buffer, and their token strides are equal.
bool shareBinding(const PassAccess& a, const PassAccess& b) {
    return a.extent != 0 && a.slot == b.slot && a.element_bytes == b.element_bytes &&
           a.stride[kBatch] == b.stride[kBatch] && a.stride[kToken] == b.stride[kToken];
}

void widenAccess(const PassAccess& more, PassAccess* access) {
    const uint64_t begin = smaller(access->offset, more.offset);
    access->extent = larger(access->offset + access->extent, more.offset + more.extent) - begin;
    access->offset = begin;
}

void bindSide(bool source, FusedGroup* group) {
    const uint32_t first = source ? ROPE_BINDING_SOURCE : ROPE_BINDING_DESTINATION;
    uint32_t* bindings = source ? group->from : group->to;
    uint32_t binding = first;
    const FusedTensor* bound = nullptr; // the first of the binding
    for (const FusedRole role : kFusedRoles) {
        bindings[role] = binding;
        if (!group->has(role)) continue;
        const FusedTensor& t = *group->tensors[role];
        const PassAccess access = sideAccess(*group, t, source);
        if (bound != nullptr && arePackedAlike(*bound, t, source) && shareBinding(group->access[binding], access)) {
            widenAccess(access, &group->access[binding]);
            continue;
        }
        if (bound != nullptr) bindings[role] = binding = first + role;
        group->access[binding] = access;
        bound = &t;
    }
}
static_assert(ROPE_BINDING_SOURCE + kV == ROPE_BINDING_SOURCE_V &&
                  ROPE_BINDING_DESTINATION + kV == ROPE_BINDING_DESTINATION_V,
              "K's and V's bindings follow Q's");

} // namespace

PositionNeeds positionNeeds(const FusedGroup& group) {
    PositionNeeds needs = {};
    forEachTensor(group, [&](const FusedTensor& t) { needs = needs | positionNeeds(*group.fused, t); });
    return needs;
}

void setPositionBuffer(const ResolvedFused& fused, const PositionNeeds& needs, const FusedTensor& t, bool cached,
                       RopePush* tokens, RopeFusedPush* push, PlanPass* pass) {
    const RopeFusedDescription& filled = fused.filled;
    const PositionBuffer found = findPositions(fused, needs, t.d, cached);
    setPositions(found, tokens, pass);
    setTokenRange(t.d, tokens, pass);
    pass->access[ROPE_BINDING_POSITIONS] = {};
    if (readsPositions(found.positions)) {
        tokens->position_offset = lowWord(found.positions.offset);
        tokens->position_token = lowWord(found.access.stride[kToken]);
        if (!isPacked(found.positions)) tokens->position_batch = lowWord(found.access.stride[kBatch]);
    } else {
        pass->constants[ROPE_ID_POSITION_ELEMENT] = shaderNumber(fused.count_element);
    }
    if (filled.tokens_counted != 0) {
        pass->constants[ROPE_ID_PASS] |= ROPE_PASS_COUNTED;
        pass->constants[ROPE_ID_COUNT_STRIDE] = lowWord(filled.tokens_batch_stride);
        pass->facts.count_batch = lowWord(filled.tokens_batch_stride);
        push->count_at = lowWord(filled.tokens_offset);
    }
    pass->facts.words = kFusedWords;
    pass->joinable = 0;
    bindLists(ROPE_BINDING_POSITIONS, ROPE_SLOT_POSITIONS, found.bytes, pass);
    if (filled.cache.map_in_positions == 0)
        bindLists(ROPE_BINDING_SLOT_MAP, ROPE_SLOT_SLOT_MAP, found.slot_map_bytes, pass);
}

uint32_t storedBytes(const FusedGroup& group) {
    return anyOf(group, [](const FusedTensor& t) { return checkWholeWords(t, nullptr) != ROPE_SUCCESS; }) ? 2 : 4;
}

uint64_t destinationUnits(const FusedGroup& group, RopeElement element, uint64_t elements) {
    return isForCaches(element) ? elementBytes(element, elements) / storedBytes(group) : elements;
}

void bindTensors(FusedGroup* group) {
    bindSide(true, group);
    bindSide(false, group);
    const FusedTensor* turned = group->turned();
    if (turned != nullptr) group->access[ROPE_BINDING_COS_SIN] = cosSinAccess(turned->d);
}

uint32_t countBuffers(const FusedGroup& group) {
    const PositionBuffer found = findPositions(*group.fused, positionNeeds(group), group.first().d, group.isCached());
    const bool apart = group.fused->filled.cache.map_in_positions == 0;
    uint32_t count = (found.bytes != 0 ? 1u : 0u) + (apart && found.slot_map_bytes != 0 ? 1u : 0u);
    for (const PassAccess& access : group.access) count += access.extent != 0 ? 1u : 0u;
    forEachTensor(group, [&](const FusedTensor& t) { count += hasWeightsInBuffer(t.norm) ? 1u : 0u; });
    return count + (anyOf(group, [](const FusedTensor& t) { return t.takes(ROPE_STAGE_BIASES); }) ? 1u : 0u);
}

bool exceedsBinding(const FusedGroup& group, const RopeLimits& limits) {
    if (!group.has(kK) || !group.has(kV) || group.to[kK] != group.to[kV] || !group.isCached()) return false;
    const PassAccess& access = group.access[group.to[kV]];
    return boundedProduct(access.extent, access.element_bytes) + limits.storage_alignment > limits.storage_range;
}

} // namespace rope
#endif
