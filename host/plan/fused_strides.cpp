// This file finds the strides of a fused pass's tensors that would be other constants for each number of tokens or
// slots.
#include "plan/fused_dispatch.h"

namespace rope {

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

namespace {

uint64_t destinationBatchStride(const FusedTensor& t) {
    return t.cached ? t.cache.batch_stride : t.destination.batch_stride;
}

// One side of K and V that are not alike: the strides of each, and how many sequences they lead to.
struct BothStrides {
    struct {
        uint64_t sequence, token, head;
    } k, v;
    uint32_t sequences;
};
BothStrides sourceStrides(const FusedTensor& k, const FusedTensor& v) {
    return {{k.source.batch_stride, k.source_token, k.source.head_stride},
            {v.source.batch_stride, v.source_token, v.source.head_stride},
            k.d.batch};
}
BothStrides destinationStrides(const FusedTensor& k, const FusedTensor& v) {
    return {{destinationBatchStride(k), destinationTokenStride(k), destinationHeadStride(k)},
            {destinationBatchStride(v), destinationTokenStride(v), destinationHeadStride(v)},
            k.cached ? sequencesOf(k.d) : k.d.batch};
}

// True if the shader can divide by a token's stride. That of one token alone may be any number.
bool isDivisor(uint64_t token_stride, uint32_t unit) {
    return token_stride != 0 && token_stride % unit == 0 && token_stride / unit <= UINT32_MAX;
}
// True if a stride of V is K's in the proportion of their tokens.
bool isInProportion(const BothStrides& s, uint64_t of_k, uint64_t of_v, uint32_t unit) {
    return isDivisor(s.k.token, unit) && isDivisor(s.v.token, unit) && of_k % s.k.token == 0 &&
           of_k / s.k.token * s.v.token == of_v;
}
// Returns the constant of V's stride from head to head. No push word is left for it.
uint32_t ownHeadConstant(const BothStrides& s, uint32_t unit) {
    return isInProportion(s, s.k.head, s.v.head, unit) ? ROPE_NOWHERE : lowWord(s.v.head / unit);
}
// True if one dispatch finds V's places by K's, and by constants that do not depend on the number of tokens or slots. A
// token or slot that is alone may have a stride of 0, and its heads a constant.
bool canShareStrides(const BothStrides& s, uint32_t unit) {
    if (s.sequences != 1 && !isInProportion(s, s.k.sequence, s.v.sequence, unit)) return false;
    return s.v.head <= s.v.token || s.v.token == 0 || isInProportion(s, s.k.head, s.v.head, unit);
}

} // namespace

void setOwnPlaces(const FusedTensor& v, const FusedTensor& k, uint32_t unit, uint32_t* constants) {
    const BothStrides from = sourceStrides(k, v), to = destinationStrides(k, v);
    constants[ROPE_ID_V_ELEMENTS] = v.d.head_dim;
    constants[ROPE_ID_V_SOURCE_TOKEN] = lowWord(from.v.token / unit);
    constants[ROPE_ID_V_SOURCE_HEAD] = ownHeadConstant(from, unit);
    constants[ROPE_ID_V_DESTINATION_TOKEN] = lowWord(to.v.token / unit);
    constants[ROPE_ID_V_DESTINATION_HEAD] = ownHeadConstant(to, unit);
    constants[ROPE_ID_V_PAGE_STRIDE] = lowWord(v.cache.page_stride / unit);
}

bool canPlaceVByK(const FusedDispatch& dispatch, const ShaderVariant& variant) {
    const FusedTensor &k = *dispatch.tensors[kK], &v = *dispatch.tensors[kV];
    const uint32_t unit = variant.by_words ? 1 : variant.lane_pairs;
    return arePackedAlike(k, v, true) && arePackedAlike(k, v, false) && canShareStrides(sourceStrides(k, v), unit) &&
           canShareStrides(destinationStrides(k, v), unit);
}

} // namespace rope
