// Any bytes are either refused with one sentence, from memory and from a file alike, or give an array that is the same
// after it was written and read again.
#include "npy_memory.hpp"
#include "plan/element_formats.h"
#include "program/files/npy.hpp"
#include "support/folder.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

bool same(const rope::NpyArray& a, const rope::NpyArray& b) {
    return a.type == b.type && a.shape == b.shape && a.data == b.data;
}

} // namespace

void fuzzNpy(const uint8_t* bytes, size_t size) {
    static const Folder folder;
    const std::string path = folder / "in.npy", copy = folder / "out.npy";
    std::FILE* file = std::fopen(path.c_str(), "wb");
    require(file != nullptr && (size == 0 || std::fwrite(bytes, 1, size, file) == size));
    std::fclose(file);

    rope::NpyArray array, again;
    std::string error, file_error;
    const bool accepted = npy::parse(bytes, size, &array, &error);
    require(rope::readNpy(path, &again, &file_error) == accepted);
    require(accepted ? same(array, again) : !error.empty() && file_error == path + ": " + error);
    if (!accepted) return;
    require(array.data.size() <= size && array.data.size() == array.count() * array.elementBytes());
    const std::vector<uint8_t> written = npy::format(array);
    require(npy::parse(written.data(), written.size(), &again, &error) && same(array, again));
    require(rope::writeNpy(copy, array, &error) && rope::readNpy(copy, &again, &error) && same(array, again));
}

#ifdef VKROPE_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    fuzzNpy(bytes, size);
    return 0;
}
#endif
