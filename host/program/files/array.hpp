// Arrays as files hold them, and the types of their elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rope {

// The array is in C order and the host's byte order. An empty shape is a single element.
struct NpyArray {
    enum class Type { f32, f64, f16, u16, i32, i64, b8, i8, u8, i16, u32, u64, c64 };

    Type type = Type::f32;
    std::vector<uint64_t> shape;
    std::vector<uint8_t> data;

    size_t elementBytes() const; // 1 to 8
    uint64_t count() const;      // elements; the product of the shape
};

struct ArrayType {
    NpyArray::Type type;
    const char* name;
    const char* npy; // without its byte order
    uint8_t bytes;
    uint8_t swapped_bytes; // that lie together in the order of bytes
};
// The rows have the order of the enumerators. NumPy has no bfloat16, which travels as uint16.
inline constexpr ArrayType kArrayTypes[] = {
    {NpyArray::Type::f32, "float32", "f4", 4, 4},   {NpyArray::Type::f64, "float64", "f8", 8, 8},
    {NpyArray::Type::f16, "float16", "f2", 2, 2},   {NpyArray::Type::u16, "uint16", "u2", 2, 2},
    {NpyArray::Type::i32, "int32", "i4", 4, 4},     {NpyArray::Type::i64, "int64", "i8", 8, 8},
    {NpyArray::Type::b8, "bool", "b1", 1, 1},       {NpyArray::Type::i8, "int8", "i1", 1, 1},
    {NpyArray::Type::u8, "uint8", "u1", 1, 1},      {NpyArray::Type::i16, "int16", "i2", 2, 2},
    {NpyArray::Type::u32, "uint32", "u4", 4, 4},    {NpyArray::Type::u64, "uint64", "u8", 8, 8},
    {NpyArray::Type::c64, "complex64", "c8", 8, 4},
};

constexpr bool areArrayTypesInOrder() {
    for (size_t i = 0; i < sizeof kArrayTypes / sizeof kArrayTypes[0]; ++i) {
        if (kArrayTypes[i].type != static_cast<NpyArray::Type>(i)) return false;
    }
    return true;
}
static_assert(areArrayTypesInOrder());

const ArrayType& arrayTypeOf(NpyArray::Type type);

// Returns a name as NumPy has it: "float32" and so on.
const char* npyTypeName(NpyArray::Type type);

// Multiplies the shape to bytes. Dimensions of 0 do not excuse the others. False where 63 bits do not hold the product.
bool countArrayBytes(const std::vector<uint64_t>& shape, NpyArray::Type type, uint64_t* bytes);

bool hostIsLittleEndian();
void swapArrayBytes(NpyArray* array);

// Returns text of a file in a form that is fit to stand in a sentence.
std::string quotedText(const std::string& text, size_t most = 32);

} // namespace rope
