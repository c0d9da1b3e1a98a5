// This file fills in the defaults of additions to embeddings, and refuses contradictions.
#include "plan/encodings/add_resolve.h"
#include "plan/layout.h"
#include "plan/resolve.h"
#include "plan/rows.h"
#include "plan/scale.h"

#ifndef VKROPE_NO_ADDITIONS
namespace rope {
namespace {

constexpr uint32_t kMaxLearnedPairs = 65535; // shaders count pairs in 16 bits

RopeResult checkAddOptions(const RopeAddDescription& given, RopeReason* reason) {
    const uint32_t most = 2 * (given.learned != 0 ? kMaxLearnedPairs : ROPE_MAX_PAIRS);
    const RefusalRow refusals[] = {
        invalid(given.dim == 0 || given.dim % 2 != 0 || given.dim > most, "dim is %u; it must be even, from 2 to %u%s",
                given.dim, most),
    };
    RopeResult result = refuseByFirst(refusals, reason, given.learned != 0 ? "" : " with sinusoids");
    if (result == ROPE_SUCCESS) result = checkChoice("order", given.order, ROPE_SINUSOIDS_HALVES, reason);
    return result == ROPE_SUCCESS ? checkFactor(given.scale, reason) : result;
}

// Describes the learned table as rows of cosines and sines. The first half of a row is read as cosines, the second half
// as sines.
RopeResult resolveLearnedTable(const RopeRows& given, RopeRotateDescription* d, RopeReason* reason) {
    d->rotation.rows = {given.offset, given.row_stride, 0, 0, 0, given.element, given.first_position, given.count};
    d->rotation.rotary_dim = d->rotation.chunk_dim = d->head_dim;
    d->rotation.source = ROPE_SOURCE_TABLE;
    d->rotation.frequencies.count = d->rotation.rotary_dim / 2;
    const uint32_t rows = d->rotation.rows.count;
    const RopePositions& p = d->positions;
    const RefusalRow refusals[] = {
        invalid(rows == 0 || rows > kMaxCount, "rows.count is %u; a learned table has from 1 to %u rows", rows,
                kMaxCount),
        invalid(p.kind != ROPE_POSITIONS_COUNTED && p.element > ROPE_POSITION_INT64,
                "positions.element is %d; a learned table has rows of whole positions, INT32 (%d) or INT64 (%d)",
                p.element, ROPE_POSITION_INT32, ROPE_POSITION_INT64),
    };
    const RopeResult result = refuseByFirst(refusals, reason);
    return result == ROPE_SUCCESS ? resolveRows(d->rotation.frequencies.count, &d->rotation.rows, reason) : result;
}

} // namespace

RopeResult resolveAdd(const RopeAddDescription& given, ResolvedAdd* addition, RopeReason* reason) {
    RopeResult result = checkAddOptions(given, reason);
    if (result != ROPE_SUCCESS) return result;
    const bool learned = given.learned != 0;
    RopeRotateDescription d = {};
    d.batch = given.batch;
    d.tokens = given.tokens;
    d.head_dim = given.dim;
    d.element = given.element;
    d.element_out = given.element_out;
    d.rotation.pairing = given.order == ROPE_SINUSOIDS_HALVES ? ROPE_PAIRING_HALF : ROPE_PAIRING_INTERLEAVED;
    d.rotation.source = given.source;
    d.rotation.angle = given.angle;
    if (!learned) d.rotation.frequencies = given.frequencies;
    d.positions = given.positions;
    d.rotation.rows = given.rows;
    d.out_of_place = given.out_of_place;
    d.count_outside = given.count_outside;
    RopeTensor x = {1, given.x, given.x_out};
    x.from.head_stride = x.to.head_stride = 0;
    result = resolveWithoutTensors(!learned, &d, reason);
    if (result == ROPE_SUCCESS && learned) result = resolveLearnedTable(given.rows, &d, reason);
    if (result == ROPE_SUCCESS) result = resolveTensor("x", "x_out", d, &x, reason);
    addition->d = d;
    addition->x = x;
    addition->cosine_first = learned || given.cosine_first != 0;
    addition->scale = given.scale == 0 ? 1.0f : given.scale;
    return result;
}

} // namespace rope
#endif
