// An engine that owns its pipelines and descriptors makes this of one of vkrope's dispatches.
#pragma once

#include "arena.hpp"

#include <vkrope/rope.h>

namespace raw {

// How the constants reach the driver: beside the SPIR-V, or folded into it for engines that know none.
enum class Constants { kBeside, kFolded };

class Kernel {
  public:
    Kernel(const engine::Gpu& gpu, const RopeDispatch& dispatch, Constants constants);
    ~Kernel();
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    void bind(const engine::Slice (&slots)[ROPE_SLOT_COUNT]);
    void record(VkCommandBuffer commands) const;

  private:
    void makeLayouts(Constants constants);
    void makePipeline(Constants constants);
    void makeSet();
    VkShaderModule makeModule(Constants constants) const;
    bool declares(uint32_t binding) const;
    const RopeBinding& nearestStorageBuffer(uint32_t number) const; // its own, or the next one below, or above

    const engine::Gpu& gpu_;
    const RopeDispatch dispatch_;
    bool bound_[ROPE_BINDING_COUNT];
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
};

} // namespace raw
