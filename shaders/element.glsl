// This file includes element.h for WORDS, which is uint or a vector of it. VALUES and SIGNED are float and int of the
// same width.
#define ROPE_BITS WORDS
#define ROPE_VALUES VALUES
#define ROPE_SELECT(which, yes, no) mix(no, yes, which)
// Compares of signed numbers are one operation on a CPU.
#if ROPE_LANE > 1
#define ROPE_LESS(a, b) lessThan(SIGNED(a), SIGNED(b))
#else
#define ROPE_LESS(a, b) ((a) < (b))
#endif

WORDS shrunk_bits(WORDS bits) {
    precise VALUES number = uintBitsToFloat(bits) * VALUES(uintBitsToFloat(0x07800000u)); // 2^-112: exact
    precise VALUES lacking = number - VALUES(uintBitsToFloat(0x38800000u)); // 2^-14: exact where it counts
    precise VALUES value = number + intBitsToFloat(min(floatBitsToInt(lacking), SIGNED(0)));
    return floatBitsToUint(value);
}
#include "element.h"
