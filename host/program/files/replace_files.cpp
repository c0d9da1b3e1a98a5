#include "program/files/replace_files.hpp"

#include "program/files/held_signals.hpp"
#include "program/files/new_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace rope {
namespace {

namespace fs = std::filesystem;

struct Staged {
    std::string target;
    NewFile file;
    std::string old; // a second name of what stood there
    bool placed = false;
};

// Puts back what stood there, and removes what is new.
void undo(Staged* staged) {
    std::error_code ignored;
    if (staged->file.stream != nullptr) std::fclose(staged->file.stream);
    if (!staged->old.empty()) {
        fs::rename(staged->old, staged->target, ignored);
        if (!ignored) fs::remove(staged->old, ignored); // a second name of the same file is still there
    } else if (staged->placed) {
        fs::remove(staged->target, ignored);
    }
    if (!staged->placed && !staged->file.name.empty()) fs::remove(staged->file.name, ignored);
}

std::error_code lastError() { return {errno != 0 ? errno : EIO, std::generic_category()}; }

std::string whyNot(const std::error_code& failed) { return "it cannot be written: " + failed.message(); }

// Large arrays go in pieces, so that a signal does not wait for all of them.
bool putPieces(std::FILE* stream, const void* bytes, size_t size) {
    constexpr size_t kPiece = 1 << 20;
    const uint8_t* at = static_cast<const uint8_t*>(bytes);
    while (size != 0) {
        const size_t piece = std::min(size, kPiece);
        if (HeldSignals::came() || std::fwrite(at, 1, piece, stream) != piece) return false;
        at += piece;
        size -= piece;
    }
    return true;
}

// Returns why the file cannot be written, else nothing.
std::string stage(const FileToWrite& file, Staged* staged) {
    std::error_code ignored;
    const fs::file_status status = fs::status(file.path, ignored);
    if (status.type() == fs::file_type::directory) return "it cannot be written: this is a folder";
    if (fs::exists(status) && status.type() != fs::file_type::regular)
        return "it cannot be written: this is no regular file";
    staged->target = resolveLinks(file.path);
    if (const std::error_code failed = makeNewFile(staged->target, &staged->file)) return whyNot(failed);
    std::FILE* stream = staged->file.stream;
    const auto put = [stream](const void* bytes, size_t size) { return putPieces(stream, bytes, size); };
    std::string why;
    errno = 0;
    if (file.write(put, &why) && std::fflush(stream) == 0) return "";
    return why.empty() ? whyNot(lastError()) : why;
}

// Quotas and network folders may report a failure no earlier than at the close.
std::error_code finish(Staged* staged) {
    if (const std::error_code failed = nameNewFile(staged->target, &staged->file)) return failed;
    errno = 0;
    return std::fclose(std::exchange(staged->file.stream, nullptr)) == 0 ? std::error_code() : lastError();
}

// Gives what stands there a second name. File systems without hard links rename it.
std::error_code keepOld(Staged* staged) {
    std::error_code ignored;
    const std::string& target = staged->target;
    if (!fs::is_regular_file(target, ignored)) return {};
    return takeUnusedName(target, ".vkrope-old", &staged->old, [&target](const std::string& name) {
        std::error_code failed;
        fs::create_hard_link(target, name, failed);
        if (!failed || failed == std::errc::file_exists) return failed;
        errno = 0;
        std::FILE* taken = std::fopen(name.c_str(), "wbx"); // so that no other program takes the name
        if (taken == nullptr) return lastError();
        std::fclose(taken);
        std::error_code ignored;
        fs::rename(target, name, failed);
        if (failed) fs::remove(name, ignored);
        return failed;
    });
}

std::error_code place(Staged* staged) {
    std::error_code failed;
    fs::rename(staged->file.name, staged->target, failed);
    staged->placed = !failed;
    return failed;
}

// Returns the index of the file that failed, else the number of files.
size_t placeAll(std::vector<Staged>* files, std::error_code* failed) {
    using Step = std::error_code (*)(Staged*);
    const std::vector<Step> one = {finish, place}, several = {finish, keepOld, place};
    for (const Step step : files->size() == 1 ? one : several) {
        for (size_t i = 0; i < files->size(); ++i) {
            *failed = step(&(*files)[i]);
            if (*failed) return i;
        }
    }
    return files->size();
}

struct UndoAll {
    std::vector<Staged>* files;
    ~UndoAll() {
        for (Staged& staged : *files) undo(&staged);
    }
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

bool replaceFiles(const std::vector<FileToWrite>& files, size_t* failed, std::string* error) {
    const HeldSignals held;
    std::vector<Staged> staged(files.size());
    const UndoAll undo_all{&staged};
    for (size_t i = 0; i < files.size(); ++i) {
        const std::string why = stage(files[i], &staged[i]);
        *failed = i;
        *error = files[i].path + ": " + why;
        if (!why.empty()) return false;
    }
    *error = "a signal came before the files took their places, and they are as they were";
    if (HeldSignals::came()) return false;
    std::error_code code;
    *failed = placeAll(&staged, &code);
    if (code) {
        *error = files[*failed].path + ": " + whyNot(code);
        return false;
    }
    std::error_code ignored;
    for (const Staged& s : staged) {
        if (!s.old.empty()) fs::remove(s.old, ignored);
    }
    staged.clear();
    error->clear();
    return true;
}

} // namespace rope
