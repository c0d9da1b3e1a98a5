// This file fills in the defaults of tables and rotations, and refuses contradictions.
#include "plan/resolve.h"
#include "plan/element_formats.h"
#include "plan/frequencies.h"
#include "plan/layout.h"
#include "plan/pairing.h"
#include "plan/positions.h"
#include "plan/rows.h"
#include "plan/scale.h"

namespace rope {
namespace {

RopeResult resolveBatchAndTokens(uint32_t* batch, uint32_t tokens, RopeReason* reason) {
    if (*batch == 0) *batch = 1;
    const RefusalRow refusals[] = {
        invalid(tokens == 0, "tokens is 0; it must be at least 1"),
        tooLarge(*batch > kMaxCount || tokens > kMaxCount, "batch is %u and tokens is %u; each may be at most %u",
                 *batch, tokens, kMaxCount),
    };
    return refuseByFirst(refusals, reason);
}

RopeResult checkRotationChoices(const RopeRotateDescription& d, RopeReason* reason) {
    const Choice choices[] = {{"pairing", d.rotation.pairing, kLastPairing},
                              {"pairing_out", d.rotation.pairing_out, kLastPairing},
                              {"element", d.element, kLastTensorElement},
                              {"element_out", d.element_out, kLastTensorElement},
                              {"operation", d.rotation.operation, ROPE_OPERATION_SHIFT},
                              {"source", d.rotation.source, ROPE_SOURCE_ROWS},
                              {"angle", d.rotation.angle, ROPE_ANGLE_COMPATIBLE}};
    return checkChoices(choices, 7, reason);
}

RopeResult resolveRotaryPart(RopeRotateDescription* d, RopeReason* reason) {
    RopeRotation* r = &d->rotation;
    const uint32_t room = r->rotary_begin < d->head_dim ? d->head_dim - r->rotary_begin : 0;
    if (r->rotary_dim == 0) r->rotary_dim = room;
    if (r->pairing == ROPE_PAIRING_DEFAULT) r->pairing = ROPE_PAIRING_HALF;
    if (r->pairing_out == ROPE_PAIRING_DEFAULT) r->pairing_out = r->pairing;
    if (r->chunk_dim == 0) r->chunk_dim = r->rotary_dim;
    const RefusalRow refusals[] = {
        invalid(room == 0, "rotary_begin is %u; it must be less than head_dim, %u", r->rotary_begin, d->head_dim),
        invalid(r->rotary_dim > room, "rotary_dim is %u, more than the %u elements from rotary_begin %u to head_dim %u",
                r->rotary_dim, room, r->rotary_begin, d->head_dim),
        invalid(r->rotary_dim % 2 != 0 || r->rotary_dim / 2 > ROPE_MAX_PAIRS,
                "rotary_dim is %u; it must be even and at most %u", r->rotary_dim, 2 * ROPE_MAX_PAIRS),
        invalid(r->chunk_dim % 2 != 0 || (r->chunk_dim != 0 && r->rotary_dim % r->chunk_dim != 0),
                "chunk_dim is %u; it must be even, and rotary_dim, %u, a multiple", r->chunk_dim, r->rotary_dim),
        invalid(r->skip_first > d->tokens || r->skip_last > d->tokens - r->skip_first,
                "skip_first is %u and skip_last is %u, together more than %u tokens", r->skip_first, r->skip_last,
                d->tokens),
    };
    if (r->chunk_dim == 2) // chunks of one pair are the interleaved pairing
        r->pairing = r->pairing_out = ROPE_PAIRING_INTERLEAVED;
    if (!liesInChunks(r->pairing) && !liesInChunks(r->pairing_out)) r->chunk_dim = r->rotary_dim;
    return refuseByFirst(refusals, reason);
}

// Fills in the frequencies, and the rows if cos and sin are read from them.
RopeResult resolveCosSin(RopeRotateDescription* d, RopeReason* reason) {
    RopeRotation* r = &d->rotation;
    RopeFrequencies* f = &r->frequencies;
    const uint32_t pairs = r->rotary_dim / 2;
    const bool from_rows = r->source != ROPE_SOURCE_INLINE, table = r->source == ROPE_SOURCE_TABLE;
    const bool is_counted = f->axes != nullptr && f->count != 0; // the caller's array has `count` axes
    if (from_rows && f->values == nullptr && !is_counted) f->count = pairs;
    if (f->count != pairs) {
        return refuse(reason, ROPE_ERROR_INVALID, "frequencies.count is %u; a rotary part of %u elements has %u pairs",
                      f->count, r->rotary_dim, pairs);
    }
    if (f->sets == 0) f->sets = 1;
    RopeResult result = checkFrequencies(*f, reason);
    if (result != ROPE_SUCCESS) return result;
    if (f->scale == 0) f->scale = 1;
    if (!from_rows) return ROPE_SUCCESS;
    const double wanted = operationScale(r->operation, f->scale);
    const uint32_t most_rows = kMaxCount / f->sets;
    const RefusalRow refusals[] = {
        invalid(wanted != f->scale,
                "the operation wants a scale of %g, and the rows hold %g; use ROPE_SOURCE_INLINE, or rows of the "
                "wanted scale "
                "with %s",
                wanted, f->scale),
        invalid(table && (r->rows.count == 0 || r->rows.count > most_rows),
                "rows.count is %u; a table of %u sets has from 1 to %u rows each", r->rows.count, f->sets, most_rows),
        invalid(table && d->positions.kind != ROPE_POSITIONS_COUNTED && d->positions.element > ROPE_POSITION_INT64,
                "positions.element is %d; a table has rows of whole positions: use INT32 or INT64, or another source",
                d->positions.element),
    };
    result = refuseByFirst(refusals, reason, r->operation == ROPE_OPERATION_INVERSE ? "transpose" : "forward");
    r->rows.copy_offset = 0; // only a written table has copies
    return result != ROPE_SUCCESS ? result : resolveRows(pairs, &r->rows, reason);
}

void clearRotation(RopeRotation* r) {
    const RopeFrequencies frequencies = r->frequencies;
    *r = {};
    r->frequencies = frequencies;
    r->pairing = r->pairing_out = ROPE_PAIRING_HALF;
}

// Fills in a description that does not rotate. Its positions still lie as the axes ask, if axes are given.
RopeResult resolveWithoutRotation(RopeRotateDescription* d, RopeReason* reason) {
    RopeFrequencies* f = &d->rotation.frequencies;
    f->values = nullptr;
    f->scale = 1;
    if (f->axes == nullptr) f->count = 1;
    if (f->axes == nullptr || f->sets == 0) f->sets = 1;
    if (f->count > ROPE_MAX_PAIRS) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "frequencies.count is %u beside frequencies.axes; there are at most %u", f->count,
                      ROPE_MAX_PAIRS);
    }
    return checkScaleSetsAndAxes(*f, reason);
}

} // namespace

RopeResult resolveTable(const RopeTableDescription& given, RopeTableDescription* filled, RopeReason* reason) {
    RopeTableDescription d = given;
    RopeResult result = resolveBatchAndTokens(&d.batch, d.tokens, reason);
    if (d.frequencies.sets == 0) d.frequencies.sets = 1;
    if (result == ROPE_SUCCESS) result = checkFrequencies(d.frequencies, reason);
    if (result == ROPE_SUCCESS) result = checkChoice("angle", d.angle, ROPE_ANGLE_COMPATIBLE, reason);
    if (result == ROPE_SUCCESS) result = resolvePositions(d.frequencies, d.batch, d.tokens, &d.positions, reason);
    if (result != ROPE_SUCCESS) return result;
    if (d.frequencies.scale == 0) d.frequencies.scale = 1;
    result = resolveRows(d.frequencies.count, &d.rows, reason);
    if (result != ROPE_SUCCESS) return result;
    result = checkWrittenRows(static_cast<uint64_t>(d.batch) * d.tokens, d.frequencies.count, d.rows, reason);
    *filled = d;
    return result;
}

RopeResult checkInPlace(const RopeRotateDescription& d, RopeReason* reason) {
    const bool in_place = d.out_of_place == 0;
    const RefusalRow refusals[] = {
        invalid(in_place && d.rotation.pairing != d.rotation.pairing_out,
                "pairing_out differs from pairing, which moves elements between threads; set out_of_place to 1"),
        invalid(in_place && d.element != d.element_out,
                "element_out differs from element in place; set out_of_place to 1"),
    };
    return refuseByFirst(refusals, reason);
}

// A number of threads is for a device to refuse.
static RopeResult checkNumbers(const RopeRotateDescription& d, RopeReason* reason) {
    const RopeTuning& t = d.tuning;
    const RefusalRow refusals[] = {
        invalid(t.heads > ROPE_MAX_TUNED_HEADS, "tuning.heads is %u; it must be 1 to %u, or 0", t.heads,
                ROPE_MAX_TUNED_HEADS),
        invalid(t.pairs != 0 && t.pairs != 4 && t.pairs != 8, "tuning.pairs is %u; it must be 4, 8, or 0", t.pairs),
        invalid(d.head_dim == 0 || d.head_dim > kMaxCount, "head_dim is %u; it must be from 1 to %u", d.head_dim,
                kMaxCount),
    };
    return refuseByFirst(refusals, reason);
}

RopeResult resolveWithoutTensors(bool turned, RopeRotateDescription* d, RopeReason* reason) {
    if (!turned) clearRotation(&d->rotation);
    RopeResult result = checkRotationChoices(*d, reason);
    if (result == ROPE_SUCCESS) result = resolveBatchAndTokens(&d->batch, d->tokens, reason);
    if (result == ROPE_SUCCESS) result = checkNumbers(*d, reason);
    if (result == ROPE_SUCCESS && turned) result = resolveRotaryPart(d, reason);
    if (result != ROPE_SUCCESS) return result;
    if (d->element == ROPE_ELEMENT_DEFAULT) d->element = ROPE_ELEMENT_F32;
    if (d->element_out == ROPE_ELEMENT_DEFAULT) d->element_out = d->element;
    result = checkInPlace(*d, reason);
    if (result == ROPE_SUCCESS) result = turned ? resolveCosSin(d, reason) : resolveWithoutRotation(d, reason);
    if (result == ROPE_SUCCESS)
        result = resolvePositions(d->rotation.frequencies, d->batch, d->tokens, &d->positions, reason);
    return result;
}

RopeResult resolveRotate(const RopeRotateDescription& given, RopeRotateDescription* filled, RopeReason* reason) {
    RopeRotateDescription d = given;
    if (d.q.heads == 0 && d.k.heads == 0)
        return refuse(reason, ROPE_ERROR_INVALID, "q.heads and k.heads are both 0; one tensor at least has heads");
    RopeResult result = resolveWithoutTensors(true, &d, reason);
    if (result == ROPE_SUCCESS) result = resolveTensor("q.from", "q.to", d, &d.q, reason);
    if (result == ROPE_SUCCESS) result = resolveTensor("k.from", "k.to", d, &d.k, reason);
    *filled = d;
    return result;
}

} // namespace rope
