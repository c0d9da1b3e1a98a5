// To add a pairing of a head's elements: RopePairing, and a row of kPairings. If its elements do not lie in chunks:
// also shaders/numbers/index.h (places), shaders/lane.glsl (interleave, deinterleave), and pairElement in
// host/core/reference/rotation.cpp. ropePairPermutation (permutation.cpp) goes between half and interleaved alone.
#pragma once

#include <vkrope/rope.h>

#include "shaders/numbers/index.h"

namespace rope {

struct PairingFormat {
    RopePairing pairing;
    char name[12];  // as options and reports have it
    bool in_chunks; // the first elements of a chunk's pairs lie before the second ones; else a pair's elements meet
};

// In the order of RopePairing.
inline constexpr PairingFormat kPairings[] = {
    {ROPE_PAIRING_DEFAULT, "", true},
    {ROPE_PAIRING_HALF, "half", true},
    {ROPE_PAIRING_INTERLEAVED, "interleaved", false},
};
constexpr uint32_t kPairingCount = sizeof kPairings / sizeof kPairings[0];
constexpr RopePairing kLastPairing = static_cast<RopePairing>(kPairingCount - 1);

constexpr bool liesInChunks(RopePairing pairing) { return kPairings[pairing].in_chunks; }

// Returns the pairs of a chunk, as index.h takes them. 0 means all pairs of the rotary part.
constexpr uint32_t chunkPairs(RopePairing pairing, uint32_t chunk_dim, uint32_t rotary_dim) {
    return !liesInChunks(pairing) ? 1 : chunk_dim == rotary_dim ? 0 : chunk_dim / 2;
}

} // namespace rope
