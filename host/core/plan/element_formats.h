// To add a float: RopeElement, interface.h, a row here, its conversion in shaders/numbers/element.h, widen_run and
// narrow_run in shaders/halves.glsl, kArrayTypes in files/npy.cpp; for another width runs.glsl and rows.glsl too.
// To add a format of blocks: RopeElement, a row, by whose facts shaders/fused/convert.glsl and reference/quantize.cpp
// go, and vectors in tests/data/caches. A new fact is also ROPE_FORMAT_ in shaders/fused/record.h.
#pragma once

#include <vkrope/rope.h>

#include "shaders/interface.h"

namespace rope {

enum class ElementScale : uint8_t { kNone, kApart, kInBlock }; // kApart: a float32 of each slot and head

struct ElementFormat {
    RopeElement element;
    char name[8];           // as options and reports have it
    char type[14];          // as sentences have it
    uint8_t block_elements; // elements that lie in memory as one; 1 but for formats with a scale in each block
    uint8_t block_bytes;
    ElementScale scale;
    int8_t mantissa_bits;    // of a float, below its leading 1
    int16_t lowest_exponent; // of a float's smallest normal number
    uint8_t integer_bits;    // of a quantized element; 8: with a sign, fewer: from 0 up; 0: it is a float
    bool minimum;            // a block's least value is taken off first, and is kept behind the scale
    bool codes = false;      // its integers are codes of the nearest of 16 values, and the scale is refitted to them
};

// In the order of RopeElement. Each row's number in the shaders is one less than its place here.
inline constexpr ElementFormat kElementFormats[] = {
    {ROPE_ELEMENT_DEFAULT, "", "", 1, 4, ElementScale::kNone, 23, -126, 0, false},
    {ROPE_ELEMENT_F32, "f32", "float32", 1, 4, ElementScale::kNone, 23, -126, 0, false},
    {ROPE_ELEMENT_F16, "f16", "float16", 1, 2, ElementScale::kNone, 10, -14, 0, false},
    {ROPE_ELEMENT_BF16, "bf16", "bfloat16", 1, 2, ElementScale::kNone, 7, -126, 0, false},
    {ROPE_ELEMENT_I8, "int8", "int8", 1, 1, ElementScale::kApart, 0, 0, 8, false},
    {ROPE_ELEMENT_Q8_0, "q8_0", "Q8_0", ROPE_BLOCK_ELEMENTS, 34, ElementScale::kInBlock, 0, 0, 8, false},
    {ROPE_ELEMENT_Q4_0, "q4_0", "Q4_0", ROPE_BLOCK_ELEMENTS, 18, ElementScale::kInBlock, 0, 0, 4, false},
    {ROPE_ELEMENT_Q4_1, "q4_1", "Q4_1", ROPE_BLOCK_ELEMENTS, 20, ElementScale::kInBlock, 0, 0, 4, true},
    {ROPE_ELEMENT_Q5_0, "q5_0", "Q5_0", ROPE_BLOCK_ELEMENTS, 22, ElementScale::kInBlock, 0, 0, 5, false},
    {ROPE_ELEMENT_F8_E4M3, "f8_e4m3", "float8 (e4m3)", 1, 1, ElementScale::kApart, 3, -6, 0, false},
    {ROPE_ELEMENT_F8_E5M2, "f8_e5m2", "float8 (e5m2)", 1, 1, ElementScale::kApart, 2, -14, 0, false},
    {ROPE_ELEMENT_Q5_1, "q5_1", "Q5_1", ROPE_BLOCK_ELEMENTS, 24, ElementScale::kInBlock, 0, 0, 5, true},
    {ROPE_ELEMENT_IQ4_NL, "iq4_nl", "IQ4_NL", ROPE_BLOCK_ELEMENTS, 18, ElementScale::kInBlock, 0, 0, 4, false, true},
};
constexpr uint32_t kElementCount = sizeof kElementFormats / sizeof kElementFormats[0];
constexpr RopeElement kLastElement = static_cast<RopeElement>(kElementCount - 1);

constexpr const ElementFormat& formatOf(RopeElement element) { return kElementFormats[element]; }

// The number that shaders know it by.
constexpr uint32_t shaderElement(RopeElement element) {
    return element == ROPE_ELEMENT_DEFAULT ? ROPE_F32 : static_cast<uint32_t>(element) - 1;
}
// True for integers, which ropeConvertElements does not convert.
constexpr bool isQuantized(RopeElement element) { return formatOf(element).integer_bits != 0; }
constexpr bool isFloat8(RopeElement element) {
    return formatOf(element).integer_bits == 0 && formatOf(element).block_bytes == 1;
}
constexpr bool isForCaches(RopeElement element) { return ROPE_IS_FOR_CACHES(shaderElement(element)); }

// The last format that tensors and rows may have. The formats behind it are for caches alone.
constexpr RopeElement kLastTensorElement = ROPE_ELEMENT_BF16;
static_assert(!isForCaches(kLastTensorElement) && isForCaches(static_cast<RopeElement>(kLastTensorElement + 1)));

constexpr bool isElementTableInOrder() {
    for (uint32_t i = 0; i < kElementCount; ++i)
        if (kElementFormats[i].element != static_cast<RopeElement>(i)) return false;
    return true;
}
static_assert(isElementTableInOrder());
static_assert(shaderElement(ROPE_ELEMENT_F16) == ROPE_F16 && shaderElement(ROPE_ELEMENT_BF16) == ROPE_BF16);
static_assert(shaderElement(ROPE_ELEMENT_I8) == ROPE_I8);

// The fewest elements that fill whole 32-bit words.
constexpr uint32_t elementsOfWords(RopeElement element) {
    uint32_t blocks = 1;
    while (blocks * formatOf(element).block_bytes % 4 != 0) blocks *= 2;
    return blocks * formatOf(element).block_elements;
}
// Returns the bytes of `count` elements, which are whole blocks.
constexpr uint64_t elementBytes(RopeElement element, uint64_t count) {
    return count / formatOf(element).block_elements * formatOf(element).block_bytes;
}

// The facts of a cache's format that shaders go by, in one word.
constexpr uint32_t cacheFormatWord(RopeElement element) {
    const ElementFormat& format = formatOf(element);
    if (!isForCaches(element)) return 0;
    const uint32_t halves = uint32_t{ROPE_BLOCK_ELEMENTS} / format.block_elements * format.block_bytes / 2u;
    const uint32_t float8 = isFloat8(element) ? ROPE_FORMAT_FLOAT8 | static_cast<uint32_t>(format.mantissa_bits) : 0;
    return format.integer_bits | float8 | (format.minimum ? ROPE_FORMAT_MINIMUM : 0) |
           (format.codes ? ROPE_FORMAT_CODES : 0) | (format.scale == ElementScale::kInBlock ? ROPE_FORMAT_BLOCKS : 0) |
           halves << ROPE_FORMAT_HALVES;
}

} // namespace rope
