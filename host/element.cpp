// Elements on the CPU, with the shaders' own conversions.
#include "../shaders/element.h"
#include "plan.h"

#include <string.h>

namespace rope {

uint32_t shaderElement(RopeElement element) {
    return element == ROPE_ELEMENT_F16 ? ROPE_F16 : element == ROPE_ELEMENT_BF16 ? ROPE_BF16 : ROPE_F32;
}

namespace {

uint32_t readBits(const void* array, RopeElement element, uint64_t at) {
    uint32_t bits;
    uint16_t half;
    if (ropeElementBytes(element) == 4) {
        memcpy(&bits, static_cast<const char*>(array) + at * 4, 4);
        return bits;
    }
    memcpy(&half, static_cast<const char*>(array) + at * 2, 2);
    return widen(half, shaderElement(element));
}

void writeBits(void* array, RopeElement element, uint64_t at, uint32_t bits) {
    if (ropeElementBytes(element) == 4) {
        memcpy(static_cast<char*>(array) + at * 4, &bits, 4);
    } else {
        const uint16_t half = static_cast<uint16_t>(narrow(bits, shaderElement(element)));
        memcpy(static_cast<char*>(array) + at * 2, &half, 2);
    }
}

} // namespace

float readElement(const void* array, RopeElement element, uint64_t at) {
    const uint32_t bits = readBits(array, element, at);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

void writeElement(void* array, RopeElement element, uint64_t at, float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    writeBits(array, element, at, bits);
}

void copyBits(const void* from, RopeElement from_element, uint64_t from_at, void* to, RopeElement to_element,
              uint64_t to_at) {
    writeBits(to, to_element, to_at, readBits(from, from_element, from_at));
}

} // namespace rope

using namespace rope;

uint32_t ropeElementBytes(RopeElement element) {
    return element == ROPE_ELEMENT_F16 || element == ROPE_ELEMENT_BF16 ? 2 : 4;
}

void ropeConvertElements(const void* from, RopeElement from_element, void* to, RopeElement to_element, size_t count) {
    for (size_t i = 0; i < count; ++i) copyBits(from, from_element, i, to, to_element, i);
}
