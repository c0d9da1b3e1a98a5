// Elements of arrays on the CPU, with the shaders' own conversions.
#pragma once

#include "rope.h"

namespace rope {

// An element as it lies in the array, its float32 bits and back, and both at once: integers, as a float in a register
// may lose a NaN's payload.
uint32_t readRaw(const void* array, RopeElement element, uint64_t at);
void writeRaw(void* array, RopeElement element, uint64_t at, uint32_t raw);
uint32_t widened(uint32_t raw, RopeElement element);
uint32_t narrowed(uint32_t bits, RopeElement element);
uint32_t readFloatBits(const void* array, RopeElement element, uint64_t at);
void writeFloatBits(void* array, RopeElement element, uint64_t at, uint32_t bits);
float readElement(const void* array, RopeElement element, uint64_t at);

} // namespace rope
