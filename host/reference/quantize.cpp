// This file stores heads in quantized formats on the CPU.
#include "reference/quantize.h"

#include "../shaders/element_formats.h"

#include <string.h>

namespace rope {
namespace {

struct Quantizer {
    float scale, inverse;
};

// Finds the scale by the largest magnitude. A scale that is no normal number becomes 0, and so do all its integers.
Quantizer quantizerOf(const ElementValue* values, uint32_t count) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t magnitude = values[i].bits & 0x7FFFFFFFu;
        if (magnitude > largest) largest = magnitude;
    }
    const float scale = floatOf(largest) / 127.0f;
    const bool normal = bitsOf(scale) >= 0x00800000u;
    return {normal ? scale : 0.0f, normal ? 1.0f / scale : 0.0f};
}

// Rounds to the nearest integer, and halves away from 0.
int8_t quantize(const ElementValue& value, float inverse) {
    const double quotient = static_cast<double>(product(floatOf(value.bits), inverse));
    if (!(quotient > -127.5 && quotient < 127.5)) return 0; // only a value or a scale that is not finite comes here
    return static_cast<int8_t>(quotient < 0 ? quotient - 0.5 : quotient + 0.5);
}

void storeInt8Head(void* array, uint64_t at, uint64_t scale, const ElementValue* values, uint32_t count) {
    const Quantizer q = quantizerOf(values, count);
    writeFloatBits(array, ROPE_ELEMENT_F32, scale, bitsOf(q.scale));
    int8_t* out = static_cast<int8_t*>(array) + at;
    for (uint32_t e = 0; e < count; ++e) out[e] = quantize(values[e], q.inverse);
}

void storeQ8Head(void* array, uint64_t at, const ElementValue* values, uint32_t count) {
    for (uint32_t first = 0; first < count; first += ROPE_Q8_0_ELEMENTS) {
        const Quantizer q = quantizerOf(values + first, ROPE_Q8_0_ELEMENTS);
        unsigned char* block = static_cast<unsigned char*>(array) + elementBytes(ROPE_ELEMENT_Q8_0, at + first);
        writeFloatBits(block, ROPE_ELEMENT_F16, 0, bitsOf(q.scale));
        for (uint32_t i = 0; i < ROPE_Q8_0_ELEMENTS; ++i) {
            const int8_t quant = quantize(values[first + i], q.inverse);
            memcpy(block + 2 + i, &quant, 1);
        }
    }
}

} // namespace

void storeQuantizedHead(void* array, RopeElement element, uint64_t at, uint64_t scale, const ElementValue* values,
                        uint32_t count) {
    if (element == ROPE_ELEMENT_I8) storeInt8Head(array, at, scale, values, count);
    if (element == ROPE_ELEMENT_Q8_0) storeQ8Head(array, at, values, count);
}

} // namespace rope
