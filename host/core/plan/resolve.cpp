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
    if (tokens == 0) return refuse(reason, ROPE_ERROR_INVALID, "tokens is 0; it must be at least 1");
    if (*batch > kMaxCount || tokens > kMaxCount) {
        return refuse(reason, ROPE_ERROR_TOO_LARGE, "batch is %u and tokens is %u; each may be at most %u", *batch,
                      tokens, kMaxCount);
    }
    return ROPE_SUCCESS;
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

RopeResult checkHeadDim(const RopeRotateDescription& d, RopeReason* reason) {
    if (d.head_dim != 0 && d.head_dim <= kMaxCount) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "head_dim is %u; it must be from 1 to %u", d.head_dim, kMaxCount);
}

RopeResult resolveRotaryPart(RopeRotateDescription* d, RopeReason* reason) {
    if (d->rotation.rotary_begin >= d->head_dim) {
        return refuse(reason, ROPE_ERROR_INVALID, "rotary_begin is %u; it must be less than head_dim, %u",
                      d->rotation.rotary_begin, d->head_dim);
    }
    const uint32_t room = d->head_dim - d->rotation.rotary_begin;
    if (d->rotation.rotary_dim == 0) d->rotation.rotary_dim = room;
    if (d->rotation.rotary_dim > room) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "rotary_dim is %u, more than the %u elements from rotary_begin %u to head_dim %u",
                      d->rotation.rotary_dim, room, d->rotation.rotary_begin, d->head_dim);
    }
    if (d->rotation.rotary_dim % 2 != 0 || d->rotation.rotary_dim / 2 > ROPE_MAX_PAIRS) {
        return refuse(reason, ROPE_ERROR_INVALID, "rotary_dim is %u; it must be even and at most %u",
                      d->rotation.rotary_dim, 2 * ROPE_MAX_PAIRS);
    }
    if (d->rotation.pairing == ROPE_PAIRING_DEFAULT) d->rotation.pairing = ROPE_PAIRING_HALF;
    if (d->rotation.pairing_out == ROPE_PAIRING_DEFAULT) d->rotation.pairing_out = d->rotation.pairing;
    if (d->rotation.chunk_dim == 0) d->rotation.chunk_dim = d->rotation.rotary_dim;
    if (d->rotation.chunk_dim % 2 != 0 || d->rotation.rotary_dim % d->rotation.chunk_dim != 0) {
        return refuse(reason, ROPE_ERROR_INVALID, "chunk_dim is %u; it must be even, and rotary_dim, %u, a multiple",
                      d->rotation.chunk_dim, d->rotation.rotary_dim);
    }
    if (d->rotation.skip_first > d->tokens || d->rotation.skip_last > d->tokens - d->rotation.skip_first) {
        return refuse(reason, ROPE_ERROR_INVALID, "skip_first is %u and skip_last is %u, together more than %u tokens",
                      d->rotation.skip_first, d->rotation.skip_last, d->tokens);
    }
    if (d->rotation.chunk_dim == 2)
        d->rotation.pairing = d->rotation.pairing_out =
            ROPE_PAIRING_INTERLEAVED; // chunks of one pair are the interleaved pairing
    if (!liesInChunks(d->rotation.pairing) && !liesInChunks(d->rotation.pairing_out))
        d->rotation.chunk_dim = d->rotation.rotary_dim;
    return ROPE_SUCCESS;
}

void resolveElements(RopeRotateDescription* d) {
    if (d->element == ROPE_ELEMENT_DEFAULT) d->element = ROPE_ELEMENT_F32;
    if (d->element_out == ROPE_ELEMENT_DEFAULT) d->element_out = d->element;
}

// Fills in the frequencies, and the rows if cos and sin are read from them.
RopeResult resolveCosSin(RopeRotateDescription* d, RopeReason* reason) {
    const uint32_t pairs = d->rotation.rotary_dim / 2;
    RopeFrequencies* f = &d->rotation.frequencies;
    const bool from_rows = d->rotation.source != ROPE_SOURCE_INLINE;
    const bool is_counted = f->axes != nullptr && f->count != 0; // the caller's array has so many axes
    if (from_rows && f->values == nullptr && !is_counted) f->count = pairs;
    if (f->count != pairs) {
        return refuse(reason, ROPE_ERROR_INVALID, "frequencies.count is %u; a rotary part of %u elements has %u pairs",
                      f->count, d->rotation.rotary_dim, pairs);
    }
    if (f->sets == 0) f->sets = 1;
    const RopeResult result = checkFrequencies(*f, reason);
    if (result != ROPE_SUCCESS) return result;
    if (f->scale == 0) f->scale = 1;
    if (!from_rows) return ROPE_SUCCESS;
    const double wanted = operationScale(d->rotation.operation, f->scale);
    if (wanted != f->scale) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "the operation wants a scale of %.9g, and the rows hold %.9g; use ROPE_SOURCE_INLINE, or rows "
                      "of the wanted scale with %s",
                      wanted, f->scale, d->rotation.operation == ROPE_OPERATION_INVERSE ? "transpose" : "forward");
    }
    if (d->rotation.source == ROPE_SOURCE_TABLE &&
        (d->rotation.rows.count == 0 || d->rotation.rows.count > kMaxCount / f->sets)) {
        return refuse(reason, ROPE_ERROR_INVALID, "rows.count is %u; a table of %u sets has from 1 to %u rows each",
                      d->rotation.rows.count, f->sets, kMaxCount / f->sets);
    }
    if (d->rotation.source == ROPE_SOURCE_TABLE && d->positions.kind != ROPE_POSITIONS_COUNTED &&
        d->positions.element > ROPE_POSITION_INT64) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "positions.element is %d; a table has rows of whole positions: use INT32 or INT64, or another source",
            static_cast<int>(d->positions.element));
    }
    d->rotation.rows.copy_offset = 0; // only a written table has copies
    return resolveRows(pairs, &d->rotation.rows, reason);
}

void clearRotation(RopeRotateDescription* d) {
    d->rotation.source = ROPE_SOURCE_INLINE;
    d->rotation.operation = ROPE_OPERATION_FORWARD;
    d->rotation.angle = ROPE_ANGLE_EXACT;
    d->rotation.pairing = d->rotation.pairing_out = ROPE_PAIRING_HALF;
    d->rotation.rotary_begin = d->rotation.rotary_dim = d->rotation.chunk_dim = d->rotation.skip_first =
        d->rotation.skip_last = 0;
}

// Fills in a description that does not turn. Its positions still lie as the axes ask, if axes are given.
RopeResult resolveWithoutRotation(RopeRotateDescription* d, RopeReason* reason) {
    d->rotation.rows = {};
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
    if (d.out_of_place != 0) return ROPE_SUCCESS;
    if (d.rotation.pairing != d.rotation.pairing_out) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "pairing_out differs from pairing, which moves elements between threads; set out_of_place to 1");
    }
    if (d.element == d.element_out) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "element_out differs from element in place; set out_of_place to 1");
}

// A number of threads is for a device to refuse.
static RopeResult checkTuningChoices(const RopeTuning& t, RopeReason* reason) {
    if (t.heads > ROPE_MAX_TUNED_HEADS) {
        return refuse(reason, ROPE_ERROR_INVALID, "tuning.heads is %u; it must be 1 to %u, or 0", t.heads,
                      ROPE_MAX_TUNED_HEADS);
    }
    if (t.pairs != 0 && t.pairs != 4 && t.pairs != 8)
        return refuse(reason, ROPE_ERROR_INVALID, "tuning.pairs is %u; it must be 4, 8, or 0", t.pairs);
    return ROPE_SUCCESS;
}

RopeResult resolveWithoutTensors(bool turned, RopeRotateDescription* d, RopeReason* reason) {
    if (!turned) clearRotation(d);
    RopeResult result = checkRotationChoices(*d, reason);
    if (result == ROPE_SUCCESS) result = checkTuningChoices(d->tuning, reason);
    if (result == ROPE_SUCCESS) result = resolveBatchAndTokens(&d->batch, d->tokens, reason);
    if (result == ROPE_SUCCESS) result = checkHeadDim(*d, reason);
    if (result == ROPE_SUCCESS && turned) result = resolveRotaryPart(d, reason);
    if (result != ROPE_SUCCESS) return result;
    resolveElements(d);
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
