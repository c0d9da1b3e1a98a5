// Integer index arithmetic, the same text for GLSL and C++ (in namespace rope).
#ifndef ROPE_INDEX_H
#define ROPE_INDEX_H

#include "dialect.h"

// n / d for n < 2^31, given shift = ceil(log2 d) and magic = ceil(2^(31 + shift) / d).
ROPE_FUNCTION uint divide(uint n, uint magic, uint shift) { return multiply_high(n * 2u, magic) >> shift; }

// The rotary part's pairs lie in chunks, each chunk's first elements before its second ones. `chunk` is the number of
// pairs in one. A chunk of one pair is interleaved pairing. 0 means that one chunk has all pairs, which is half
// pairing.
#define ROPE_IS_INTERLEAVED(chunk) ((chunk) == 1u)
// The first element of pair j within the rotary part, and how far its second one lies behind.
ROPE_FUNCTION uint pair_first(uint j, uint chunk) { return j + j / max(chunk, 1u) * chunk; }
ROPE_FUNCTION uint pair_distance(uint pairs, uint chunk) { return choose(chunk == 0u, pairs, chunk); }

// The i-th element of a head that does not rotate: those before the rotary part, then those behind it.
ROPE_FUNCTION uint pass_element(uint i, uint rotary_begin, uint pairs) {
    return i + choose(i < rotary_begin, 0u, 2u * pairs);
}

ROPE_DIALECT_END
#endif
