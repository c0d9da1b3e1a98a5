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

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

bool fail(const std::string& path, const std::string& sentence, std::string* error) {
    if (error != nullptr) *error = path + ": " + sentence;
    return false;
}

// What the system said last; some failures set nothing.
std::string reason() { return errno != 0 ? std::strerror(errno) : "the system gives no reason"; }

bool read(const std::string& path, NpyArray* array, std::string* error) {
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (status.type() == fs::file_type::not_found) return fail(path, "there is no such file", error);
    if (status.type() == fs::file_type::directory) return fail(path, "this is a folder", error);
    if (status.type() != fs::file_type::regular && status.type() != fs::file_type::none)
        return fail(path, "this is no regular file", error);
    const uint64_t size = code ? 0 : fs::file_size(path, code);
    if (code) return fail(path, "it cannot be read: " + code.message(), error);
    errno = 0;
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file) return fail(path, "it cannot be read: " + reason(), error);
    // Small reads are not worth a second buffer of the library's.
    std::setvbuf(file.get(), nullptr, _IONBF, 0);

    std::vector<uint8_t> head(static_cast<size_t>(std::min<uint64_t>(size, kNpyMaxHeaderBytes)));
    NpyHeader header;
    std::string problem;
    if (std::fread(head.data(), 1, head.size(), file.get()) != head.size())
        return fail(path, "it cannot be read: " + reason(), error);
    if (!parseNpyHeader(head.data(), head.size(), size, &header, &problem)) return fail(path, problem, error);

    // The head may hold some of the data, or all of it.
    array->data.resize(static_cast<size_t>(header.data_bytes));
    const size_t offset = static_cast<size_t>(header.data_offset);
    const size_t there = std::min(head.size() - offset, array->data.size());
    std::copy_n(head.begin() + static_cast<ptrdiff_t>(offset), there, array->data.begin());
    const size_t rest = array->data.size() - there;
    if (rest != 0 && std::fread(array->data.data() + there, 1, rest, file.get()) != rest)
        return fail(path, "it cannot be read to its end: " + reason(), error);
    arrangeNpy(header, array);
    return true;
}

// A new file beside `path` under a name that nobody has; empty where the folder takes none.
File makeBeside(const std::string& path, std::string* name) {
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries; ++i) {
        *name = path + ".part" + std::to_string(i);
        errno = 0;
        File file(std::fopen(name->c_str(), "wbx"));
        if (file || errno != EEXIST) return file;
    }
    return nullptr;
}

bool put(std::FILE* file, const void* bytes, size_t size) {
    return size == 0 || std::fwrite(bytes, 1, size, file) == size;
}

bool write(const std::string& path, const NpyArray& array, std::string* error) {
    const std::string header = formatNpyHeader(array);
    if (header.empty()) return fail(path, "it is not written: the array's data has another size than its shape", error);
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (status.type() == fs::file_type::directory) return fail(path, "it cannot be written: this is a folder", error);
    if (fs::exists(status) && status.type() != fs::file_type::regular)
        return fail(path, "it cannot be written: this is no regular file", error);
    // A link stays one; what it names is replaced.
    const std::string target = fs::exists(status) ? fs::canonical(path, code).string() : path;
    if (fs::exists(status) && code) return fail(path, "it cannot be written: " + code.message(), error);

    std::string name;
    File file = makeBeside(target, &name);
    if (!file) return fail(path, "it cannot be written: " + reason(), error);
    errno = 0;
    bool ok = put(file.get(), header.data(), header.size()) && put(file.get(), array.data.data(), array.data.size());
    // Quotas and network folders may speak up no earlier than at the close.
    ok = std::fclose(file.release()) == 0 && ok;
    const std::string why = reason();
    if (ok) fs::rename(name, target, code);
    if (ok && !code) return true;
    std::error_code ignored;
    fs::remove(name, ignored);
    return fail(path, "it cannot be written: " + (ok ? code.message() : why), error);
}

} // namespace

bool readNpy(const std::string& path, NpyArray* array, std::string* error) {
    try {
        return read(path, array, error);
    } catch (const std::bad_alloc&) {
        return fail(path, "there is not enough memory for the array", error);
    } catch (const std::length_error&) {
        return fail(path, "there is not enough memory for the array", error);
    } catch (const std::exception& e) {
        return fail(path, e.what(), error);
    }
}

bool writeNpy(const std::string& path, const NpyArray& array, std::string* error) {
    try {
        return write(path, array, error);
    } catch (const std::exception& e) {
        return fail(path, std::string("it cannot be written: ") + e.what(), error);
    }
}

} // namespace rope
