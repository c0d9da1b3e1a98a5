// Arrays as files hold them, and what each format of files calls the types of their elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rope {

// The array is in C order and the host's byte order. An empty shape is a single element.
struct NpyArray {
    enum class Type {
        f32,
        f64,
        f16,
        u16,
        i32,
        i64,
        bf16,
        b8,
        i8,
        u8,
        i16,
        u32,
        u64,
        c64,
        f8_e4m3,
        f8_e5m2,
        f8_e8m0,
        f8_e4m3fnuz,
        f8_e5m2fnuz,
        f6_e2m3,
        f6_e3m2,
        f4
    };

    Type type = Type::f32;
    std::vector<uint64_t> shape;
    std::vector<uint8_t> data;

    size_t elementBytes() const; // 1 to 8; 0 for elements of less than a byte
    uint64_t count() const;      // elements; the product of the shape
};

struct ArrayType {
    NpyArray::Type type;
    const char* name;
    const char* npy;         // without its byte order; null where .npy files have no such type
    const char* safetensors; // as a .safetensors has it
    uint8_t bits;
    uint8_t swapped_bytes; // that lie together in the order of bytes
};
// The rows have the order of the enumerators. If a format has one name for several types, the first of them is read:
// NumPy has no bfloat16, which travels as uint16.
inline constexpr ArrayType kArrayTypes[] = {
    {NpyArray::Type::f32, "float32", "f4", "F32", 32, 4},
    {NpyArray::Type::f64, "float64", "f8", "F64", 64, 8},
    {NpyArray::Type::f16, "float16", "f2", "F16", 16, 2},
    {NpyArray::Type::u16, "uint16", "u2", "U16", 16, 2},
    {NpyArray::Type::i32, "int32", "i4", "I32", 32, 4},
    {NpyArray::Type::i64, "int64", "i8", "I64", 64, 8},
    {NpyArray::Type::bf16, "bfloat16", "u2", "BF16", 16, 2},
    {NpyArray::Type::b8, "bool", "b1", "BOOL", 8, 1},
    {NpyArray::Type::i8, "int8", "i1", "I8", 8, 1},
    {NpyArray::Type::u8, "uint8", "u1", "U8", 8, 1},
    {NpyArray::Type::i16, "int16", "i2", "I16", 16, 2},
    {NpyArray::Type::u32, "uint32", "u4", "U32", 32, 4},
    {NpyArray::Type::u64, "uint64", "u8", "U64", 64, 8},
    {NpyArray::Type::c64, "complex64", "c8", "C64", 64, 4},
    {NpyArray::Type::f8_e4m3, "float8_e4m3fn", nullptr, "F8_E4M3", 8, 1},
    {NpyArray::Type::f8_e5m2, "float8_e5m2", nullptr, "F8_E5M2", 8, 1},
    {NpyArray::Type::f8_e8m0, "float8_e8m0fnu", nullptr, "F8_E8M0", 8, 1},
    {NpyArray::Type::f8_e4m3fnuz, "float8_e4m3fnuz", nullptr, "F8_E4M3FNUZ", 8, 1},
    {NpyArray::Type::f8_e5m2fnuz, "float8_e5m2fnuz", nullptr, "F8_E5M2FNUZ", 8, 1},
    {NpyArray::Type::f6_e2m3, "float6_e2m3fn", nullptr, "F6_E2M3", 6, 1},
    {NpyArray::Type::f6_e3m2, "float6_e3m2fn", nullptr, "F6_E3M2", 6, 1},
    {NpyArray::Type::f4, "float4_e2m1fn", nullptr, "F4", 4, 1}};

constexpr bool areArrayTypesInOrder() {
    for (size_t i = 0; i < sizeof kArrayTypes / sizeof kArrayTypes[0]; ++i) {
        if (kArrayTypes[i].type != static_cast<NpyArray::Type>(i)) return false;
    }
    return true;
}
static_assert(areArrayTypesInOrder());

const ArrayType& arrayTypeOf(NpyArray::Type type);

// Returns a name as NumPy and PyTorch have it: "float32", "bfloat16" and so on.
const char* npyTypeName(NpyArray::Type type);

constexpr size_t kArrayMaxRank = 32;

// Multiplies the shape to bytes. Dimensions of 0 do not excuse the others. False where 63 bits do not hold the bits of
// the array, or where they are no whole bytes.
bool countArrayBytes(const std::vector<uint64_t>& shape, NpyArray::Type type, uint64_t* bytes);

bool hostIsLittleEndian();
void swapArrayBytes(NpyArray* array);

// Sorts the names, and returns one that is there twice, else null.
const std::string* findTwice(std::vector<const std::string*>* names);

// Returns text of a file in a form that is fit to stand in a sentence.
std::string quotedText(const std::string& text, size_t most = 32);

} // namespace rope
