// One of the engine's own compute passes: storage buffers from binding 0 on, one push constant, 64 threads a group.
#pragma once

#include "arena.hpp"

#include <initializer_list>

namespace engine {

class Pass {
  public:
    Pass(const Gpu& gpu, const uint32_t* words, size_t bytes, uint32_t bindings);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    void compile(VkPipelineCache cache); // on any thread, before the first record()
    VkDescriptorSet bind(VkDescriptorPool pool, std::initializer_list<VkBuffer> buffers) const;
    void record(VkCommandBuffer commands, VkDescriptorSet set, uint32_t push, uint32_t threads) const;

  private:
    const Gpu& gpu_;
    const uint32_t* words_;
    size_t bytes_;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
};

} // namespace engine
