// One recorded command buffer, submitted again after the positions in its buffer have changed.
#include "gpu.hpp"
#include "sample.hpp"

namespace {

class Resubmit : public gpu::OnDevice {
  protected:
    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped()) return;
        const VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0,
                                              device().queueFamily()};
        ASSERT_EQ(device().vk().CreateCommandPool(device().handle(), &pool, nullptr, &pool_), VK_SUCCESS);
        const VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool_,
                                                  VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
        ASSERT_EQ(device().vk().AllocateCommandBuffers(device().handle(), &info, &commands_), VK_SUCCESS);
        const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, ROPE_BINDING_COUNT};
        const VkDescriptorPoolCreateInfo sets = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 1, 1, &size};
        ASSERT_EQ(device().vk().CreateDescriptorPool(device().handle(), &sets, nullptr, &sets_), VK_SUCCESS);
        const VkFenceCreateInfo fence = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, nullptr, 0};
        ASSERT_EQ(device().vk().CreateFence(device().handle(), &fence, nullptr, &fence_), VK_SUCCESS);
    }
    void TearDown() override {
        if (!IsSkipped()) {
            device().vk().DestroyFence(device().handle(), fence_, nullptr);
            device().vk().DestroyDescriptorPool(device().handle(), sets_, nullptr);
            device().vk().DestroyCommandPool(device().handle(), pool_, nullptr);
        }
        OnDevice::TearDown();
    }
    void record(const RopePlan& plan, RopeBuffers buffers) {
        VkDescriptorSet set = VK_NULL_HANDLE;
        if ((device().limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0) {
            ASSERT_EQ(ropeAllocateSets(device().context(), &plan, &buffers, sets_, &set), VK_SUCCESS);
            buffers.sets = &set;
        }
        const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0, nullptr};
        const VkMemoryBarrier before = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
        const VkMemoryBarrier after = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                       VK_ACCESS_HOST_READ_BIT};
        ASSERT_EQ(device().vk().BeginCommandBuffer(commands_, &begin), VK_SUCCESS);
        device().vk().CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &before, 0, nullptr, 0, nullptr);
        ASSERT_EQ(ropeCmdExecute(commands_, device().context(), &plan, &buffers), ROPE_SUCCESS);
        device().vk().CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                                         1, &after, 0, nullptr, 0, nullptr);
        ASSERT_EQ(device().vk().EndCommandBuffer(commands_), VK_SUCCESS);
    }
    void submit() {
        VkSubmitInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        info.commandBufferCount = 1;
        info.pCommandBuffers = &commands_;
        ASSERT_EQ(device().vk().QueueSubmit(device().queue(), 1, &info, fence_), VK_SUCCESS);
        ASSERT_EQ(device().vk().WaitForFences(device().handle(), 1, &fence_, VK_TRUE, 60000000000ull), VK_SUCCESS);
        ASSERT_EQ(device().vk().ResetFences(device().handle(), 1, &fence_), VK_SUCCESS);
    }

    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkDescriptorPool sets_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
};

TEST_P(Resubmit, OneRecordingServesEveryStep) {
    const std::vector<double> frequencies = sample::frequencies(10000, 64);
    const std::vector<uint32_t> words = sample::words(frequencies, ROPE_ANGLE_EXACT);
    RopeRotateDescription d = {};
    d.tokens = 1;
    d.head_dim = 64;
    d.frequencies = {frequencies.data(), 32, 1, nullptr, 1};
    d.q.heads = 3;
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropePrepare(device().context(), &plan, 1), VK_SUCCESS);

    std::string error;
    rope::Buffer q, positions, block;
    ASSERT_TRUE(device().makeBuffer(plan.bytes[ROPE_SLOT_Q], &q, &error)) << error;
    ASSERT_TRUE(device().makeBuffer(plan.bytes[ROPE_SLOT_POSITIONS], &positions, &error)) << error;
    ASSERT_TRUE(device().makeBuffer(plan.bytes[ROPE_SLOT_FREQUENCIES], &block, &error)) << error;
    ASSERT_TRUE(device().upload(block, 0, words.data(), words.size() * 4, &error)) << error;
    RopeBuffers buffers = {};
    buffers.slots[ROPE_SLOT_Q] = q.slot();
    buffers.slots[ROPE_SLOT_POSITIONS] = positions.slot();
    buffers.slots[ROPE_SLOT_FREQUENCIES] = block.slot();
    record(plan, buffers);
    const std::vector<float> input = sample::values(192, 1);
    for (const int32_t position : {0, 5, -7, 1000000}) {
        ASSERT_TRUE(device().upload(q, 0, input.data(), 768, &error)) << error;
        ASSERT_TRUE(device().upload(positions, 0, &position, 4, &error)) << error;
        submit();
        std::vector<float> got(192), wanted(192);
        ASSERT_TRUE(device().download(q, 0, got.data(), 768, &error)) << error;
        RopeHostRotate host = {};
        host.positions = &position;
        host.q = input.data();
        host.q_out = wanted.data();
        ASSERT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
        EXPECT_EQ(got, wanted) << position;
    }
}

ROPE_ON_EVERY_DEVICE(Resubmit);

} // namespace
