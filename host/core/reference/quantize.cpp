// This file stores heads in the formats of caches on the CPU, and reads them for shifts.
#include "reference/quantize.h"

#include "plan/element_formats.h"
#include "shaders/numbers/codes.h"

#include <cmath>
#include <string.h>

#if !defined(VKROPE_NO_REFERENCE) && !defined(VKROPE_NO_FUSED)
namespace rope {
namespace {

// How a head or a block becomes integers.
struct Quantizer {
    float scale, inverse, minimum;
};

constexpr uint32_t kSignBit = 0x80000000u;
bool isSigned(const ElementFormat& f) { return f.integer_bits == 8; }
float mostInteger(const ElementFormat& f) {
    return isSigned(f) ? 127.0f : static_cast<float>((1 << f.integer_bits) - 1);
}
// Returns what is added before an element is cut to an integer of few bits.
float raiseOf(const ElementFormat& f) {
    return (f.minimum ? 0.0f : static_cast<float>(1 << (f.integer_bits - 1))) + 0.5f;
}

// A scale that is no normal number becomes 0 of its sign, and so do all that is multiplied by its inverse.
Quantizer quantizerFor(float scale, float minimum) {
    const uint32_t bits = bitsOf(scale);
    const bool normal = (bits & ~kSignBit) >= 0x00800000u;
    return {normal ? scale : floatOf(bits & kSignBit), normal ? 1.0f / scale : 0.0f, minimum};
}

Quantizer quantizerOf(const ElementFormat& f, const ElementValue* values, uint32_t count) {
    float most = 0, least = 0x1.fffffep127f, greatest = -least; // of several that are equal the first
    for (uint32_t i = 0; i < count; ++i) {
        const float x = floatOf(values[i].bits);
        if ((bitsOf(x) & ~kSignBit) > (bitsOf(most) & ~kSignBit)) most = x;
        if (x < least) least = x;
        if (x > greatest) greatest = x;
    }
    if (f.minimum) return quantizerFor((greatest - least) / mostInteger(f), least);
    if (f.codes) return std::fabs(most) < 1e-15f ? Quantizer{} : Quantizer{most / -127.0f, 1 / (most / -127.0f), 0.0f};
    if (isSigned(f)) return quantizerFor(floatOf(bitsOf(most) & ~kSignBit) / mostInteger(f), 0.0f);
    return quantizerFor(most / (-0.5f * static_cast<float>(1u << f.integer_bits)), 0.0f);
}

// Returns the bits of an integer. Signed ones are rounded to the nearest, and halves away from 0.
uint8_t quantize(const ElementFormat& f, const ElementValue& value, const Quantizer& q) {
    const Rounded x = Rounded{floatOf(value.bits)} - Rounded{q.minimum};
    const Rounded quotient = x * Rounded{q.inverse};
    if (f.codes) {
        uint8_t code = 0;
        for (uint32_t i = 1; i < 16; ++i)
            code = static_cast<uint8_t>(code +
                                        (2 * quotient.value >= static_cast<float>(code_value(i - 1) + code_value(i))));
        return code;
    }
    if (!isSigned(f)) {
        const float raised = (quotient + Rounded{raiseOf(f)}).value;
        if (!(raised >= 0.0f)) return 0; // only a value or a scale that is not finite comes here
        return static_cast<uint8_t>(raised < mostInteger(f) ? raised : mostInteger(f));
    }
    const double whole = static_cast<double>(quotient.value);
    if (!(whole > -127.5 && whole < 127.5)) return 0; // nor here
    return static_cast<uint8_t>(static_cast<int8_t>(whole < 0 ? whole - 0.5 : whole + 0.5));
}

void storeInt8Head(const ElementFormat& f, const HeadPlace& place, const ElementValue* values, uint32_t count) {
    const Quantizer q = quantizerOf(f, values, count);
    writeFloatBits(place.array, ROPE_ELEMENT_F32, place.scale, bitsOf(q.scale));
    for (uint32_t e = 0; e < count; ++e) static_cast<uint8_t*>(place.array)[place.at + e] = quantize(f, values[e], q);
}

void storeFloat8Head(const ElementFormat& f, const HeadPlace& place, const ElementValue* values, uint32_t count) {
    const float most = f.mantissa_bits == 3 ? 448.0f : 57344.0f;
    const RopeCacheScale& given = *place.given;
    float scale = given.count != 0 ? given.values[given.count == 1 ? 0 : place.head] : 0;
    if (given.count == 0) {
        uint32_t largest = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t magnitude = values[i].bits & ~kSignBit;
            if (magnitude > largest) largest = magnitude;
        }
        scale = floatOf(largest) / most;
        if (!(scale > 1e-6f)) scale = 1e-6f;
        writeFloatBits(place.array, ROPE_ELEMENT_F32, place.scale, bitsOf(scale));
    }
    const float factor = given.multiplies != 0 ? scale : 1.0f / scale;
    const bool divides = given.count != 0 && given.multiplies == 0;
    for (uint32_t e = 0; e < count; ++e) {
        const float x = floatOf(values[e].bits);
        writeFloatBits(place.array, f.element, place.at + e, bitsOf(divides ? x / scale : product(x, factor)));
    }
}

// Returns the scale that fits the codes of a block best, as shaders/fused/convert.glsl sums it.
float fittedScale(const ElementValue* values, const uint8_t* codes, float scale) {
    Rounded products = {0}, squares = {0};
    for (uint32_t i = 0; i < ROPE_BLOCK_ELEMENTS; ++i) {
        const Rounded x = {floatOf(values[i].bits)}, q = {static_cast<float>(code_value(codes[i]))};
        const Rounded weight = x * x * q;
        products = products + weight * x;
        squares = squares + weight * q;
    }
    constexpr float kNormal = 0x1p-126f;
    if (std::isinf(squares.value)) return floatOf(0xFFC00000u);
    const bool fits = squares.value >= kNormal && std::fabs(products.value) >= kNormal && scale != 0;
    return fits ? products.value / squares.value : scale;
}

// Writes a block: its scale, its minimum where it has one, the fifth bits, and the integers, of few bits in twos.
void storeBlock(const ElementFormat& f, uint8_t* block, const ElementValue* values) {
    constexpr uint32_t kHalf = ROPE_BLOCK_ELEMENTS / 2;
    const Quantizer q = quantizerOf(f, values, ROPE_BLOCK_ELEMENTS);
    uint8_t integers[ROPE_BLOCK_ELEMENTS];
    for (uint32_t i = 0; i < ROPE_BLOCK_ELEMENTS; ++i) integers[i] = quantize(f, values[i], q);
    writeFloatBits(block, ROPE_ELEMENT_F16, 0, bitsOf(f.codes ? fittedScale(values, integers, q.scale) : q.scale));
    if (f.minimum) writeFloatBits(block, ROPE_ELEMENT_F16, 1, bitsOf(q.minimum));
    uint8_t* out = block + (f.minimum ? 4 : 2);
    if (isSigned(f)) {
        memcpy(out, integers, sizeof integers);
        return;
    }
    for (uint32_t byte = 0; f.integer_bits == 5 && byte < ROPE_BLOCK_ELEMENTS / 8; ++byte) {
        uint32_t bits = 0;
        for (uint32_t i = 0; i < 8; ++i) bits |= (integers[8 * byte + i] >> 4 & 1u) << i;
        *out++ = static_cast<uint8_t>(bits);
    }
    for (uint32_t i = 0; i < kHalf; ++i)
        out[i] = static_cast<uint8_t>((integers[i] & 15u) | (integers[i + kHalf] & 15u) << 4);
}

// ---- Heads as they are read

ElementValue valueOf(float x) { return {static_cast<double>(x), bitsOf(x)}; }

void readFloat8Head(RopeElement element, const HeadPlace& place, ElementValue* values, uint32_t count) {
    const RopeCacheScale& given = *place.given;
    const float scale = given.count == 0 ? readElement(place.array, ROPE_ELEMENT_F32, place.scale)
                                         : given.values[given.count == 1 ? 0 : place.head];
    for (uint32_t e = 0; e < count; ++e) {
        const float x = readElement(place.array, element, place.at + e);
        values[e] = valueOf(given.multiplies != 0 ? x / scale : product(x, scale));
    }
}

void readBlock(const ElementFormat& f, const uint8_t* block, ElementValue* values) {
    constexpr uint32_t kHalf = ROPE_BLOCK_ELEMENTS / 2;
    const float scale = readElement(block, ROPE_ELEMENT_F16, 0);
    const float minimum = f.minimum ? readElement(block, ROPE_ELEMENT_F16, 1) : 0;
    const uint8_t* fifth = block + (f.minimum ? 4 : 2);
    const uint8_t* integers = fifth + (f.integer_bits == 5 ? ROPE_BLOCK_ELEMENTS / 8 : 0);
    for (uint32_t i = 0; i < ROPE_BLOCK_ELEMENTS; ++i) {
        const uint8_t byte = integers[isSigned(f) ? i : i % kHalf];
        int integer = byte < 128 ? byte : byte - 256;
        if (!isSigned(f)) {
            integer = (i < kHalf ? integer : integer >> 4) & 15;
            if (f.integer_bits == 5) integer |= (fifth[i / 8] >> i % 8 & 1) << 4;
            if (f.codes)
                integer = code_value(static_cast<uint32_t>(integer));
            else if (!f.minimum)
                integer -= (1 << f.integer_bits) / 2;
        }
        const float x = product(static_cast<float>(integer), scale);
        values[i] = valueOf(f.minimum ? (Rounded{x} + Rounded{minimum}).value : x);
    }
}

} // namespace

void storeCacheHead(RopeElement element, const HeadPlace& place, const ElementValue* values, uint32_t count) {
    const ElementFormat& f = formatOf(element);
    if (isFloat8(element)) return storeFloat8Head(f, place, values, count);
    if (f.scale == ElementScale::kApart) return storeInt8Head(f, place, values, count);
    uint8_t* blocks = static_cast<uint8_t*>(place.array);
    for (uint32_t first = 0; first < count; first += ROPE_BLOCK_ELEMENTS)
        storeBlock(f, blocks + elementBytes(element, place.at + first), values + first);
}

void readCacheHead(RopeElement element, const HeadPlace& place, ElementValue* values, uint32_t count) {
    const ElementFormat& f = formatOf(element);
    if (isFloat8(element)) return readFloat8Head(element, place, values, count);
    const uint8_t* array = static_cast<const uint8_t*>(place.array);
    if (f.scale == ElementScale::kApart) {
        const float scale = readElement(array, ROPE_ELEMENT_F32, place.scale);
        for (uint32_t e = 0; e < count; ++e)
            values[e] = valueOf(product(static_cast<float>(static_cast<int8_t>(array[place.at + e])), scale));
        return;
    }
    for (uint32_t first = 0; first < count; first += ROPE_BLOCK_ELEMENTS)
        readBlock(f, array + elementBytes(element, place.at + first), values + first);
}

} // namespace rope
#endif
