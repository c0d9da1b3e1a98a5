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

} // namespace

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
    return true;
}

bool InputFile::read(void* to, size_t bytes, std::string* problem) {
    if (bytes == 0) return true;
    errno = 0;
    return std::fread(to, 1, bytes, file_.get()) == bytes ||
           unread("it cannot be read to its end: " + systemReason(), problem);
}

} // namespace rope
