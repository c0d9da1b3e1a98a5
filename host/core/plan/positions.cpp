// This file owns positions: their defaults and refusals, where they lie, and the constants and push words that tell the
// shaders.
//
// To add a source of positions: an enumerator of RopePositionKind or RopePositionElement, the defaults and refusals
// here, and find_token in shaders/position.glsl.
#include "plan/positions.h"
#include "plan/axes.h"
#include "plan/enumerators.h"
#include "plan/layout.h"
#include "rules/position.h"

#include <string.h>

namespace rope {
namespace {

constexpr uint64_t kMaxAxisStride = 1ull << 56;

RopeResult checkPositionKind(const RopePositions& p, uint32_t batch, uint32_t sets, RopeReason* reason) {
    const Choice choices[] = {{"positions.kind", p.kind, ROPE_POSITIONS_PACKED_STARTS},
                              {"positions.element", p.element, ROPE_POSITION_FIXED64}};
    const RopeResult result = checkChoices(choices, 2, reason);
    const RefusalRow refusals[] = {
        invalid(p.kind == ROPE_POSITIONS_COUNTED && sets > 1,
                "frequencies.sets is %u, and counted positions read no buffer that names one; use one set a plan",
                sets),
        invalid(isPacked(p) && (batch != 1 || p.sequences == 0 || p.sequences > kMaxCount),
                "packed positions with batch %u and %u sequences; batch must be 1, positions.sequences 1 to %u", batch,
                p.sequences, kMaxCount),
        invalid(isPacked(p) && p.element > ROPE_POSITION_INT64,
                "positions.element is %d; cumulative lengths are INT32 or INT64", p.element),
    };
    return result != ROPE_SUCCESS ? result : refuseByFirst(refusals, reason);
}

} // namespace

RopeResult resolvePositions(const RopeFrequencies& frequencies, uint32_t batch, uint32_t tokens, RopePositions* p,
                            RopeReason* reason) {
    RopeResult result = checkPositionKind(*p, batch, frequencies.sets, reason);
    if (result == ROPE_SUCCESS && p->kind == ROPE_POSITIONS_COUNTED) {
        const int32_t first = p->first;
        keepOnlyLengths(false, p);
        p->first = first;
        return result;
    }
    p->first = 0;
    if (p->same_for_all_sequences != 0) p->batch_stride = 0;
    if (result == ROPE_SUCCESS) result = checkStrideLimit("positions.token_stride", p->token_stride, reason);
    if (result == ROPE_SUCCESS) result = checkStrideLimit("positions.batch_stride", p->batch_stride, reason);
    if (result == ROPE_SUCCESS) result = checkStrideLimit("positions.axis_stride", p->axis_stride, reason);
    if (result == ROPE_SUCCESS) result = checkStrideLimit("positions.offset", p->offset, reason);
    if (result != ROPE_SUCCESS) return result;
    const bool per_token = p->kind == ROPE_POSITIONS_PER_TOKEN;
    if (isPacked(*p) || p->token_stride == 0) p->token_stride = 1;
    if (p->batch_stride == 0) p->batch_stride = per_token ? tokens * p->token_stride : 1;
    const uint64_t sequences = p->same_for_all_sequences != 0 ? 1 : batch;
    if (p->axis_stride == 0) p->axis_stride = isPacked(*p) ? p->sequences + 1ull : sequences * p->batch_stride;
    if (p->same_for_all_sequences != 0 || batch == 1) p->batch_stride = 0;
    if (p->axis_stride > kMaxAxisStride) {
        return refuse(reason, ROPE_ERROR_TOO_LARGE,
                      "positions has %llu elements from one axis to the next, more than 64 bits count bytes of",
                      static_cast<unsigned long long>(p->axis_stride));
    }
    return ROPE_SUCCESS;
}

void keepOnlyLengths(bool wanted, RopePositions* positions) {
    if (isPacked(*positions) && wanted) {
        positions->kind = ROPE_POSITIONS_PACKED;
    } else {
        memset(positions, 0, sizeof *positions);
        positions->kind = ROPE_POSITIONS_COUNTED;
    }
}

ReadPositions rotationPositions(const RopeRotateDescription& d) {
    ReadPositions read = {d.positions, d.rotation.frequencies};
    if (d.rotation.source != ROPE_SOURCE_ROWS) return read;
    read.frequencies.axes = nullptr;
    read.frequencies.sets = 1;
    keepOnlyLengths(d.rotation.skip_first != 0 || d.rotation.skip_last != 0, &read.positions);
    return read;
}

PassAccess positionAccess(const RopePositions& p, const RopeFrequencies& frequencies) {
    const bool per_token = p.kind == ROPE_POSITIONS_PER_TOKEN;
    const uint64_t rows = positionRows(p, axisCount(frequencies)) + isPacked(p) + (frequencies.sets > 1);
    uint64_t extent = (rows - 1) * p.axis_stride + (isPacked(p) ? p.sequences : 1);
    if (isPacked(p) && extent < p.sequences + 1ull) extent = p.sequences + 1ull;
    return {ROPE_SLOT_POSITIONS,
            ropePositionBytes(p.element),
            p.offset,
            {isPacked(p) ? 0 : p.batch_stride, per_token ? p.token_stride : 0, 0},
            extent};
}

void setPositions(const ReadPositions& read, RopePush* push, PlanPass* pass) {
    const auto& [p, frequencies] = read;
    pass->constants[ROPE_ID_POSITIONS] = shaderNumber(p.kind);
    pass->constants[ROPE_ID_POSITION_ELEMENT] = shaderNumber(p.element);
    pass->constants[ROPE_ID_SETS] = frequencies.sets > 1 ? frequencies.sets : 0;
    pass->sequences = isPacked(p) ? p.sequences : 0;
    pass->joinable = p.kind == ROPE_POSITIONS_PER_TOKEN;
    setAxes(frequencies, pass);
    push->position_axis = static_cast<uint32_t>(p.axis_stride);
    push->window_end = isPacked(p) ? 0 : UINT32_MAX;
    if (readsPositions(p)) {
        pass->access[ROPE_BINDING_POSITIONS] = positionAccess(p, frequencies);
        push->ROPE_SEQUENCES = p.sequences;
    } else {
        memcpy(&push->ROPE_FIRST_POSITION, &p.first, sizeof p.first);
    }
}

bool canLackPosition(const RopePositions& p, const RopeFrequencies& frequencies) {
    return p.element == ROPE_POSITION_INT64 || p.element == ROPE_POSITION_FLOAT32 || frequencies.sets > 1;
}

} // namespace rope

uint32_t ropePositionBytes(RopePositionElement element) { return rope::positionBytes(element); }
