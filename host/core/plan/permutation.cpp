// This file writes the order of a head's elements in one pairing in terms of the other: ropePairPermutation.
#include "plan/pairing.h"
#include "rules/refuse.h"

using namespace rope;

RopeResult ropePairPermutation(uint32_t head_dim, uint32_t rotary_begin, uint32_t rotary_dim, RopePairing to,
                               uint32_t* permutation, RopeReason* reason) {
    clear(reason);
    if (permutation == nullptr) return refuseNull(reason, "permutation");
    if (rotary_begin >= head_dim || rotary_dim > head_dim - rotary_begin || rotary_dim % 2 != 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "a rotary part of %u elements from %u on does not fit a head of %u; it must be even and inside",
                      rotary_dim, rotary_begin, head_dim);
    }
    if (to != ROPE_PAIRING_HALF && to != ROPE_PAIRING_INTERLEAVED) {
        return refuse(reason, ROPE_ERROR_INVALID, "to is %d; it must be ROPE_PAIRING_HALF or ROPE_PAIRING_INTERLEAVED",
                      static_cast<int>(to));
    }
    const uint32_t pairs = rotary_dim / 2;
    const RopePairing from = to == ROPE_PAIRING_HALF ? ROPE_PAIRING_INTERLEAVED : ROPE_PAIRING_HALF;
    const uint32_t chunk_to = chunkPairs(to, rotary_dim, rotary_dim);
    const uint32_t chunk_from = chunkPairs(from, rotary_dim, rotary_dim);
    for (uint32_t i = 0; i < head_dim; ++i) permutation[i] = i;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        for (uint32_t which = 0; which < 2; ++which) {
            permutation[rotary_begin + pair_first(pair, chunk_to) + which * pair_distance(pairs, chunk_to)] =
                rotary_begin + pair_first(pair, chunk_from) + which * pair_distance(pairs, chunk_from);
        }
    }
    return ROPE_SUCCESS;
}
