// Files that are read from their beginning on.
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

// A regular file. Both functions return false and one sentence, without the path, where it cannot be read.
class InputFile {
  public:
    bool open(const std::string& path, std::string* problem);
    bool read(void* to, size_t bytes, std::string* problem); // the next ones
    uint64_t size() const { return size_; }

  private:
    std::unique_ptr<std::FILE, CloseFile> file_;
    uint64_t size_ = 0;
};

} // namespace rope
