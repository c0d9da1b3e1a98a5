// The .npy files of tests, in memory.
#pragma once

#include "program/files/npy.hpp"

namespace npy {

using Bytes = std::vector<uint8_t>;

inline bool parse(const uint8_t* bytes, size_t size, rope::NpyArray* array, std::string* error) {
    rope::NpyHeader header;
    if (!rope::parseNpyHeader(bytes, size, size, &header, error)) return false;
    array->data.assign(bytes + header.data_offset, bytes + size);
    rope::arrangeNpy(header, array);
    return true;
}

// Returns nothing where the array cannot be written.
inline Bytes format(const rope::NpyArray& array) {
    const std::string header = rope::formatNpyHeader(array);
    Bytes bytes(header.begin(), header.end());
    if (!header.empty()) bytes.insert(bytes.end(), array.data.begin(), array.data.end());
    return bytes;
}

} // namespace npy
