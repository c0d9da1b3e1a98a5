// This file binds the buffers of a fused pass: the lists in POSITIONS, the tensors, and the caches.
#include "plan/fused/bindings.h"
#include "plan/axes.h"
#include "plan/cache_kinds.h"
#include "plan/element_formats.h"
#include "plan/enumerators.h"
#include "plan/fused/cache.h"
#include "plan/fused/dispatch.h"
#include "plan/fused/resolve.h"
#include "plan/fused/words.h"

#include <string.h>

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

// Returns the bytes from the beginning of its buffer to the end of the slot map or block table.
uint64_t slotMapBytes(const RopeFusedDescription& filled, const RopeRotateDescription& d) {
    const RopeCache& cache = filled.cache;
    if (!readsSlotMap(cache)) return 0;
    const bool table = cacheKind(cache).map == SlotMap::kPages;
    return listBytes(cache.slot_map_offset, table ? sequencesOf(d) : d.batch, cache.slot_map_batch_stride,
                     table ? cache.table_pages : d.tokens, 1, ropePositionBytes(cache.slot_map_element));
}

// Binds so many bytes of a buffer that holds lists, from its beginning.
void bindLists(uint32_t binding, RopeSlot slot, uint64_t bytes, RopePass* pass) {
    pass->whole_bindings |= 1u << binding;
    if (bytes == 0) return;
    pass->access[binding] = {static_cast<uint32_t>(slot), sizeof(uint32_t), 0, {0, 0, 0}, (bytes + 3) / 4};
}

} // namespace

void setPositionBuffer(const ResolvedFused& fused, const PositionNeeds& needs, const FusedTensor& t, bool cached,
                       RopePush* tokens, RopeFusedPush* push, RopePass* pass) {
    const RopeFusedDescription& filled = fused.filled;
    const RopeRotateDescription& d = t.d;
    RopePositions positions;
    RopeFrequencies frequencies;
    selectPositions(d, needs, &positions, &frequencies);
    setPositions(positions, frequencies, tokens, pass);
    setWindow(d, tokens, pass);
    const uint64_t slot_map_bytes = cached ? slotMapBytes(filled, d) : 0;
    uint64_t bytes = filled.cache.slot_map_apart == 0 ? slot_map_bytes : 0;
    if (readsPositions(positions)) {
        const RopeAccess access = positionAccess(positions, frequencies);
        bytes = larger(bytes, listBytes(access.offset + access.extent - 1, d.batch, access.stride[0], d.tokens,
                                        access.stride[1], access.element_bytes));
        tokens->position_offset = lowWord(positions.offset);
        tokens->position_token = lowWord(access.stride[1]);
        if (!isPacked(positions)) tokens->position_batch = lowWord(access.stride[0]);
    } else {
        pass->constants[ROPE_ID_POSITION_ELEMENT] = shaderPositionElement(fused.count_element);
    }
    if (filled.tokens_counted != 0) {
        pass->constants[ROPE_ID_COUNTED] = 1;
        pass->constants[ROPE_ID_COUNT_STRIDE] = lowWord(filled.tokens_batch_stride);
        push->count_at = lowWord(filled.tokens_offset);
        bytes = larger(bytes, listBytes(filled.tokens_offset, d.batch, filled.tokens_batch_stride, 1, 0,
                                        ropePositionBytes(fused.count_element)));
    }
    pass->completion = fusedCompletion();
    pass->joinable = 0;
    bindLists(ROPE_BINDING_POSITIONS, ROPE_SLOT_POSITIONS, bytes, pass);
    if (filled.cache.slot_map_apart != 0) bindLists(ROPE_BINDING_SLOT_MAP, ROPE_SLOT_SLOT_MAP, slot_map_bytes, pass);
}

void setCacheWords(const RopeCache& cache, const RopeRotateDescription& d, RopeFusedPush* push, RopePass* pass) {
    uint32_t* constants = pass->constants;
    if (cache.kind == ROPE_CACHE_NONE) return;
    const bool pages = cacheKind(cache).map == SlotMap::kPages;
    constants[ROPE_ID_CACHE] = cacheKind(cache).number;
    constants[ROPE_ID_SLOT_MAP_WIDE] = cache.slot_map_element == ROPE_POSITION_INT64;
    constants[ROPE_ID_SLOT_MAP_APART] = cache.slot_map_apart != 0;
    constants[ROPE_ID_PAGE_SIZE] = pages || cache.page_size != cache.slots ? cache.page_size : 0;
    push->slots = cache.slots;
    push->slot_map_at = lowWord(cache.slot_map_offset);
    push->slot_map_batch = sequencesOf(d) == 1 ? 0 : lowWord(cache.slot_map_batch_stride);
    push->table_pages = cache.table_pages;
    if (isLongRing(cache, d)) {
        constants[ROPE_ID_LONG_RING] = 1;
        push->ROPE_RING_TOKENS = d.tokens;
    }
    if (cache.shift == 0 || cache.delta == 0) return;
    constants[ROPE_ID_SHIFT] = 1;
    memcpy(&push->delta, &cache.delta, sizeof cache.delta);
}

namespace {

// Returns elements in the units that the shader counts: what it stores at a time if that is integers.
uint64_t destinationUnits(const FusedDispatch& dispatch, RopeElement element, uint64_t elements) {
    return isForCaches(element) ? elementBytes(element, elements) / storedBytes(dispatch) : elements;
}

// Returns what a tensor takes of a cache, its scales among it. Sequences that are no packed ones are the pass's
// batches. Their scales move with the elements where both lie as many bytes apart; elsewhere the range has all of both.
RopeAccess cacheAccess(const FusedDispatch& dispatch, const FusedTensor& t) {
    const RopeElement element = t.d.element_out;
    const RopeCache& cache = dispatch.fused.filled.cache;
    RopeAccess access = {static_cast<uint32_t>(t.to_slot), 0, 0, {}, 0};
    access.element_bytes = isForCaches(element) ? storedBytes(dispatch) : ropeElementBytes(element);
    const uint32_t sequences = cacheKind(cache).per_sequence ? sequencesOf(t.d) : 1;
    const auto last = [&](const RopeCacheLayout& l) { // of a sequence: where its last head begins
        return (cache.slots / cache.page_size - 1ull) * l.page_stride + (cache.page_size - 1ull) * l.slot_stride +
               (t.heads - 1ull) * l.head_stride;
    };
    uint64_t elements = last(t.cache) + t.d.head_dim, scales = last(t.scales) + 1;
    const uint64_t stride = destinationUnits(dispatch, element, t.cache.batch_stride);
    if (!isPacked(t.d.positions) && (!t.has_scales || stride == t.scales.batch_stride)) {
        access.stride[kBatch] = stride;
    } else {
        elements += (sequences - 1ull) * t.cache.batch_stride;
        scales += (sequences - 1ull) * t.scales.batch_stride;
    }
    access.offset = destinationUnits(dispatch, element, t.cache.offset);
    uint64_t end = access.offset + destinationUnits(dispatch, element, elements);
    if (t.has_scales) {
        end = larger(end, t.scales.offset + scales);
        access.offset = smaller(access.offset, t.scales.offset);
    }
    access.extent = end - access.offset;
    return access;
}

// Describes all heads of a token as one element range: a fused pass does not split heads between dispatches.
RopeAccess allHeadsAccess(RopeSlot slot, const RopeLayout& layout, RopeElement element, const FusedTensor& tensor) {
    RopeAccess access = tensorAccess(slot, layout, element, tensor.d.head_dim);
    access.extent += (tensor.heads - 1) * layout.head_stride;
    access.stride[kHead] = 0;
    return access;
}

// Returns what a tensor reads, or what it writes. Extent 0: it is read where it is written.
RopeAccess fusedAccess(const FusedDispatch& dispatch, const FusedTensor& t, bool source) {
    if (source) return t.d.out_of_place != 0 ? allHeadsAccess(t.from_slot, t.source, t.d.element_in, t) : RopeAccess{};
    return t.cached ? cacheAccess(dispatch, t) : allHeadsAccess(t.to_slot, t.destination, t.d.element_out, t);
}

// True if one binding takes both: they lie in one buffer, and their tokens are as far apart.
bool shareBinding(const RopeAccess& a, const RopeAccess& b) {
    return a.extent != 0 && a.slot == b.slot && a.element_bytes == b.element_bytes &&
           a.stride[kBatch] == b.stride[kBatch] && a.stride[kToken] == b.stride[kToken];
}

void widenAccess(const RopeAccess& more, RopeAccess* access) {
    const uint64_t begin = smaller(access->offset, more.offset);
    access->extent = larger(access->offset + access->extent, more.offset + more.extent) - begin;
    access->offset = begin;
}

// Binds what the tensors of a dispatch read, or what they write. Each tensor shares the binding of the one before it,
// or has the next one of its own, and then its bit of ROPE_ID_APART.
void bindTensors(const FusedDispatch& dispatch, bool source, RopePass* pass) {
    const uint32_t first = source ? ROPE_BINDING_SOURCE : ROPE_BINDING_DESTINATION;
    const uint32_t apart_bit = source ? ROPE_APART_SOURCE_K : ROPE_APART_DESTINATION_K;
    uint32_t binding = first;
    const FusedTensor* bound = nullptr; // the first of the binding
    for (const FusedRole role : kFusedRoles) {
        if (dispatch.tensors[role] == nullptr) continue;
        const FusedTensor& t = *dispatch.tensors[role];
        const RopeAccess access = fusedAccess(dispatch, t, source);
        if (bound != nullptr && arePackedAlike(*bound, t, source) && shareBinding(pass->access[binding], access)) {
            widenAccess(access, &pass->access[binding]);
            continue;
        }
        if (bound != nullptr) {
            binding = first + role;
            pass->constants[ROPE_ID_APART] |= apart_bit << (role - kK);
        }
        pass->access[binding] = access;
        if (!source && t.cached) pass->cache_bindings |= 1u << binding;
        bound = &t;
    }
}
static_assert(ROPE_BINDING_SOURCE + kV == ROPE_BINDING_SOURCE_V &&
                  ROPE_BINDING_DESTINATION + kV == ROPE_BINDING_DESTINATION_V &&
                  ROPE_APART_SOURCE_K << 1 == ROPE_APART_SOURCE_V &&
                  ROPE_APART_DESTINATION_K << 1 == ROPE_APART_DESTINATION_V,
              "K's and V's bindings and bits follow Q's");

// Returns where a tensor's cache begins, in the units that its binding counts.
uint64_t cacheOffset(const FusedDispatch& dispatch, const FusedTensor& tensor) {
    return destinationUnits(dispatch, tensor.d.element_out, tensor.cache.offset);
}

// Sets where K or V begins in its bindings. ropeGetDispatch adds what the bindings lose to their alignment.
void setFirstElements(const FusedDispatch& dispatch, FusedRole role, const RopePass& pass, uint32_t* from,
                      uint32_t* to) {
    if (!dispatch.has(role)) return;
    const FusedTensor& t = *dispatch.tensors[role];
    const uint32_t unit = pass.address_unit;
    const uint64_t source = t.source.offset - pass.access[fusedBinding(pass, role, true)].offset;
    const uint64_t begin = pass.access[fusedBinding(pass, role, false)].offset;
    const uint64_t offset = (t.cached ? cacheOffset(dispatch, t) : t.destination.offset) - begin;
    *from = t.d.out_of_place != 0 ? lowWord(source / unit) : 0;
    *to = lowWord(isForCaches(t) ? offset : offset / unit);
}

// Returns the constant of a stride from head to head. Where heads lie apart by all tokens, it says how many of them
// share a sequence's stride, which becomes `word`. So no constant depends on the number of tokens. If several sequences
// then lie apart by no multiple of the heads' stride, and that is one of exactly all tokens, each part of the pass
// takes one of them.
uint32_t headConstant(const FusedTensor& t, const RopeLayout& l, uint64_t token_stride, uint32_t* word,
                      RopePass* pass) {
    const uint32_t unit = pass->address_unit;
    const uint64_t all_tokens = token_stride * t.d.tokens;
    const bool by_head = l.head_stride != 0 && l.head_stride >= all_tokens;
    const bool is_alone = t.d.batch == 1; // a sequence; its stride counts for nothing
    const bool is_shared = by_head && (t.heads == 1 || l.batch_stride % l.head_stride == 0);
    const bool has_gaps = !is_alone && !is_shared && t.d.tokens != 1 && l.head_stride == all_tokens;
    const uint64_t sequence = is_alone || has_gaps ? t.heads * l.head_stride : l.batch_stride;
    const bool is_divided = by_head && (is_alone || is_shared || has_gaps);
    if (!is_divided || sequence / unit >= ROPE_SHARES_SEQUENCE) return lowWord(l.head_stride / unit);
    if (has_gaps) pass->step[kBatch] = 1;
    *word = lowWord(sequence / unit);
    return ROPE_SHARES_SEQUENCE | (t.heads == 1 ? 1 : lowWord(sequence / l.head_stride));
}

// Returns how many words a tensor's first scale lies behind its first word, modulo 2^32.
uint32_t firstScale(const FusedDispatch& dispatch, FusedRole role) {
    if (!dispatch.has(role)) return 0;
    const FusedTensor& t = *dispatch.tensors[role];
    return lowWord(t.scales.offset - cacheOffset(dispatch, t));
}

// Sets where the scales lie that are stored apart. The angles of such a dispatch read no rows where it takes Q too, so
// that the words of rows are free.
void setScaleWords(const FusedDispatch& dispatch, const FusedTensor& kv, RopeFusedPush* push, RopePass* pass) {
    const uint32_t of_k = firstScale(dispatch, kK), of_v = firstScale(dispatch, kV);
    const uint32_t batch = lowWord(kv.scales.batch_stride), head = lowWord(kv.scales.head_stride);
    pass->constants[ROPE_ID_SCALE_PAGE] = lowWord(kv.scales.page_stride);
    pass->constants[ROPE_ID_SCALE_SLOT] = lowWord(kv.scales.slot_stride);
    if (dispatch.has(kQ)) {
        push->ROPE_K_SCALES_BESIDE_Q = of_k;
        push->ROPE_V_SCALES_BESIDE_Q = of_v;
        push->ROPE_SCALE_BATCH_BESIDE_Q = batch;
        push->ROPE_SCALE_HEAD_BESIDE_Q = head;
        pass->whole_bindings |= 1u << ROPE_BINDING_COS_SIN; // no token moves the frequencies, nor these words
    } else {
        push->ROPE_K_SCALES = of_k;
        push->ROPE_V_SCALES = of_v;
        push->ROPE_SCALE_BATCH = batch;
        push->ROPE_SCALE_HEAD = head;
    }
}

} // namespace

void setTensorBindings(const FusedDispatch& dispatch, RopeFusedPush* push, RopePass* pass) {
    bindTensors(dispatch, true, pass);
    bindTensors(dispatch, false, pass);
    setFirstElements(dispatch, kQ, *pass, &push->q_from, &push->q_to);
    setFirstElements(dispatch, kK, *pass, &push->k_from, &push->k_to);
    setFirstElements(dispatch, kV, *pass, &push->v_from, &push->v_to);
    const uint32_t unit = pass->address_unit;
    uint32_t* constants = pass->constants;
    if (dispatch.has(kQ)) {
        const FusedTensor& q = *dispatch.tensors[kQ];
        if (q.d.out_of_place == 0) constants[ROPE_ID_IN_PLACE] |= 1;
        constants[ROPE_ID_Q_SOURCE_TOKEN] = lowWord(q.source_token / unit);
        constants[ROPE_ID_Q_SOURCE_HEAD] = headConstant(q, q.source, q.source_token, &push->q_from_batch, pass);
        constants[ROPE_ID_Q_DESTINATION_TOKEN] = lowWord(q.destination_token / unit);
        constants[ROPE_ID_Q_DESTINATION_HEAD] =
            headConstant(q, q.destination, q.destination_token, &push->q_to_batch, pass);
    }
    if (!dispatch.has(kK) && !dispatch.has(kV)) return;
    const FusedTensor& kv = *dispatch.tensors[dispatch.has(kK) ? kK : kV];
    if (kv.d.out_of_place == 0) constants[ROPE_ID_IN_PLACE] |= dispatch.has(kQ) ? 2u : 1u;
    const uint32_t to_unit = destinationUnit(*pass);
    constants[ROPE_ID_KV_SOURCE_TOKEN] = lowWord(kv.source_token / unit);
    if (kv.d.out_of_place != 0) // in place heads are read where they are written
        constants[ROPE_ID_KV_SOURCE_HEAD] = headConstant(kv, kv.source, kv.source_token, &push->kv_from_batch, pass);
    constants[ROPE_ID_KV_DESTINATION_TOKEN] = lowWord(destinationTokenStride(kv) / to_unit);
    push->kv_to_head = lowWord(destinationHeadStride(kv) / to_unit);
    if (!kv.cached) return;
    push->kv_to_batch = lowWord(kv.cache.batch_stride / to_unit);
    constants[ROPE_ID_PAGE_STRIDE] = lowWord(kv.cache.page_stride / to_unit);
}

void writeFusedPush(const FusedDispatch& dispatch, const RopePush& tokens, const RopeFusedPush& push, RopePass* pass) {
    RopeFusedPush words = push;
    writeTokenWords(tokens, &words);
    const FusedTensor& last = *dispatch.tensors[dispatch.has(kV) ? kV : dispatch.has(kK) ? kK : kQ];
    if (last.has_scales) setScaleWords(dispatch, last, &words, pass);
    writePush(words, pass);
}

RopeResult checkSharedCache(const FusedDispatch& dispatch, const RopePass& pass, const RopeLimits& limits,
                            RopeReason* reason) {
    if (!dispatch.has(kK) || !dispatch.has(kV) || dispatch.fused.filled.cache.v_shares_buffer == 0) return ROPE_SUCCESS;
    const RopeAccess& access = pass.access[fusedBinding(pass, kV, false)];
    const uint64_t bytes = boundedProduct(access.extent, access.element_bytes);
    if (bytes + limits.storage_alignment <= limits.storage_range) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "the caches of K and V span %llu bytes together, and a binding %llu at most; set "
                  "cache.v_shares_buffer to 0, and give V_OUT the same buffer at V's offset",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(limits.storage_range));
}

} // namespace rope
