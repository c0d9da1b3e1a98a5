// This file finds where a token stands in its sequence, and its positions, on the CPU.
#include "reference/token.h"
#include "plan/axes.h"
#include "plan/positions.h"

#ifndef VKROPE_NO_REFERENCE
namespace rope {
namespace {

// Finds the sequence of a token, and its index there. Returns false if no sequence has the token.
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

HostToken findToken(const RopePositions& p, const RopeFrequencies& frequencies, const void* positions, uint32_t tokens,
                    uint32_t batch, uint32_t token) {
    HostToken found = {true, true, token, tokens - token, batch, 0, {}};
    uint64_t at = p.offset + batch * p.batch_stride + (p.kind == ROPE_POSITIONS_PER_TOKEN ? token * p.token_stride : 0);
    if (isPacked(p)) {
        uint64_t sequence = 0;
        found.placed = findSequence(p, positions, token, &found, &sequence);
        if (!found.placed) return found;
        found.sequence = static_cast<uint32_t>(sequence);
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
        const int64_t set = readInteger(positions, p.element, at + rows * p.axis_stride);
        found.set = static_cast<uint32_t>(set);
        found.known &= set >= 0 && set < frequencies.sets;
    }
    return found;
}

} // namespace rope
#endif
