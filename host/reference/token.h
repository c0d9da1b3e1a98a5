// One token on the CPU: where it stands in its sequence, and its positions.
#pragma once

#include "rope.h"

namespace rope {

struct HostToken {
    bool placed;          // it is part of a sequence
    bool known;           // each of its positions is one, and its set is there
    uint32_t index, left; // in its sequence; tokens from it to the sequence's end, itself among them
    uint32_t sequence;    // the batch's, or of packed ones
    uint32_t set;
    int64_t position[ROPE_MAX_AXES]; // in 2^-32ths
};
HostToken findToken(const RopePositions& p, const RopeFrequencies& frequencies, const void* positions, uint32_t tokens,
                    uint32_t batch, uint32_t token);

// An entry as it stands in the buffer; a float's bits.
int64_t readInteger(const void* array, RopePositionElement element, uint64_t at);

} // namespace rope
