#include "program/files/input_file.hpp"
#include "program/files/npy.hpp"

#include <algorithm>
#include <stdexcept>

namespace rope {

bool readNpyAt(InputFile* file, uint64_t offset, uint64_t size, NpyPart part, NpyArray* array, std::string* problem) {
    std::vector<uint8_t> head(static_cast<size_t>(std::min<uint64_t>(size, kNpyMaxHeaderBytes)));
    NpyHeader header;
    if (!file->read(offset, head.data(), head.size(), problem) ||
        !parseNpyHeader(head.data(), head.size(), size, &header, problem))
        return false;
    if (part == NpyPart::header) {
        *array = {header.type, header.shape, {}};
        return true;
    }
    // The head may hold some of the data, or all of it.
    array->data.resize(static_cast<size_t>(header.data_bytes));
    const size_t begin = static_cast<size_t>(header.data_offset);
    const size_t there = std::min(head.size() - begin, array->data.size());
    std::copy_n(head.begin() + static_cast<ptrdiff_t>(begin), there, array->data.begin());
    if (!file->read(offset + begin + there, array->data.data() + there, array->data.size() - there, problem))
        return false;
    arrangeNpy(header, array);
    return true;
}

bool readNpy(const std::string& path, NpyArray* array, std::string* error, NpyPart part) {
    std::string problem;
    try {
        InputFile file;
        if (file.open(path, &problem) && readNpyAt(&file, 0, file.size(), part, array, &problem)) return true;
    } catch (const std::bad_alloc&) {
        problem = "there is not enough memory for the array";
    } catch (const std::length_error&) {
        problem = "there is not enough memory for the array";
    } catch (const std::exception& e) {
        problem = e.what();
    }
    return refuseFile(path, problem, error);
}

FileToWrite npyToWrite(const std::string& path, const NpyArray& array) {
    return {path, [&array](const PutBytes& put, std::string* why) {
                const std::string header = formatNpyHeader(array);
                if (header.empty()) *why = "it is not written: the array's data has another size than its shape";
                if (arrayTypeOf(array.type).npy == nullptr) {
                    *why = std::string("it is not written: NumPy has no ") + npyTypeName(array.type) +
                           "; a .safetensors takes it";
                }
                return !header.empty() && put(header.data(), header.size()) &&
                       put(array.data.data(), array.data.size());
            }};
}

bool writeNpy(const std::string& path, const NpyArray& array, std::string* error) {
    size_t failed = 0;
    std::string problem;
    try {
        if (replaceFiles({npyToWrite(path, array)}, &failed, &problem)) return true;
    } catch (const std::exception& e) {
        problem = path + ": it cannot be written: " + e.what();
    }
    if (error != nullptr) *error = problem;
    return false;
}

} // namespace rope
