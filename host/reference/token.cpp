// This file finds where a token stands in its sequence, and its positions, on the CPU.
#include "reference/token.h"
#include "plan/axes.h"
#include "plan/positions.h"

#include <string.h>

namespace rope {

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

namespace {

// Reads a position in 2^-32ths. Returns false if the value is no position.
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
