#include "program/files/input_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace rope {
namespace {

namespace fs = std::filesystem;

// Returns the system's last reason; some failures set none.
std::string systemReason() { return errno != 0 ? std::strerror(errno) : "the system gives no reason"; }

bool unread(const std::string& why, std::string* problem) {
    *problem = why;
    return false;
}

bool seekTo(std::FILE* file, uint64_t offset) {
#ifdef _WIN32
    return _fseeki64(file, static_cast<int64_t>(offset), SEEK_SET) == 0;
#else
    return fseeko(file, static_cast<off_t>(offset), SEEK_SET) == 0;
#endif
}

} // namespace

bool refuseFile(const std::string& path, const std::string& sentence, std::string* error) {
    if (error != nullptr) *error = path + ": " + sentence;
    return false;
}

bool InputFile::open(const std::string& path, std::string* problem) {
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (status.type() == fs::file_type::not_found) return unread("there is no such file", problem);
    if (status.type() == fs::file_type::directory) return unread("this is a folder", problem);
    if (status.type() != fs::file_type::regular && status.type() != fs::file_type::none)
        return unread("this is no regular file", problem);
    size_ = code ? 0 : fs::file_size(path, code);
    if (code) return unread("it cannot be read: " + code.message(), problem);
    errno = 0;
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) return unread("it cannot be read: " + systemReason(), problem);
    // Reads are few and large, so a second buffer of the C library is not worth its copy.
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);
    at_ = 0;
    return true;
}

bool InputFile::read(uint64_t offset, void* to, size_t bytes, std::string* problem) {
    if (bytes == 0) return true;
    errno = 0;
    const bool there = at_ == offset || seekTo(file_.get(), offset);
    const size_t got = there ? std::fread(to, 1, bytes, file_.get()) : 0;
    at_ = offset + got;
    return got == bytes || unread("it cannot be read to its end: " + systemReason(), problem);
}

} // namespace rope
