// Heads of formats that are for caches alone are stored on the CPU with the shaders' own roundings.
#pragma once

#include "reference/rotation.h"

namespace rope {

// HeadPlace tells where a head is stored: its first element, the float32 scale of a format whose scales lie apart, and
// its number.
struct HeadPlace {
    void* array;
    uint64_t at, scale;
    uint32_t head;
    const RopeCacheScale* given;
};
void storeCacheHead(RopeElement element, const HeadPlace& place, const ElementValue* values, uint32_t count);
// Reads a head as float32.
void readCacheHead(RopeElement element, const HeadPlace& place, ElementValue* values, uint32_t count);

} // namespace rope
