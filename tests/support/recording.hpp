// A command buffer that is recorded once, submitted as often as wanted, and waited for. Its compute shaders see earlier
// writes, and the host sees theirs.
#pragma once

#include "gpu.hpp"

namespace gpu {

class Recording {
  public:
    explicit Recording(rope::Device* device) : device_(device) {}
    ~Recording() {
        device_->vk().DestroyFence(device_->handle(), fence_, nullptr);
        device_->vk().DestroyCommandPool(device_->handle(), pool_, nullptr);
    }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    template <typename Commands> void record(const Commands& commands) {
        ASSERT_NO_FATAL_FAILURE(make());
        const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0, nullptr};
        const VkMemoryBarrier before = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
        const VkMemoryBarrier after = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                       VK_ACCESS_HOST_READ_BIT};
        ASSERT_EQ(device_->vk().BeginCommandBuffer(commands_, &begin), VK_SUCCESS);
        device_->vk().CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &before, 0, nullptr, 0, nullptr);
        commands(commands_);
        device_->vk().CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                                         1, &after, 0, nullptr, 0, nullptr);
        ASSERT_EQ(device_->vk().EndCommandBuffer(commands_), VK_SUCCESS);
    }

    void submit() {
        ASSERT_NO_FATAL_FAILURE(start());
        wait();
    }
    void start() {
        VkSubmitInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        info.commandBufferCount = 1;
        info.pCommandBuffers = &commands_;
        ASSERT_EQ(device_->vk().QueueSubmit(device_->queue(), 1, &info, fence_), VK_SUCCESS);
    }
    void wait() {
        ASSERT_EQ(device_->vk().WaitForFences(device_->handle(), 1, &fence_, VK_TRUE, 60000000000ull), VK_SUCCESS);
        ASSERT_EQ(device_->vk().ResetFences(device_->handle(), 1, &fence_), VK_SUCCESS);
    }

  private:
    void make() {
        const VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0,
                                              device_->queueFamily()};
        ASSERT_EQ(device_->vk().CreateCommandPool(device_->handle(), &pool, nullptr, &pool_), VK_SUCCESS);
        const VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool_,
                                                  VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
        ASSERT_EQ(device_->vk().AllocateCommandBuffers(device_->handle(), &info, &commands_), VK_SUCCESS);
        const VkFenceCreateInfo fence = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
        ASSERT_EQ(device_->vk().CreateFence(device_->handle(), &fence, nullptr, &fence_), VK_SUCCESS);
    }

    rope::Device* device_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
};

} // namespace gpu
