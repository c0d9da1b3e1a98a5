#include "program/files/new_file.hpp"

#include <cerrno>
#include <filesystem>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace rope {
namespace {

namespace fs = std::filesystem;

const char kStem[] = ".vkrope-new";

std::error_code lastError() { return {errno, std::generic_category()}; }

} // namespace

std::error_code takeUnusedName(const std::string& target, const char* stem, std::string* name,
                               const std::function<std::error_code(const std::string&)>& take) {
    constexpr int kTries = 1000;
    std::error_code failed;
    for (int i = 0; i < kTries; ++i) {
        const std::string own = stem + (i == 0 ? "" : std::to_string(i));
        const std::string candidate = (fs::path(target).parent_path() / own).string();
        failed = take(candidate);
        if (!failed) *name = candidate;
        if (failed != std::errc::file_exists) break;
    }
    return failed;
}

#ifdef _WIN32

std::error_code makeNewFile(const std::string& target, NewFile* file) {
    return takeUnusedName(target, kStem, &file->name, [file](const std::string& name) {
        errno = 0;
        file->stream = std::fopen(name.c_str(), "wbx");
        return file->stream == nullptr ? lastError() : std::error_code();
    });
}

std::error_code nameNewFile(const std::string&, NewFile*) { return {}; }

#else

namespace {

constexpr mode_t kNewMode = 0666; // less what umask takes

// Its place among the process's open files, by which a file without a name can be had.
std::string placeOf(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

int openUnnamed(const std::string& target) {
#ifdef O_TMPFILE
    const fs::path folder = fs::path(target).parent_path();
    const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kNewMode);
    if (descriptor < 0 || access(placeOf(descriptor).c_str(), F_OK) == 0) return descriptor;
    close(descriptor); // it could not be named
#else
    (void)target;
#endif
    return -1;
}

// Done before anything is written, so that no other user reads what the old file kept from them.
void takeOver(const std::string& target, int descriptor) {
    struct stat old;
    if (stat(target.c_str(), &old) != 0) return;
    const bool group_kept =
        fchown(descriptor, old.st_uid, old.st_gid) == 0 || fchown(descriptor, static_cast<uid_t>(-1), old.st_gid) == 0;
    const mode_t others = old.st_mode & 07;
    // Another group gets no more than all others had.
    const mode_t group = group_kept ? old.st_mode & 070 : old.st_mode & 070 & others << 3;
    if (fchmod(descriptor, (old.st_mode & 0700) | group | others) != 0) return; // some file systems have no modes
}

} // namespace

std::error_code makeNewFile(const std::string& target, NewFile* file) {
    int descriptor = openUnnamed(target);
    if (descriptor < 0) {
        const std::error_code failed = takeUnusedName(target, kStem, &file->name, [&](const std::string& name) {
            descriptor = open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kNewMode);
            return descriptor < 0 ? lastError() : std::error_code();
        });
        if (failed) return failed;
    }
    takeOver(target, descriptor);
    file->stream = fdopen(descriptor, "wb");
    if (file->stream != nullptr) return {};
    const std::error_code failed = lastError();
    close(descriptor);
    return failed;
}

std::error_code nameNewFile(const std::string& target, NewFile* file) {
    if (!file->name.empty()) return {};
    const std::string from = placeOf(fileno(file->stream));
    return takeUnusedName(target, kStem, &file->name, [&from](const std::string& name) {
        if (linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return std::error_code();
        std::error_code failed = lastError();
        if (failed == std::errc::file_exists) return failed;
        fs::copy_file(from, name, failed); // some sandboxes forbid the link
        std::error_code ignored;
        if (failed && failed != std::errc::file_exists) fs::remove(name, ignored);
        return failed;
    });
}

#endif

} // namespace rope
