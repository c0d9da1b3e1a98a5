// A FusedDispatch is one dispatch of a fused pass, and this is what its tensors say of it.
#pragma once

#include "plan/fused/geometry.h"

namespace rope {

// A dispatch takes one tensor, or several that have the same lanes.
struct FusedDispatch {
    const ResolvedFused& fused;
    const FusedTensor* tensors[3]; // null: the dispatch does not take it

    // Returns the tensor that the others are like: the first.
    const FusedTensor& first() const {
        return *tensors[tensors[kQ] != nullptr ? kQ : tensors[kK] != nullptr ? kK : kV];
    }
    bool has(FusedRole role) const { return tensors[role] != nullptr; }
    uint32_t heads(FusedRole role) const { return has(role) ? tensors[role]->heads : 0; }
    bool isCached() const { return (has(kK) && tensors[kK]->cached) || (has(kV) && tensors[kV]->cached); }
};

inline uint32_t sequencesOf(const RopeRotateDescription& d) {
    return isPacked(d.positions) ? d.positions.sequences : d.batch;
}
// Returns the bytes that are stored at a time into a cache of a quantized format: words, or halves of them where the
// blocks of a tensor may begin in the middle of a word.
inline uint32_t storedBytes(const FusedDispatch& dispatch) {
    for (const FusedTensor* t : dispatch.tensors)
        if (t != nullptr && checkWholeWords(*t, nullptr) != ROPE_SUCCESS) return 2;
    return 4;
}
// True if lanes hold quads of a head, and its pairs come and go through shared memory.
inline bool relaysPairs(const FusedDispatch& dispatch, const ShaderVariant& variant) {
    if (!variant.by_words) return false;
    for (const FusedTensor* t : dispatch.tensors)
        if (t != nullptr && needsVectors(*t)) return true;
    return false;
}
// True if every element of a head is moved: elements that do not rotate are then copied, or pass a stage.
inline bool movesWholeHead(const FusedTensor& t) { return t.d.out_of_place != 0 || t.clip != 0 || needsVectors(t); }
// Norms and quantizers reduce over a head: they look at all of its elements before any of them is stored.
inline bool findsScales(const FusedTensor& t) { return isForCaches(t) && t.given_scale.count == 0; }
inline bool reducesOverHead(const FusedTensor& t) { return findsScales(t) || isNormed(t); }
// True if a dispatch that takes Q beside K and V has push words left for the scales that they store apart: those of
// rows, where angles are made or nothing turns. Rows and tables need these words, and 128 bytes are all that a device
// promises. Strides cannot be constants instead: some grow with the cache, whose size makes no pipeline.
inline bool hasWordsForScales(const FusedTensor& kv) {
    return !kv.has_scales || !kv.turned || kv.d.source == ROPE_SOURCE_INLINE;
}
// Returns the elements that one step of K's or V's places in a destination takes. Places count blocks of elements where
// the format has blocks: 32 bits do not count the elements of 4 GiB of them.
inline uint32_t destinationUnit(const RopePass& pass) {
    const bool blocks = (pass.constants[ROPE_ID_CACHE_FORMAT] & ROPE_FORMAT_BLOCKS) != 0;
    return blocks ? uint32_t{ROPE_BLOCK_ELEMENTS} : pass.address_unit;
}
// Returns strides and offsets modulo 2^32, as shaders count.
inline uint32_t lowWord(uint64_t value) { return static_cast<uint32_t>(value); }

} // namespace rope
