// One position of an array, as the position slots hold it.
#pragma once

#include <vkrope/rope.h>

namespace rope {

inline uint32_t positionBytes(RopePositionElement element) {
    return element == ROPE_POSITION_INT64 || element == ROPE_POSITION_FIXED64 ? 8 : 4;
}

// Reads an entry as it stands in the buffer. A float is returned as its bits.
int64_t readInteger(const void* array, RopePositionElement element, uint64_t at);

// Reads a position in 2^-32ths. Returns false if the value is no position.
bool readPosition(const void* array, RopePositionElement element, uint64_t at, int64_t* position);

} // namespace rope
