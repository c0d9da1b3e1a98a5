// A HostToken is one token on the CPU: where it stands in its sequence, and its positions.
#pragma once

#include "rules/position.h"
#include <vkrope/rope.h>

namespace rope {

struct HostToken {
    bool placed;          // the token is part of a sequence
    bool known;           // each position is a valid one, and the set exists
    uint32_t index, left; // its index in the sequence; the tokens left there, itself among them
    uint32_t sequence;    // the batch, or the number of the packed sequence
    uint32_t set;
    int64_t position[ROPE_MAX_AXES]; // in 2^-32ths
};
HostToken findToken(const RopePositions& p, const RopeFrequencies& frequencies, const void* positions, uint32_t tokens,
                    uint32_t batch, uint32_t token);

} // namespace rope
