// This file has the integers that IQ4_NL's sixteen codes stand for. The same text serves GLSL and C++ (in namespace
// rope).
#ifndef ROPE_CODES_H
#define ROPE_CODES_H

#include "dialect.h"

// Returns -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89 or 113. A word has four of them, a byte
// each.
ROPE_FUNCTION int code_value(uint code) {
    uint low = choose(code < 4u, 0xBFAD9881u, 0xF6EADDCFu);
    uint high = choose(code < 12u, 0x26190D01u, 0x71594535u);
    return int(choose(code < 8u, low, high) >> 8u * (code % 4u) << 24) >> 24;
}

ROPE_DIALECT_END
#endif
