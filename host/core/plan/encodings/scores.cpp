// This file checks what biases and relative vectors share: their scores [batch, heads, queries, keys].
#include "plan/encodings/scores.h"
#include "plan/resolve.h"
#include "plan/rows.h"

#if !defined(VKROPE_NO_BIASES) || !defined(VKROPE_NO_RELATIVE)
namespace rope {

RopeResult resolveScores(const ScoreCounts& c, uint32_t batch, RopeElement element, const RopePositions& p,
                         RopeRotateDescription* d, RopeReason* reason) {
    const bool whole = p.kind == ROPE_POSITIONS_COUNTED || p.element <= ROPE_POSITION_INT64;
    const auto wrong = [](uint32_t count) { return count == 0 || count > kMaxCount; };
    const int64_t rows = static_cast<int64_t>(c.most) - c.least + 1;
    const RefusalRow refusals[] = {
        invalid(wrong(c.heads), "heads is %u; it must be from 1 to %u", c.heads, kMaxCount),
        invalid(wrong(c.queries), "queries is %u; it must be from 1 to %u", c.queries, kMaxCount),
        invalid(wrong(c.keys), "keys is %u; it must be from 1 to %u", c.keys, kMaxCount),
        invalid(
            p.kind >= ROPE_POSITIONS_PACKED || !whole,
            "positions of kind %d and element %d; queries are counted, per token or start per sequence, INT32 (%d) or "
            "INT64 (%d)",
            p.kind, p.element, ROPE_POSITION_INT32, ROPE_POSITION_INT64),
        invalid(rows < 1 || rows > static_cast<int64_t>(kMaxCount),
                "least is %d and most is %d; most must be at least as much, and less than 2^30 more", c.least, c.most),
        invalid(wrong(c.dim), "dim is %u; it must be from 1 to %u", c.dim, kMaxCount),
    };
    const RopeResult result = refuseByFirst(refusals, reason);
    if (result != ROPE_SUCCESS) return result;
    *d = {};
    d->batch = batch;
    d->tokens = c.queries;
    d->head_dim = c.elements;
    d->element = element;
    d->positions = p;
    return resolveWithoutTensors(false, d, reason);
}

RopeResult resolveValues(uint64_t row, RopeRows* rows, RopeReason* reason) {
    const uint32_t head_stride = rows->pair_stride;
    const RopeElement element = rows->element;
    *rows = {rows->offset, rows->row_stride != 0 ? rows->row_stride : row, head_stride, 0, 0, element, 0, 0};
    return resolveRows(1, rows, reason);
}

PassAccess valueAccess(const RopeRows& rows, uint32_t row_count, uint32_t width) {
    const uint64_t extent = (row_count - 1) * rows.row_stride + width;
    return {ROPE_SLOT_ROWS, ropeElementBytes(rows.element), rows.offset, {0, 0, rows.pair_stride}, extent};
}

} // namespace rope
#endif
