#include "program/config_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

namespace tool {
namespace {

namespace fs = std::filesystem;

constexpr char kGgufMagic[] = "GGUF";
constexpr size_t kMagicBytes = sizeof kGgufMagic - 1;
constexpr size_t kMaxJsonBytes = 16 << 20;
constexpr size_t kMaxPipedGgufBytes = 256 << 20; // the header, and factors, which stand before the large tensors

// Appends what there is until `bytes` has `most`; returns whether there may be more.
bool readUpTo(size_t most, std::ifstream* file, std::string* bytes) {
    constexpr size_t kPiece = 1 << 16;
    while (*file && bytes->size() < most) {
        const size_t before = bytes->size();
        bytes->resize(std::min(most, before + kPiece));
        file->read(&(*bytes)[before], static_cast<std::streamsize>(bytes->size() - before));
        bytes->resize(before + static_cast<size_t>(file->gcount()));
    }
    return bool(*file);
}

bool readConfigFile(const std::string& path, ConfigFile* config, Failure* failure) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
        return refuse(failure, "--config: " + path + " is a folder; name a config.json or a .gguf in it");
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return refuse(failure, "--config: " + path + ": " +
                                   (errno == 0 || errno == ENOENT ? "there is no such file" : std::strerror(errno)));
    std::string bytes;
    readUpTo(kMagicBytes, &file, &bytes);
    config->is_gguf = bytes == kGgufMagic;
    if (config->is_gguf && fs::is_regular_file(path, ignored)) return true;
    const size_t most = config->is_gguf ? kMaxPipedGgufBytes : kMaxJsonBytes;
    config->is_cut = readUpTo(most, &file, &bytes) && file.peek() != std::ifstream::traits_type::eof();
    if (file.bad()) return refuse(failure, "--config: " + path + " cannot be read");
    if (config->is_cut && !config->is_gguf)
        return refuse(failure,
                      "--config: " + path + " is no .gguf, and no file of at most 16 MiB, as configurations are");
    config->bytes = std::make_shared<const std::string>(std::move(bytes));
    return true;
}

} // namespace

bool openConfigFile(const std::string& path, ConfigFile* file, Failure* failure) {
    static std::map<std::string, ConfigFile> pipes;
    const auto known = pipes.find(path);
    if (known != pipes.end()) {
        *file = known->second;
        return true;
    }
    if (!readConfigFile(path, file, failure)) return false;
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) pipes[path] = *file;
    return true;
}

} // namespace tool
