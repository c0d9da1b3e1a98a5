// This file rotates pairs by their cosines and sines, as float32 bits. The same text serves GLSL, for one pair or a
// vector of pairs, and C++ (in namespace rope). ROPE_BITS is uint or a vector of it, ROPE_VALUES float or a vector of
// it. ROPE_WHERE_LESS(a, b, yes, no) compares a and b, and chooses each component by itself. GLSL may include this file
// once for each type.
// To rotate pairs otherwise: change turn_pair, which GLSL, rope.glsl and the CPU share.
#if !defined(__cplusplus) || !defined(ROPE_PAIR_H)
#define ROPE_PAIR_H

#include "dialect.h"

// Returns the multiple of grid's last place that is nearest to value. grid is 1.5 times a power of two, and far larger.
ROPE_FUNCTION ROPE_VALUES leading(ROPE_VALUES value, ROPE_VALUES grid) {
    ROPE_PRECISE ROPE_VALUES raised = value + grid;
    ROPE_PRECISE ROPE_VALUES lead = raised - grid;
    return lead;
}

// Turns a pair, with every operation rounded. A grid (see scale_grid) makes the products nearly exact. The leading
// parts of x = xh + xl and c = ch + cl have so few bits that xh*ch - yh*sh is exact. The rest is rounded:
// (xl*ch - yl*sh) + (x*cl - y*sl), which is at most 2^-8 of the pair. For this the pair is scaled to the binade of 2,
// and the sums are scaled back.
//
// If the exact part is less than 2^-46, or the pair is not finite, the plain result stands. So infinities and NaNs
// stay. A denormal of the rest, which a device may flush, changes no result: it would need a result below 2^-74.
ROPE_FUNCTION void turn_pair(ROPE_INOUT(ROPE_BITS) first, ROPE_INOUT(ROPE_BITS) second, ROPE_VALUES c, ROPE_VALUES s,
                             uint grid) {
    ROPE_VALUES x = uintBitsToFloat(first);
    ROPE_VALUES y = uintBitsToFloat(second);
    ROPE_PRECISE ROPE_VALUES left = x * c - y * s;
    ROPE_PRECISE ROPE_VALUES right = x * s + y * c;
    ROPE_BITS binade = max(max(first & 0x7F800000u, second & 0x7F800000u), 0x01000000u);
    first = floatBitsToUint(left);
    second = floatBitsToUint(right);
    if (grid != 0u) {
        ROPE_VALUES to_two = uintBitsToFloat(0x7F800000u - binade); // 0 if an element is not finite: then nothing leads
        ROPE_VALUES from_two = uintBitsToFloat(binade - 0x00800000u);
        ROPE_VALUES pair_grid = ROPE_VALUES(uintBitsToFloat(0x46400000u)); // 2^-10
        ROPE_VALUES turn_grid = ROPE_VALUES(uintBitsToFloat(grid));
        x = x * to_two;
        y = y * to_two;
        ROPE_VALUES xh = leading(x, pair_grid);
        ROPE_VALUES yh = leading(y, pair_grid);
        ROPE_VALUES ch = leading(c, turn_grid);
        ROPE_VALUES sh = leading(s, turn_grid);
        ROPE_PRECISE ROPE_VALUES left_lead = xh * ch - yh * sh;
        ROPE_PRECISE ROPE_VALUES right_lead = xh * sh + yh * ch;
        left = left_lead + (((x - xh) * ch - (y - yh) * sh) + (x * (c - ch) - y * (s - sh)));
        right = right_lead + (((x - xh) * sh + (y - yh) * ch) + (x * (s - sh) + y * (c - ch)));
        left = left * from_two;
        right = right * from_two;
        // Magnitudes go one binade up, so that those that are not finite become the least; 2^-46 is 0x29000000.
        ROPE_BITS least = ROPE_BITS(0x29000000u);
        ROPE_BITS left_size = (floatBitsToUint(left_lead) + 0x00800000u) & 0x7FFFFFFFu;
        ROPE_BITS right_size = (floatBitsToUint(right_lead) + 0x00800000u) & 0x7FFFFFFFu;
        first = ROPE_WHERE_LESS(left_size, least, first, floatBitsToUint(left));
        second = ROPE_WHERE_LESS(right_size, least, second, floatBitsToUint(right));
    }
}

ROPE_DIALECT_END
#endif
