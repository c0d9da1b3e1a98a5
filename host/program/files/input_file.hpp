// Files that are read at places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace rope {

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

// A regular file. Both functions return false and one sentence, without the path, where it cannot be read.
class InputFile {
  public:
    bool open(const std::string& path, std::string* problem);
    bool read(uint64_t offset, void* to, size_t bytes, std::string* problem);
    uint64_t size() const { return size_; }

  private:
    OpenFile file_;
    uint64_t size_ = 0, at_ = 0;
};

// Returns false, with the path before the sentence. `error` may be null.
bool refuseFile(const std::string& path, const std::string& sentence, std::string* error);

} // namespace rope
