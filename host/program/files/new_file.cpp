// To change what becomes of a file when a signal comes: here alone.
#include "program/files/new_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace rope {
namespace {

namespace fs = std::filesystem;

constexpr int kEnding[] = {SIGINT, SIGTERM,
#ifdef SIGHUP
                           SIGHUP
#endif
};
std::atomic<int> noted{0};
void note(int signal) { noted = signal; }

// While an object lives, a signal that would end the program is noted. The destructor lets it end the program.
class HeldSignals {
  public:
    HeldSignals() {
        noted = 0;
        for (size_t i = 0; i < std::size(kEnding); ++i) {
            before_[i] = std::signal(kEnding[i], note);
            if (before_[i] == SIG_IGN) std::signal(kEnding[i], SIG_IGN);
        }
    }
    ~HeldSignals() {
        for (size_t i = 0; i < std::size(kEnding); ++i) std::signal(kEnding[i], before_[i]);
        if (noted != 0) std::raise(noted);
    }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

  private:
    void (*before_[std::size(kEnding)])(int);
};

std::error_code lastError() { return {errno != 0 ? errno : EIO, std::generic_category()}; }

// A new file in the folder of another, which has its mode if it is there. The destructor removes the file unless it was
// placed. Each function returns why it failed.
class FileBeside {
  public:
    ~FileBeside() {
        std::error_code ignored;
        if (stream_ != nullptr) std::fclose(stream_);
        if (!name_.empty()) fs::remove(name_, ignored);
    }

    // The other's name may be as long as the system permits, and has no room for more.
    std::error_code open(const fs::path& target) {
        constexpr int kTries = 1000;
        for (int i = 0; i < kTries && stream_ == nullptr; ++i) {
            const fs::path name = target.parent_path() / (".vkrope-new" + (i == 0 ? "" : std::to_string(i)));
            errno = 0;
            stream_ = std::fopen(name.string().c_str(), "wbx");
            if (stream_ == nullptr && errno != EEXIST) break;
            if (stream_ != nullptr) name_ = name;
        }
        if (stream_ == nullptr) return lastError();
        std::error_code ignored;
        const fs::file_status old = fs::status(target, ignored);
        if (fs::exists(old)) fs::permissions(name_, old.permissions(), ignored); // some file systems have no modes
        return {};
    }

    // Large arrays go in pieces, so that a signal does not wait for a whole array.
    std::error_code write(const FilePart& part) {
        constexpr size_t kPiece = 1 << 20;
        errno = 0;
        for (size_t at = 0; at < part.size; at += kPiece) {
            const size_t size = std::min(kPiece, part.size - at);
            if (noted != 0) return std::make_error_code(std::errc::interrupted);
            if (std::fwrite(static_cast<const char*>(part.bytes) + at, 1, size, stream_) != size) return lastError();
        }
        return {};
    }

    // Quotas and network folders may report a failure no earlier than at the close.
    std::error_code place(const fs::path& target) {
        errno = 0;
        const bool closed = std::fclose(stream_) == 0;
        stream_ = nullptr;
        if (!closed) return lastError();
        if (noted != 0) return std::make_error_code(std::errc::interrupted);
        std::error_code failed;
        fs::rename(name_, target, failed);
        if (!failed) name_.clear();
        return failed;
    }

  private:
    std::FILE* stream_ = nullptr;
    fs::path name_; // empty: there is no file to remove
};

} // namespace

std::string resolveLinks(const std::string& path) {
    std::error_code failed;
    fs::path at = path;
    for (int links = 0; fs::is_symlink(fs::symlink_status(at, failed)); ++links) {
        const fs::path to = fs::read_symlink(at, failed);
        if (failed || links == 40) return "";
        at = to.is_absolute() ? to : at.parent_path() / to;
    }
    return at.string();
}

std::string replaceFile(const std::string& path, const std::vector<FilePart>& parts) {
    std::error_code failed;
    const fs::file_status there = fs::status(path, failed);
    if (fs::is_directory(there)) return "it cannot be written: this is a folder";
    if (fs::exists(there) && !fs::is_regular_file(there)) return "it cannot be written: this is no regular file";
    const fs::path target = resolveLinks(path);
    const HeldSignals held;
    FileBeside beside;
    failed = beside.open(target);
    for (const FilePart& part : parts) {
        if (!failed) failed = beside.write(part);
    }
    if (!failed) failed = beside.place(target);
    return failed ? "it cannot be written: " + failed.message() : "";
}

} // namespace rope
