// One block of device memory, mapped once, that all buffers are cut from. They go with it, together.
#pragma once

#include "gpu.hpp"

namespace engine {

struct Slice {
    VkBuffer buffer = VK_NULL_HANDLE;
    void* mapped = nullptr;
};

class Arena {
  public:
    Arena(const Gpu& gpu, VkDeviceSize bytes);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    Slice cut(VkDeviceSize bytes);

  private:
    VkBuffer makeBuffer(VkDeviceSize bytes) const;

    const Gpu& gpu_;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    char* mapped_ = nullptr;
    VkDeviceSize bytes_;
    VkDeviceSize used_ = 0;
    std::vector<VkBuffer> buffers_;
};

} // namespace engine
