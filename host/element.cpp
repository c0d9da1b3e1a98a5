// Elements on the CPU, with the shaders' own conversions.
#include "../shaders/element.h"
#include "plan.h"

#include <string.h>

namespace rope {

uint32_t shaderElement(RopeElement element) {
    static constexpr uint32_t kElements[] = {ROPE_F32, ROPE_F32, ROPE_F16, ROPE_BF16, ROPE_I8, ROPE_Q8_0};
    return kElements[element];
}

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

float readElement(const void* array, RopeElement element, uint64_t at) {
    const uint32_t bits = readBits(array, element, at);
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

} // namespace rope

using namespace rope;

uint32_t ropeElementBytes(RopeElement element) {
    static constexpr uint32_t kBytes[] = {4, 4, 2, 2, 1, 0};
    return static_cast<uint32_t>(element) <= ROPE_ELEMENT_Q8_0 ? kBytes[element] : 4;
}

void ropeConvertElements(const void* from, RopeElement from_element, void* to, RopeElement to_element, size_t count) {
    if (from_element > ROPE_ELEMENT_BF16 || to_element > ROPE_ELEMENT_BF16) return;
    for (size_t i = 0; i < count; ++i) writeBits(to, to_element, i, readBits(from, from_element, i));
}
