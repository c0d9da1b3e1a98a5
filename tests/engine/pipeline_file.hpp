// A pipeline cache kept in a file. The file is a hint: one that is missing, cut short, garbage or of another device or
// driver is as good as none, and one that cannot be written costs the next start its time and nothing else.
#pragma once

#include "gpu.hpp"

namespace engine {

class PipelineFile {
  public:
    PipelineFile(const Gpu& gpu, const std::string& path); // empty path: no file
    ~PipelineFile();
    PipelineFile(const PipelineFile&) = delete;
    PipelineFile& operator=(const PipelineFile&) = delete;

    VkPipelineCache handle() const { return cache_; }
    size_t bytesRead() const { return bytes_read_; } // 0: started empty
    // Whole or not at all, whatever ends the program meanwhile, and whoever else writes it; false where it cannot be.
    bool write() const;

  private:
    const Gpu& gpu_;
    std::string path_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    size_t bytes_read_ = 0;
};

} // namespace engine
