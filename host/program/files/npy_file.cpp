#include "program/files/input_file.hpp"
#include "program/files/new_file.hpp"
#include "program/files/npy.hpp"

#include <algorithm>
#include <stdexcept>

namespace rope {
namespace {

bool readParts(const std::string& path, NpyPart part, NpyArray* array, std::string* problem) {
    InputFile file;
    if (!file.open(path, problem)) return false;
    std::vector<uint8_t> head(static_cast<size_t>(std::min<uint64_t>(file.size(), kNpyMaxHeaderBytes)));
    NpyHeader header;
    if (!file.read(head.data(), head.size(), problem) ||
        !parseNpyHeader(head.data(), head.size(), file.size(), &header, problem))
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
    if (!file.read(array->data.data() + there, array->data.size() - there, problem)) return false;
    arrangeNpy(header, array);
    return true;
}

bool refuseFile(const std::string& path, const std::string& problem, std::string* error) {
    if (error != nullptr) *error = path + ": " + problem;
    return false;
}

} // namespace

bool readNpy(const std::string& path, NpyArray* array, std::string* error, NpyPart part) {
    std::string problem;
    try {
        if (readParts(path, part, array, &problem)) return true;
    } catch (const std::bad_alloc&) {
        problem = "there is not enough memory for the array";
    } catch (const std::length_error&) {
        problem = "there is not enough memory for the array";
    } catch (const std::exception& e) {
        problem = e.what();
    }
    return refuseFile(path, problem, error);
}

bool writeNpy(const std::string& path, const NpyArray& array, std::string* error) {
    try {
        const std::string header = formatNpyHeader(array);
        if (header.empty())
            return refuseFile(path, "it is not written: the array's data has another size than its shape", error);
        const std::string problem =
            replaceFile(path, {{header.data(), header.size()}, {array.data.data(), array.data.size()}});
        return problem.empty() || refuseFile(path, problem, error);
    } catch (const std::exception& e) {
        return refuseFile(path, std::string("it cannot be written: ") + e.what(), error);
    }
}

} // namespace rope
