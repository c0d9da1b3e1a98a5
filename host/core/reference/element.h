// Elements of arrays are read and written on the CPU with the shaders' own conversions.
#pragma once

#include <vkrope/rope.h>

namespace rope {

// A raw element is the integer that lies in the array. Its float bits are the bits of its float32. Both are integers,
// as a float in a register may lose a NaN's payload. widened() and narrowed() convert between them; readFloatBits() and
// writeFloatBits() do both at once.
uint32_t readRaw(const void* array, RopeElement element, uint64_t at);
void writeRaw(void* array, RopeElement element, uint64_t at, uint32_t raw);
uint32_t widened(uint32_t raw, RopeElement element);
uint32_t narrowed(uint32_t bits, RopeElement element);
uint32_t readFloatBits(const void* array, RopeElement element, uint64_t at);
void writeFloatBits(void* array, RopeElement element, uint64_t at, uint32_t bits);
float readElement(const void* array, RopeElement element, uint64_t at);

} // namespace rope
