// This file reads positions, and finds the length that they ask for.
#include "rules/position.h"

#include <string.h>

namespace rope {

int64_t readInteger(const void* array, RopePositionElement element, uint64_t at) {
    int32_t narrow;
    int64_t wide;
    const unsigned char* from = static_cast<const unsigned char*>(array) + at * positionBytes(element);
    if (positionBytes(element) == 4) {
        memcpy(&narrow, from, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, from, sizeof wide);
    return wide;
}

bool readPosition(const void* array, RopePositionElement element, uint64_t at, int64_t* position) {
    const int64_t integer = readInteger(array, element, at);
    *position = integer;
    if (element == ROPE_POSITION_FIXED64) return true;
    if (element == ROPE_POSITION_FLOAT32) {
        const int32_t bits = static_cast<int32_t>(integer);
        float value;
        memcpy(&value, &bits, sizeof value);
        const bool is_one = value > -2147483648.0f && value < 2147483648.0f;
        *position = is_one ? static_cast<int64_t>(static_cast<double>(value) * 4294967296.0) : 0;
        return is_one;
    }
    *position = static_cast<int64_t>(static_cast<uint64_t>(integer) << 32);
    return integer >= INT32_MIN && integer <= INT32_MAX;
}

} // namespace rope

using namespace rope;

double ropeLengthOfPositions(const void* positions, RopePositionElement element, uint64_t count) {
    int64_t largest = -1;
    for (uint64_t i = 0; positions != nullptr && i < count; ++i) {
        int64_t position = 0;
        if (readPosition(positions, element, i, &position) && position > largest) largest = position;
    }
    if (largest < 0) return 0;
    // A double has 53 bits. Those below are rounded up, so that a length beyond another stays beyond it.
    uint64_t length = static_cast<uint64_t>(largest) + (uint64_t{1} << 32), last = 1;
    while (length > uint64_t{1} << 53) {
        length = length / 2 + length % 2;
        last *= 2;
    }
    return static_cast<double>(length) * (static_cast<double>(last) / 4294967296.0);
}
