// Any bytes are either refused with one sentence, or give members of which each is refused with a sentence or is an
// array no larger than the file.
#include "program/files/npz.hpp"
#include "support/folder.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

bool isSentence(const std::string& error, const std::string& path) {
    return error.compare(0, path.size() + 2, path + ": ") == 0 && error.size() > path.size() + 2;
}

} // namespace

void fuzzNpz(const uint8_t* bytes, size_t size) {
    static const Folder folder;
    const std::string path = folder / "in.npz";
    std::FILE* stream = std::fopen(path.c_str(), "wb");
    require(stream != nullptr && (size == 0 || std::fwrite(bytes, 1, size, stream) == size));
    std::fclose(stream);

    rope::NpzFile file;
    std::string error;
    if (!file.open(path, &error)) return require(isSentence(error, path));
    for (const rope::NpzMember& member : file.members()) {
        rope::NpyArray array;
        if (file.read(member, &array, &error))
            require(array.data.size() <= size && array.data.size() == array.count() * array.elementBytes());
        else
            require(isSentence(error, path));
    }
}

#ifdef VKROPE_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    fuzzNpz(bytes, size);
    return 0;
}
#endif
