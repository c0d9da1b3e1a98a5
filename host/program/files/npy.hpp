// Reads and writes arrays in NumPy's .npy files. No exception leaves these functions; they return false and one
// sentence instead.
#pragma once
#include "program/files/array.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rope {

constexpr size_t kNpyMaxRank = 32;

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

// Reads the format versions 1.0, 2.0 and 3.0, either byte order, either element order. A file must have the very size
// that its header says. Nothing is allocated before that is known. `error` may be null; on failure the result is
// unspecified.
bool parseNpy(const uint8_t* bytes, size_t size, NpyArray* array, std::string* error);

enum class NpyPart { header, whole }; // a header gives the type and the shape, and no data

// Reads the data straight into the array; only Fortran order takes a second copy. The sentence in *error begins with
// the path.
bool readNpy(const std::string& path, NpyArray* array, std::string* error, NpyPart part = NpyPart::whole);

// Writes the format version 1.0, byte for byte as NumPy does. The data must have as many bytes as the shape asks for,
// else formatNpy returns nothing.
std::vector<uint8_t> formatNpy(const NpyArray& array);

// Either the whole file or the earlier one stands under that name.
bool writeNpy(const std::string& path, const NpyArray& array, std::string* error);

// The functions below are parts of those above, for callers that map or stream files themselves.
// `bytes` holds the first kNpyMaxHeaderBytes of the file, or all of a shorter one; `file_size` is the size of the whole
// file.
bool parseNpyHeader(const uint8_t* bytes, size_t size, uint64_t file_size, NpyHeader* header, std::string* error);
// Gives `array` the header's type and shape, and brings its `data`, as read, into C order and the host's byte order.
void arrangeNpy(const NpyHeader& header, NpyArray* array);
// Returns the bytes before the data; nothing if the data's size is not the shape's.
std::string formatNpyHeader(const NpyArray& array);

} // namespace rope
