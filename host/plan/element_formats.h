// The formats of elements: what host, program and benchmarks know of each, and the number that shaders know it by. A
// format more is an enumerator of rope.h, a number in shaders/interface.h and a row here, its conversion in the shaders
// (element.h, or integers.glsl for a cache's) and, for a cache's, on the CPU (host/reference/quantize.cpp).
#pragma once

#include "rope.h"

#include "../shaders/interface.h"

namespace rope {

enum class ElementScale : uint8_t { kNone, kApart, kInBlock }; // kApart: a float32 of each slot and head

struct ElementFormat {
    RopeElement element;
    char name[5];           // as options and reports have it
    char type[9];           // as sentences have it
    uint8_t block_elements; // elements that lie in memory as one; 1 but for formats with a scale in each block
    uint8_t block_bytes;
    ElementScale scale;
    int8_t mantissa_bits;    // of a float, below its leading 1
    int16_t lowest_exponent; // of a float's smallest normal number
};

// In the order of RopeElement. Each row's number in the shaders is one less than its place here.
inline constexpr ElementFormat kElementFormats[] = {
    {ROPE_ELEMENT_DEFAULT, "", "", 1, 4, ElementScale::kNone, 23, -126},
    {ROPE_ELEMENT_F32, "f32", "float32", 1, 4, ElementScale::kNone, 23, -126},
    {ROPE_ELEMENT_F16, "f16", "float16", 1, 2, ElementScale::kNone, 10, -14},
    {ROPE_ELEMENT_BF16, "bf16", "bfloat16", 1, 2, ElementScale::kNone, 7, -126},
    {ROPE_ELEMENT_I8, "int8", "int8", 1, 1, ElementScale::kApart, 0, 0},
    {ROPE_ELEMENT_Q8_0, "q8_0", "Q8_0", ROPE_Q8_0_ELEMENTS, ROPE_Q8_0_BYTES, ElementScale::kInBlock, 0, 0},
};
constexpr uint32_t kElementCount = sizeof kElementFormats / sizeof kElementFormats[0];
constexpr RopeElement kLastElement = static_cast<RopeElement>(kElementCount - 1);

constexpr const ElementFormat& formatOf(RopeElement element) { return kElementFormats[element]; }

// The number that shaders know it by.
constexpr uint32_t shaderElement(RopeElement element) {
    return element == ROPE_ELEMENT_DEFAULT ? ROPE_F32 : static_cast<uint32_t>(element) - 1;
}
constexpr bool isForCaches(RopeElement element) { return ROPE_IS_FOR_CACHES(shaderElement(element)); }

// The last format that tensors and rows may have; those behind it are for caches alone.
constexpr RopeElement lastTensorElement() {
    uint32_t last = 0;
    while (last + 1 < kElementCount && !isForCaches(static_cast<RopeElement>(last + 1))) ++last;
    return static_cast<RopeElement>(last);
}
constexpr RopeElement kLastTensorElement = lastTensorElement();

constexpr bool isElementTableInOrder() {
    for (uint32_t i = 0; i < kElementCount; ++i) {
        if (kElementFormats[i].element != static_cast<RopeElement>(i)) return false;
    }
    return true;
}
static_assert(isElementTableInOrder());
static_assert(shaderElement(ROPE_ELEMENT_F16) == ROPE_F16 && shaderElement(ROPE_ELEMENT_BF16) == ROPE_BF16);
static_assert(shaderElement(ROPE_ELEMENT_I8) == ROPE_I8 && shaderElement(ROPE_ELEMENT_Q8_0) == ROPE_Q8_0);

// The fewest elements that fill whole 32-bit words.
constexpr uint32_t elementsOfWords(RopeElement element) {
    uint32_t blocks = 1;
    while (blocks * formatOf(element).block_bytes % 4 != 0) blocks *= 2;
    return blocks * formatOf(element).block_elements;
}
// Bytes of so many elements, which are whole blocks.
constexpr uint64_t elementBytes(RopeElement element, uint64_t count) {
    return count / formatOf(element).block_elements * formatOf(element).block_bytes;
}

} // namespace rope
