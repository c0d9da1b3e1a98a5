#include "tool/npy.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

namespace rope {
namespace {

namespace fs = std::filesystem;

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

bool refuseFile(const std::string& path, const std::string& sentence, std::string* error) {
    if (error != nullptr) *error = path + ": " + sentence;
    return false;
}

// Returns the system's last reason; some failures set none.
std::string systemReason() { return errno != 0 ? std::strerror(errno) : "the system gives no reason"; }

bool readNpyFile(const std::string& path, NpyArray* array, std::string* error) {
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (status.type() == fs::file_type::not_found) return refuseFile(path, "there is no such file", error);
    if (status.type() == fs::file_type::directory) return refuseFile(path, "this is a folder", error);
    if (status.type() != fs::file_type::regular && status.type() != fs::file_type::none)
        return refuseFile(path, "this is no regular file", error);
    const uint64_t size = code ? 0 : fs::file_size(path, code);
    if (code) return refuseFile(path, "it cannot be read: " + code.message(), error);
    errno = 0;
    const OpenFile file(std::fopen(path.c_str(), "rb"));
    if (!file) return refuseFile(path, "it cannot be read: " + systemReason(), error);
    // Reads are few and large, so a second buffer of the C library is not worth its copy.
    std::setvbuf(file.get(), nullptr, _IONBF, 0);

    std::vector<uint8_t> head(static_cast<size_t>(std::min<uint64_t>(size, kNpyMaxHeaderBytes)));
    NpyHeader header;
    std::string problem;
    if (std::fread(head.data(), 1, head.size(), file.get()) != head.size())
        return refuseFile(path, "it cannot be read: " + systemReason(), error);
    if (!parseNpyHeader(head.data(), head.size(), size, &header, &problem)) return refuseFile(path, problem, error);

    // The head may hold some of the data, or all of it.
    array->data.resize(static_cast<size_t>(header.data_bytes));
    const size_t offset = static_cast<size_t>(header.data_offset);
    const size_t there = std::min(head.size() - offset, array->data.size());
    std::copy_n(head.begin() + static_cast<ptrdiff_t>(offset), there, array->data.begin());
    const size_t rest = array->data.size() - there;
    if (rest != 0 && std::fread(array->data.data() + there, 1, rest, file.get()) != rest)
        return refuseFile(path, "it cannot be read to its end: " + systemReason(), error);
    arrangeNpy(header, array);
    return true;
}

// Creates a new file beside `path` under an unused name; null where the folder takes none.
OpenFile createPartFile(const std::string& path, std::string* name) {
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries; ++i) {
        *name = path + ".part" + std::to_string(i);
        errno = 0;
        OpenFile file(std::fopen(name->c_str(), "wbx"));
        if (file || errno != EEXIST) return file;
    }
    return nullptr;
}

bool writeBytes(std::FILE* file, const void* bytes, size_t size) {
    return size == 0 || std::fwrite(bytes, 1, size, file) == size;
}

bool writeNpyFile(const std::string& path, const NpyArray& array, std::string* error) {
    const std::string header = formatNpyHeader(array);
    if (header.empty())
        return refuseFile(path, "it is not written: the array's data has another size than its shape", error);
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (status.type() == fs::file_type::directory)
        return refuseFile(path, "it cannot be written: this is a folder", error);
    if (fs::exists(status) && status.type() != fs::file_type::regular)
        return refuseFile(path, "it cannot be written: this is no regular file", error);
    // A link stays a link; the file that it names is replaced.
    const std::string target = fs::exists(status) ? fs::canonical(path, code).string() : path;
    if (fs::exists(status) && code) return refuseFile(path, "it cannot be written: " + code.message(), error);

    std::string name;
    OpenFile file = createPartFile(target, &name);
    if (!file) return refuseFile(path, "it cannot be written: " + systemReason(), error);
    errno = 0;
    bool ok = writeBytes(file.get(), header.data(), header.size()) &&
              writeBytes(file.get(), array.data.data(), array.data.size());
    // Quotas and network folders may report a failure no earlier than at the close.
    ok = std::fclose(file.release()) == 0 && ok;
    const std::string why = systemReason();
    if (ok) fs::rename(name, target, code);
    if (ok && !code) return true;
    std::error_code ignored;
    fs::remove(name, ignored);
    return refuseFile(path, "it cannot be written: " + (ok ? code.message() : why), error);
}

} // namespace

bool readNpy(const std::string& path, NpyArray* array, std::string* error) {
    try {
        return readNpyFile(path, array, error);
    } catch (const std::bad_alloc&) {
        return refuseFile(path, "there is not enough memory for the array", error);
    } catch (const std::length_error&) {
        return refuseFile(path, "there is not enough memory for the array", error);
    } catch (const std::exception& e) {
        return refuseFile(path, e.what(), error);
    }
}

bool writeNpy(const std::string& path, const NpyArray& array, std::string* error) {
    try {
        return writeNpyFile(path, array, error);
    } catch (const std::exception& e) {
        return refuseFile(path, std::string("it cannot be written: ") + e.what(), error);
    }
}

} // namespace rope
