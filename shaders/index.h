// Integer index arithmetic, the same text for GLSL and C++ (in namespace rope).
#ifndef ROPE_INDEX_H
#define ROPE_INDEX_H

#include "dialect.h"

// n / d for n < 2^31, given shift = ceil(log2 d) and magic = ceil(2^(31 + shift) / d).
ROPE_FUNCTION uint divide(uint n, uint magic, uint shift) { return multiply_high(n << 1, magic) >> shift; }

// The elements of pair j within the rotary part.
ROPE_FUNCTION uint pair_first(uint j, uint interleaved) { return interleaved != 0u ? 2u * j : j; }
ROPE_FUNCTION uint pair_second(uint j, uint pairs, uint interleaved) {
    return interleaved != 0u ? 2u * j + 1u : j + pairs;
}

// The i-th element of a head that does not rotate: those before the rotary part, then those behind it.
ROPE_FUNCTION uint pass_element(uint i, uint rotary_begin, uint pairs) { return i < rotary_begin ? i : i + 2u * pairs; }

ROPE_DIALECT_END
#endif
