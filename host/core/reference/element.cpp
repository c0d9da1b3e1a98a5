// This file reads, writes and converts elements of arrays on the CPU: ropeConvertElements among others.
#include "reference/element.h"

#include "plan/element_formats.h"
#include "plan/enumerators.h"
#include "shaders/numbers/float8.h"

#include <string.h>

namespace rope {

uint32_t readRaw(const void* array, RopeElement element, uint64_t at) {
    uint32_t bits;
    uint16_t half;
    if (isFloat8(element)) return static_cast<const uint8_t*>(array)[at];
    if (ropeElementBytes(element) == 4) {
        memcpy(&bits, static_cast<const char*>(array) + at * 4, 4);
        return bits;
    }
    memcpy(&half, static_cast<const char*>(array) + at * 2, 2);
    return half;
}

void writeRaw(void* array, RopeElement element, uint64_t at, uint32_t raw) {
    if (ropeElementBytes(element) == 4) {
        memcpy(static_cast<char*>(array) + at * 4, &raw, 4);
    } else if (isFloat8(element)) {
        static_cast<uint8_t*>(array)[at] = static_cast<uint8_t>(raw);
    } else {
        const uint16_t half = static_cast<uint16_t>(raw);
        memcpy(static_cast<char*>(array) + at * 2, &half, 2);
    }
}

uint32_t widened(uint32_t raw, RopeElement element) {
    if (isFloat8(element)) return widen_f8(raw, static_cast<uint32_t>(formatOf(element).mantissa_bits));
    return ropeElementBytes(element) == 4 ? raw : widen(raw, shaderElement(element));
}

uint32_t narrowed(uint32_t bits, RopeElement element) {
    if (isFloat8(element)) return narrow_f8(bits, static_cast<uint32_t>(formatOf(element).mantissa_bits));
    if (element == ROPE_ELEMENT_BF16) return high_narrowed_bf16(bits) >> 16;
    return ropeElementBytes(element) == 4 ? bits : narrow_f16(bits);
}

uint32_t readFloatBits(const void* array, RopeElement element, uint64_t at) {
    return widened(readRaw(array, element, at), element);
}

void writeFloatBits(void* array, RopeElement element, uint64_t at, uint32_t bits) {
    writeRaw(array, element, at, narrowed(bits, element));
}

float readElement(const void* array, RopeElement element, uint64_t at) {
    const uint32_t bits = readFloatBits(array, element, at);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

} // namespace rope

using namespace rope;

void ropeConvertElements(const void* from, RopeElement from_element, void* to, RopeElement to_element, size_t count) {
    const bool floats = !isQuantized(from_element) && !isQuantized(to_element);
    if (!floats || from == nullptr || to == nullptr) return;
    for (size_t i = 0; i < count; ++i) {
        const uint32_t raw = readRaw(from, from_element, i);
        writeRaw(to, to_element, i,
                 from_element == to_element ? raw : narrowed(widened(raw, from_element), to_element));
    }
}
