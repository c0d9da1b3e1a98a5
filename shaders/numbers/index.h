// This file is integer index arithmetic, the same text for GLSL and C++ (in namespace rope).
#ifndef ROPE_INDEX_H
#define ROPE_INDEX_H

#include "dialect.h"

// The rotary part's pairs lie in chunks. A chunk has the first elements of `chunk` pairs, then their second elements.
// `chunk` is 1 for interleaved pairing, and 0 (one chunk of all pairs) for half pairing.
#define ROPE_IS_INTERLEAVED(chunk) ((chunk) == 1u)
// These return the first element of pair j in the rotary part, and the distance to its second.
ROPE_FUNCTION uint pair_first(uint j, uint chunk) { return j + j / max(chunk, 1u) * chunk; }
ROPE_FUNCTION uint pair_distance(uint pairs, uint chunk) { return choose(chunk == 0u, pairs, chunk); }

// Returns element i of those that do not rotate: they lie before the rotary part, then behind it.
ROPE_FUNCTION uint pass_element(uint i, uint rotary_begin, uint pairs) {
    return i + choose(i < rotary_begin, 0u, 2u * pairs);
}
// Returns how many elements a copying lane moves in one run by words: four if rotary_begin is a multiple of four, or
// else the `part` elements that are loaded at once. So no run lies on both sides of the rotary part.
ROPE_FUNCTION uint copied_run(uint rotary_begin, uint part) { return choose(rotary_begin % 4u == 0u, 4u, part); }

ROPE_DIALECT_END
#endif
