#include "program/files/input_file.hpp"
#include "program/files/new_file.hpp"
#include "program/files/npy.hpp"

#include <algorithm>
#include <stdexcept>

namespace rope {
namespace {

// Leaves *problem empty where the check returns false.
bool readChecked(const std::string& path, const std::function<bool(const NpyArray&)>& check, NpyArray* array,
                 std::string* problem) {
    InputFile file;
    if (!file.open(path, problem)) return false;
    std::vector<uint8_t> head(static_cast<size_t>(std::min<uint64_t>(file.size(), kNpyMaxHeaderBytes)));
    NpyHeader header;
    if (!file.read(head.data(), head.size(), problem) ||
        !parseNpyHeader(head.data(), head.size(), file.size(), &header, problem))
        return false;
    *array = {header.type, header.shape, {}};
    if (check && !check(*array)) return false;
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

bool readNpy(const std::string& path, NpyArray* array, std::string* error,
             const std::function<bool(const NpyArray&)>& check) {
    std::string problem;
    try {
        if (readChecked(path, check, array, &problem)) return true;
        if (problem.empty()) return false;
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
