// This file refuses geometry that norms and quantizers cannot take: vectors of four elements, and blocks of 32.
#include "plan/element_formats.h"
#include "plan/fused/resolve.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

constexpr char kStagePhrase[] = "a norm, biases, a scale of queries or a quantized cache";

// A number of the geometry, and the number that it must be a multiple of.
struct RequiredMultiple {
    const char* name;
    uint64_t value;
    uint32_t multiple_of;
};

RopeResult checkMultiples(const FusedTensor& tensor, const RequiredMultiple* measures, uint32_t count, const char* what,
                          const char* why, RopeReason* reason) {
    for (uint32_t i = 0; i < count; ++i) {
        if (measures[i].value % measures[i].multiple_of == 0) continue;
        return refuse(reason, ROPE_ERROR_INVALID, "%s: %s is %llu; with %s%s it must be a multiple of %u", tensor.name,
                      measures[i].name, static_cast<unsigned long long>(measures[i].value), what, why,
                      measures[i].multiple_of);
    }
    return ROPE_SUCCESS;
}

RopeResult checkDestinationMultiples(const FusedTensor& tensor, const char* what, const char* why, uint32_t multiple_of,
                                     RopeReason* reason) {
    const RopeLayout& to = tensor.destination;
    const RopeCacheLayout& cache = tensor.cache;
    const RequiredMultiple measures[] = {{"head_dim", tensor.d.head_dim, multiple_of},
                                         {"to.offset", to.offset, multiple_of},
                                         {"to.batch_stride", to.batch_stride, multiple_of},
                                         {"to.token_stride", to.token_stride, multiple_of},
                                         {"to.head_stride", to.head_stride, multiple_of},
                                         {"the cache's offset", cache.offset, multiple_of},
                                         {"the cache's batch_stride", cache.batch_stride, multiple_of},
                                         {"the cache's token_stride", cache.token_stride, multiple_of},
                                         {"the cache's head_stride", cache.head_stride, multiple_of},
                                         {"the cache's page_stride", cache.page_stride, multiple_of}};
    return checkMultiples(tensor, measures, 10, what, why, reason);
}

} // namespace

RopeResult checkVectorGeometry(const FusedTensor& tensor, RopeReason* reason) {
    const RopeRotateDescription& d = tensor.d;
    if (d.head_dim > kMaxVectorHead) {
        return refuse(reason, ROPE_ERROR_TOO_LARGE, "head_dim is %u; with %s it may be at most %u", d.head_dim,
                      kStagePhrase, kMaxVectorHead);
    }
    RopeResult result = ROPE_SUCCESS;
    const ElementFormat& format = formatOf(d.element_out);
    if (format.scale == ElementScale::kInBlock) {
        result = checkDestinationMultiples(tensor, format.type, ", whose blocks have 32 elements,", ROPE_BLOCK_ELEMENTS,
                                           reason);
    }
    const RequiredMultiple measures[] = {{"head_dim", d.head_dim, 4},
                                         {"rotary_begin", d.rotation.rotary_begin, 4},
                                         {"rotary_dim", d.rotation.rotary_dim, 8},
                                         {"chunk_dim", d.rotation.chunk_dim, 8}};
    const uint32_t count = isShifted(tensor) ? 4 : 1; // pairs of other passes may lie anywhere
    if (result == ROPE_SUCCESS) result = checkMultiples(tensor, measures, count, kStagePhrase, "", reason);
    if (result != ROPE_SUCCESS || !(isShifted(tensor) || isForCaches(tensor))) return result;
    return checkDestinationMultiples(tensor, kStagePhrase, "", 4, reason);
}

RopeResult checkWholeWords(const FusedTensor& tensor, RopeReason* reason) {
    const ElementFormat& format = formatOf(tensor.d.element_out);
    if (format.scale != ElementScale::kInBlock) return ROPE_SUCCESS;
    return checkDestinationMultiples(tensor, format.type,
                                     ", whose blocks fill 32-bit words in twos, and without ROPE_ENABLED_STORAGE_16",
                                     elementsOfWords(tensor.d.element_out), reason);
}

} // namespace rope
#endif
