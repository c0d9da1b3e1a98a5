// Positions: what a description of them may say, where they lie, and what a token's are on the CPU.
#include "plan.h"

#include <string.h>

namespace rope {
namespace {

bool isPacked(const RopePositions& p) { return p.kind >= ROPE_POSITIONS_PACKED; }

// Rows of axes or starts, without those of lengths and sets.
uint32_t positionRows(const RopePositions& p, uint32_t axes) {
    return isPacked(p) ? (p.kind == ROPE_POSITIONS_PACKED_STARTS ? 1 : 0) : axes;
}

RopeResult checkKind(const RopePositions& p, uint32_t batch, uint32_t sets, RopeReason* reason) {
    if (p.kind < ROPE_POSITIONS_PER_TOKEN || p.kind > ROPE_POSITIONS_PACKED_STARTS) {
        return refuse(reason, ROPE_ERROR_INVALID, "positions.kind is %d; it must be a RopePositionKind, 0 to 4",
                      static_cast<int>(p.kind));
    }
    if (p.element < ROPE_POSITION_INT32 || p.element > ROPE_POSITION_FIXED64) {
        return refuse(reason, ROPE_ERROR_INVALID, "positions.element is %d; it must be a RopePositionElement, 0 to 3",
                      static_cast<int>(p.element));
    }
    if (p.kind == ROPE_POSITIONS_COUNTED && sets > 1) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "frequencies.sets is %u, and counted positions read no buffer that names one; use one set a plan",
                      sets);
    }
    if (!isPacked(p)) return accept(reason);
    if (batch != 1 || p.sequences == 0 || p.sequences > kMaxCount) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "packed positions with batch %u and %u sequences; batch must be 1, positions.sequences 1 to %u",
                      batch, p.sequences, kMaxCount);
    }
    if (p.element > ROPE_POSITION_INT64) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "positions.element is %d; cumulative lengths are INT32 (%d) or INT64 (%d)",
                      static_cast<int>(p.element), ROPE_POSITION_INT32, ROPE_POSITION_INT64);
    }
    return accept(reason);
}

} // namespace

RopeResult resolvePositions(const RopeFrequencies& frequencies, uint32_t batch, uint32_t tokens, RopePositions* p,
                            RopeReason* reason) {
    RopeResult result = checkKind(*p, batch, frequencies.sets, reason);
    if (result == ROPE_SUCCESS && p->kind == ROPE_POSITIONS_COUNTED) {
        const int32_t first = p->first;
        memset(p, 0, sizeof *p);
        p->kind = ROPE_POSITIONS_COUNTED;
        p->first = first;
        return result;
    }
    p->first = 0;
    if (result == ROPE_SUCCESS) result = checkStride("positions.token_stride", p->token_stride, reason);
    if (result == ROPE_SUCCESS) result = checkStride("positions.batch_stride", p->batch_stride, reason);
    if (result == ROPE_SUCCESS) result = checkStride("positions.axis_stride", p->axis_stride, reason);
    if (result == ROPE_SUCCESS) result = checkStride("positions.offset", p->offset, reason);
    if (result != ROPE_SUCCESS) return result;
    const bool per_token = p->kind == ROPE_POSITIONS_PER_TOKEN;
    if (isPacked(*p) || p->token_stride == 0) p->token_stride = 1;
    if (p->batch_stride == 0) p->batch_stride = per_token ? tokens * p->token_stride : 1;
    const uint64_t sequences = p->shared != 0 ? 1 : batch;
    if (p->axis_stride == 0) p->axis_stride = isPacked(*p) ? p->sequences + 1ull : sequences * p->batch_stride;
    if (p->shared != 0 || batch == 1) p->batch_stride = 0;
    return accept(reason);
}

RopeAccess positionAccess(const RopePositions& p, const RopeFrequencies& frequencies) {
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

void setPositions(const RopePositions& p, const RopeFrequencies& frequencies, RopePush* push, RopePass* pass) {
    pass->constants[ROPE_ID_POSITIONS] = static_cast<uint32_t>(p.kind);
    pass->constants[ROPE_ID_POSITION_ELEMENT] = static_cast<uint32_t>(p.element);
    pass->constants[ROPE_ID_SETS] = frequencies.sets > 1;
    setAxes(frequencies, pass);
    push->sets = frequencies.sets;
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

// ---- On the CPU
// ------------------------------------------------------------------------------------------------------

namespace {

int64_t readInteger(const void* array, RopePositionElement element, uint64_t at) {
    int32_t narrow;
    int64_t wide;
    const unsigned char* from = static_cast<const unsigned char*>(array) + at * ropePositionBytes(element);
    if (ropePositionBytes(element) == 4) {
        memcpy(&narrow, from, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, from, sizeof wide);
    return wide;
}

// In 2^-32ths; false where it is no position.
bool readPosition(const void* array, RopePositionElement element, uint64_t at, int64_t* position) {
    const int64_t integer = readInteger(array, element, at);
    *position = integer;
    if (element == ROPE_POSITION_FIXED64) return true;
    if (element == ROPE_POSITION_FLOAT32) {
        const int32_t bits = static_cast<int32_t>(integer);
        float value;
        memcpy(&value, &bits, sizeof value);
        const bool is_one = value > -2147483648.0f && value < 2147483648.0f;
        *position = is_one ? static_cast<int64_t>(static_cast<double>(value) * 4294967296.0) : 0;
        return is_one;
    }
    *position = static_cast<int64_t>(static_cast<uint64_t>(integer) << 32);
    return integer >= INT32_MIN && integer <= INT32_MAX;
}

// The sequence that a token is of, and its index there, or false.
bool findSequence(const RopePositions& p, const void* positions, uint32_t token, HostToken* found, uint64_t* sequence) {
    for (uint64_t i = 0; i < p.sequences; ++i) {
        const int64_t begin = readInteger(positions, p.element, p.offset + i);
        const int64_t end = readInteger(positions, p.element, p.offset + i + 1);
        if (token < begin || token >= end) continue;
        *sequence = i;
        found->index = static_cast<uint32_t>(token - begin);
        found->left = static_cast<uint32_t>(end - token);
        return true;
    }
    return false;
}

} // namespace

HostToken hostToken(const RopePositions& p, const RopeFrequencies& frequencies, const void* positions, uint32_t tokens,
                    uint32_t batch, uint32_t token) {
    HostToken found = {true, true, token, tokens - token, 0, {}};
    uint64_t at = p.offset + batch * p.batch_stride + (p.kind == ROPE_POSITIONS_PER_TOKEN ? token * p.token_stride : 0);
    if (isPacked(p)) {
        uint64_t sequence = 0;
        found.placed = findSequence(p, positions, token, &found, &sequence);
        if (!found.placed) return found;
        at = p.offset + sequence + p.axis_stride;
    }
    const uint32_t axes = axisCount(frequencies);
    const uint32_t rows = positionRows(p, axes);
    for (uint32_t axis = 0; axis < axes; ++axis) {
        int64_t position = ROPE_WHOLE_POSITION(p.first);
        if (p.kind != ROPE_POSITIONS_COUNTED) {
            position = 0;
            const uint64_t row = at + (isPacked(p) ? 0 : axis * p.axis_stride);
            found.known &= rows == 0 || readPosition(positions, p.element, row, &position);
        }
        const uint64_t index = p.kind == ROPE_POSITIONS_PER_TOKEN ? 0 : static_cast<uint64_t>(found.index) << 32;
        found.position[axis] = static_cast<int64_t>(static_cast<uint64_t>(position) + index); // sums wrap
    }
    if (frequencies.sets > 1) {
        found.set = static_cast<uint32_t>(readInteger(positions, p.element, at + rows * p.axis_stride));
        found.known &= found.set < frequencies.sets;
    }
    return found;
}

} // namespace rope

uint32_t ropePositionBytes(RopePositionElement element) {
    return element == ROPE_POSITION_INT64 || element == ROPE_POSITION_FIXED64 ? 8 : 4;
}
