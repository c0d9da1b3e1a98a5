// This file checks what biases and relative vectors share: their scores [batch, heads, queries, keys].
#include "plan/encodings/scores.h"

#if !defined(VKROPE_NO_BIASES) || !defined(VKROPE_NO_RELATIVE)
namespace rope {
namespace {

RopeResult checkQueries(const RopePositions& p, RopeReason* reason) {
    const bool packed = p.kind >= ROPE_POSITIONS_PACKED;
    const bool whole =
        p.kind == ROPE_POSITIONS_COUNTED || p.element == ROPE_POSITION_INT32 || p.element == ROPE_POSITION_INT64;
    if (!packed && whole) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "positions of kind %d and element %d; queries are counted, per token or start per sequence, INT32 "
                  "(%d) or INT64 (%d)",
                  static_cast<int>(p.kind), static_cast<int>(p.element), ROPE_POSITION_INT32, ROPE_POSITION_INT64);
}

} // namespace

RopeResult checkScoreCount(const char* name, uint32_t count, RopeReason* reason) {
    if (count != 0 && count <= kMaxCount) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "%s is %u; it must be from 1 to %u", name, count, kMaxCount);
}

RopeResult checkScores(const ScoreCounts& counts, const RopePositions& positions, RopeReason* reason) {
    RopeResult result = checkScoreCount("heads", counts.heads, reason);
    if (result == ROPE_SUCCESS) result = checkScoreCount("queries", counts.queries, reason);
    if (result == ROPE_SUCCESS) result = checkScoreCount("keys", counts.keys, reason);
    return result == ROPE_SUCCESS ? checkQueries(positions, reason) : result;
}

RopeResult checkClip(int32_t least, int32_t most, RopeReason* reason) {
    const int64_t rows = static_cast<int64_t>(most) - least + 1;
    if (rows >= 1 && rows <= static_cast<int64_t>(kMaxCount)) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "least is %d and most is %d; most must be at least as much, and less than 2^30 more", least, most);
}

RopeResult resolveHeadMajorLayout(const char* name, const RopeRotateDescription& d, uint32_t heads, bool written,
                                  RopeLayout* layout, RopeReason* reason) {
    if ((layout->batch_stride | layout->token_stride | layout->head_stride) == 0) {
        layout->token_stride = d.head_dim;
        layout->head_stride = static_cast<uint64_t>(d.tokens) * d.head_dim;
        const RopeResult result = checkElementCount(name, "head", layout->head_stride, heads, reason);
        if (result != ROPE_SUCCESS) return result;
        layout->batch_stride = heads * layout->head_stride;
    }
    return resolveLayout(name, d, heads, written, layout, reason);
}

} // namespace rope
#endif
