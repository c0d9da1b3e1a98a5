// This file fills in the defaults of caches, refuses contradictions, and refuses places of one buffer that overlap.
//
// To let a cache's description say more: here. What a shift takes is resolve.cpp, and what geometry a cache takes is
// geometry.cpp.
#include "plan/fused/cache.h"
#include "plan/axes.h"
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"
#include "plan/fused/resolve.h"
#include "rules/fixed.h"

#include <string.h>

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

// Fills in the pages of a cache, and how the list of slots or the page table lies in its buffer. A cache without pages
// is one page. A cache that reads neither list nor table has none of its members.
RopeResult resolveSlots(const RopeRotateDescription& d, RopeCache* cache, RopeReason* reason) {
    const bool table = cacheKind(*cache).map == SlotMap::kPages, map = readsSlotMap(*cache);
    if (!table) cache->table_pages = 0;
    if (!map) {
        cache->map_element = ROPE_POSITION_INT32;
        cache->map_offset = cache->map_batch_stride = 0;
        cache->map_in_positions = 1;
    }
    const uint32_t page = cache->page_size != 0 ? cache->page_size : 1;
    const RefusalRow refusals[] = {
        invalid(cache->slots == 0 || cache->slots > kMaxCount, "cache.slots is %u; it must be from 1 to %u",
                cache->slots, kMaxCount),
        invalid(table && (cache->page_size == 0 || cache->table_pages == 0),
                "cache.page_size is %u and cache.table_pages is %u; a page table takes 1 or more of each",
                cache->page_size, cache->table_pages),
        invalid(cache->slots % page != 0, "cache.slots is %u; it must be a multiple of cache.page_size, %u",
                cache->slots, page),
        invalid(cache->map_element != ROPE_POSITION_INT32 && cache->map_element != ROPE_POSITION_INT64,
                "cache.map_element is %d; slots and tables are INT32 (%d) or INT64 (%d)", cache->map_element,
                ROPE_POSITION_INT32, ROPE_POSITION_INT64),
        tooLarge(cache->table_pages > kMaxCount, "cache.table_pages is %u; it may be at most %u", cache->table_pages,
                 kMaxCount),
        tooLarge(larger(cache->map_offset, cache->map_batch_stride) > kMaxStride,
                 "cache.map_offset is %u and cache.map_batch_stride is %u; each may be at most 2^33 elements",
                 cache->map_offset, cache->map_batch_stride),
    };
    if (cache->page_size == 0) cache->page_size = cache->slots;
    if (map && cache->map_batch_stride == 0) cache->map_batch_stride = table ? cache->table_pages : d.tokens;
    return refuseByFirst(refusals, reason);
}

// The bytes of a buffer from a tensor's first place to behind its last. A dense region has every byte between them.
struct ByteRegion {
    const char* name;
    uint64_t begin, end;
    bool dense;
};

// The counts that the layout of one tensor in a cache depends on.
struct CacheShape {
    uint32_t caches, heads, elements; // elements of one head
    RopeElement element;
};

RopeResult resolveCacheLayout(const char* name, const RopeCache& cache, const CacheShape& shape,
                              RopeCacheLayout* layout, ByteRegion* region, RopeReason* reason) {
    const uint64_t slot = static_cast<uint64_t>(shape.heads) * shape.elements;
    const bool apart = cacheKind(cache).per_sequence;
    if (!apart) layout->batch_stride = 0;
    if (layout->batch_stride == 0 && layout->page_stride == 0 && layout->token_stride == 0 &&
        layout->head_stride == 0) {
        const RopeResult result = checkElementCount(name, "slot", slot, cache.slots, reason);
        if (result != ROPE_SUCCESS) return result;
        const bool by_head = cache.order == ROPE_CACHE_HND;
        layout->head_stride = by_head ? static_cast<uint64_t>(cache.page_size) * shape.elements : shape.elements;
        layout->token_stride = by_head ? shape.elements : slot;
        layout->page_stride = cache.page_size * slot;
        layout->batch_stride = cache.slots * slot;
    }
    const uint32_t caches = apart ? shape.caches : 1;
    StrideCount strides[4] = {{layout->batch_stride, caches, &layout->batch_stride, "batch"},
                              {layout->page_stride, cache.slots / cache.page_size, &layout->page_stride, "page"},
                              {layout->token_stride, cache.page_size, &layout->token_stride, "token"},
                              {layout->head_stride, shape.heads, &layout->head_stride, "head"}};
    uint64_t span = shape.elements;
    RopeResult result = resolveStrides(name, strides, 4, true, &span, reason);
    if (result == ROPE_SUCCESS) result = checkOffset(name, layout->offset, reason);
    *region = {name, elementBytes(shape.element, layout->offset), elementBytes(shape.element, layout->offset + span),
               span / cache.slots / caches == slot && span % (static_cast<uint64_t>(cache.slots) * caches) == 0};
    return result;
}

bool isInRegion(uint64_t byte, const ByteRegion& region) {
    return region.dense && byte >= region.begin && byte < region.end;
}

// Refuses regions of one buffer that certainly overlap. Other layouts may be woven into each other.
RopeResult checkRegions(const ByteRegion* regions, uint32_t count, RopeReason* reason) {
    for (uint32_t i = 0; i < count; ++i) {
        for (uint32_t j = 0; j < i; ++j) {
            const ByteRegion& a = regions[j];
            const ByteRegion& b = regions[i];
            if (a.name == b.name) continue; // rows of the same positions
            const bool meet = a.begin == b.begin || isInRegion(b.begin, a) || isInRegion(b.end - 1, a) ||
                              isInRegion(a.begin, b) || isInRegion(a.end - 1, b);
            if (!meet) continue;
            return refuse(reason, ROPE_ERROR_INVALID,
                          "%s takes bytes %llu to %llu, and %s bytes %llu to %llu of one buffer; move an offset",
                          a.name, static_cast<unsigned long long>(a.begin), static_cast<unsigned long long>(a.end - 1),
                          b.name, static_cast<unsigned long long>(b.begin), static_cast<unsigned long long>(b.end - 1));
        }
    }
    return ROPE_SUCCESS;
}

// Returns a region of POSITIONS that starts at an element. The region is dense if no stride, taken from the smallest
// up, is more than the span of the strides before it.
ByteRegion positionRegion(const char* name, uint64_t offset, uint32_t bytes, StrideCount a, StrideCount b = {1, 1},
                          StrideCount c = {1, 1}) {
    constexpr uint64_t kMaxSpan = 1ull << 60; // no buffer has more elements, and their bytes stay within 64 bits
    StrideCount strides[] = {a, b, c};
    sortStrides(strides, 3);
    uint64_t span = 1;
    bool dense = true;
    for (const StrideCount& s : strides) {
        if (s.count == 1) continue;
        dense = dense && s.stride <= span;
        span = smaller(span + (s.count - 1) * s.stride, kMaxSpan);
    }
    return {name, offset * bytes, (offset + span) * bytes, dense};
}

constexpr uint32_t kMaxPositionRegions = ROPE_MAX_AXES + 1; // a row of each axis, and one of sets

// Adds the regions of the positions that a tensor's pass reads, and returns how many there are. One region has all of
// them if it is dense. Otherwise each row of positions, lengths or sets is a region.
uint32_t addPositionRegions(const ResolvedFused& fused, const FusedTensor& tensor, ByteRegion* regions) {
    static const char kName[] = "a row of positions";
    const auto [p, frequencies] = fusedPositions(fused, tensor);
    if (!readsPositions(p)) return 0;
    const uint32_t bytes = ropePositionBytes(p.element);
    const uint32_t rows = positionRows(p, axisCount(frequencies)) + isPacked(p) + (frequencies.sets > 1);
    const bool per_token = p.kind == ROPE_POSITIONS_PER_TOKEN;
    const StrideCount tokens = {p.token_stride, per_token ? tensor.d.tokens : 1};
    const StrideCount batches = {p.batch_stride, p.batch_stride != 0 ? tensor.d.batch : 1};
    regions[0] = positionRegion(kName, p.offset, bytes, tokens, batches, {p.axis_stride, rows});
    if (!isPacked(p) && regions[0].dense) return 1;
    for (uint32_t row = 0; row < rows; ++row) {
        const uint64_t offset = p.offset + row * p.axis_stride;
        const StrideCount sequences = {1, p.sequences + (row == 0 ? 1ull : 0)};
        regions[row] = isPacked(p) ? positionRegion(kName, offset, bytes, sequences)
                                   : positionRegion(kName, offset, bytes, tokens, batches);
    }
    return rows;
}

RopeResult checkGivenScale(const char* name, const RopeFusedTensor& t, RopeReason* reason) {
    const RopeCacheScale& scale = t.given_scale;
    if (scale.count == 0) return ROPE_SUCCESS;
    uint32_t wrong = 0; // the first value that is none
    while (scale.values != nullptr && wrong < scale.count && isFromTo(scale.values[wrong], 0x1p-100, 0x1p100)) ++wrong;
    const bool has_wrong = scale.values != nullptr && wrong != scale.count;
    const RefusalRow refusals[] = {
        invalid(!isFloat8(t.element),
                "%s.given_scale has %u values, and %s's element is %d; float8 (%d and %d) takes them", scale.count,
                t.element, ROPE_ELEMENT_F8_E4M3, ROPE_ELEMENT_F8_E5M2),
        invalid(scale.values == nullptr, "%s.given_scale has %u values at null; it takes an array", scale.count),
        invalid(scale.count != 1 && scale.count != t.heads,
                "%s.given_scale has %u values; it takes 1, or %u for %s's heads", scale.count, t.heads),
        invalid(has_wrong, "%s.given_scale.values[%u] is %g; it must be from 2^-100 to 2^100", wrong,
                has_wrong ? scale.values[wrong] : 0),
    };
    return refuseByFirst(refusals, reason, name);
}

} // namespace

// The passes of all tensors read one buffer, so the rows of any tensor may meet the slot map of another.
RopeResult checkPositionRegions(const ResolvedFused& fused, RopeReason* reason) {
    const RopeFusedDescription& filled = fused.filled;
    const RopeCache& cache = filled.cache;
    const FusedTensor& last = fused.tensors[fused.count - 1];
    ByteRegion regions[3 * kMaxPositionRegions + 3];
    uint32_t count = 0;
    for (const FusedTensor* t = fused.tensors; t <= &last; ++t)
        if (!isIdle(*t)) count += addPositionRegions(fused, *t, regions + count);
    if (last.cached && readsPositionsForSlots(cache)) {
        const bool table = cacheKind(cache).map == SlotMap::kPages;
        const RopeRotateDescription& d = last.d;
        const StrideCount entries = StrideCount{1, table ? cache.table_pages : d.tokens};
        const uint32_t lists = table && isPacked(d.positions) ? d.positions.sequences : d.batch;
        const StrideCount batches = {cache.map_batch_stride, lists};
        const uint32_t bytes = ropePositionBytes(cache.map_element);
        regions[count++] =
            positionRegion(table ? "the page table" : "the list of slots", cache.map_offset, bytes, entries, batches);
    }
    if (filled.tokens_counted != 0) {
        regions[count++] =
            positionRegion("the count of tokens", filled.tokens_offset, ropePositionBytes(fused.count_element),
                           {filled.tokens_batch_stride, filled.tokens_batch_stride != 0 ? last.d.batch : 1});
    }
    return checkRegions(regions, count, reason);
}

RopeResult resolveCache(const RopeRotateDescription& d, RopeCache* cache, RopeReason* reason) {
    const Choice choices[] = {{"cache.kind", cache->kind, kLastCacheKind},
                              {"cache.order", cache->order, ROPE_CACHE_HND}};
    const RopeResult result = checkChoices(choices, 2, reason);
    if (result != ROPE_SUCCESS || cache->kind != ROPE_CACHE_NONE)
        return result != ROPE_SUCCESS ? result : resolveSlots(d, cache, reason);
    memset(cache, 0, sizeof *cache);
    return result;
}

RopeResult resolveCacheLayouts(const RopeRotateDescription& d, RopeFusedDescription* filled, RopeReason* reason) {
    static constexpr const char* kTo[] = {"", "k.to", "v.to"};
    static constexpr const char* kScales[] = {"", "k.stored_scales", "v.stored_scales"};
    const RopeCache& cache = filled->cache;
    const uint32_t caches = isPacked(d.positions) ? d.positions.sequences : d.batch;
    ByteRegion regions[4];
    uint32_t count = 0;
    for (const FusedRole role : kFusedRoles) {
        if (role == kQ) continue;
        RopeFusedTensor& t = *tensorOf(filled, role);
        if (cache.one_buffer == 0) count = 0;
        if (t.heads == 0) {
            t.given_scale = {};
            continue;
        }
        const CacheShape shape = {caches, t.heads, t.head_dim, t.element};
        const CacheShape scale = {caches, t.heads, 1, ROPE_ELEMENT_F32};
        RopeResult result = checkGivenScale(kRoleNames[role], t, reason);
        if (result == ROPE_SUCCESS)
            result = resolveCacheLayout(kTo[role], cache, shape, &t.to, &regions[count++], reason);
        if (result == ROPE_SUCCESS && storesScales(t))
            result = resolveCacheLayout(kScales[role], cache, scale, &t.stored_scales, &regions[count++], reason);
        if (result == ROPE_SUCCESS) result = checkRegions(regions, count, reason);
        if (result != ROPE_SUCCESS) return result;
    }
    return ROPE_SUCCESS;
}

} // namespace rope
#endif
