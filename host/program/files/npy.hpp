// Arrays, and NumPy's .npy files that hold them. No exception leaves the functions that read and write; they return
// false and one sentence instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

// Returns a name as NumPy has it: "float32" and so on.
const char* npyTypeName(NpyArray::Type type);

constexpr size_t kNpyMaxRank = 32;

// Reads the format versions 1.0, 2.0 and 3.0, either byte order, either element order. A file must have the very size
// that its header says. Nothing is allocated before that is known. Only Fortran order takes a second copy of the data.
// `check` judges the type and the shape before there is memory for the data; where it returns false, *error stays. The
// sentence in *error begins with the path; `error` may be null. On failure the result is unspecified.
bool readNpy(const std::string& path, NpyArray* array, std::string* error,
             const std::function<bool(const NpyArray& header)>& check = nullptr);

// Writes the format version 1.0, byte for byte as NumPy does. The data must have the bytes that the shape asks for.
// Either the whole file or the earlier one stands under that name.
bool writeNpy(const std::string& path, const NpyArray& array, std::string* error);

// ---- The parts of these two that know the format

// This many bytes at a file's beginning are enough for parseNpyHeader.
constexpr size_t kNpyMaxHeaderBytes = 65536;

struct NpyHeader {
    NpyArray::Type type = NpyArray::Type::f32;
    std::vector<uint64_t> shape;
    bool fortran_order = false;
    bool swapped = false;     // the data's byte order is not the host's
    uint64_t data_offset = 0; // bytes
    uint64_t data_bytes = 0;
};

// `bytes` holds the first kNpyMaxHeaderBytes of the file, or all of a shorter one; `file_size` is the size of the whole
// file. The sentence has no path.
bool parseNpyHeader(const uint8_t* bytes, size_t size, uint64_t file_size, NpyHeader* header, std::string* error);
// Gives `array` the header's type and shape, and brings its `data`, as read, into C order and the host's byte order.
void arrangeNpy(const NpyHeader& header, NpyArray* array);
// Returns the bytes before the data; nothing if the data's size is not the shape's.
std::string formatNpyHeader(const NpyArray& array);

// Returns text of a file in a form that is fit to stand in a sentence.
std::string quotedText(const std::string& text, size_t most = 32);

} // namespace rope
