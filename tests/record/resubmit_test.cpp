// One recorded command buffer, submitted again after the positions in its buffer have changed.
#include "support/recording.hpp"
#include "support/sample.hpp"

namespace {

class Resubmit : public gpu::OnDevice {
  protected:
    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped()) return;
        const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, ROPE_BINDING_COUNT - 1},
                                              {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1}};
        const VkDescriptorPoolCreateInfo sets = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 1, 2, sizes};
        ASSERT_EQ(device().vk().CreateDescriptorPool(device().handle(), &sets, nullptr, &sets_), VK_SUCCESS);
    }
    void TearDown() override {
        if (!IsSkipped()) device().vk().DestroyDescriptorPool(device().handle(), sets_, nullptr);
        OnDevice::TearDown();
    }
    void record(const RopePlan& plan, RopeBuffers buffers, gpu::Recording* recording) {
        VkDescriptorSet set = VK_NULL_HANDLE;
        if ((device().limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0) {
            ASSERT_EQ(ropeAllocateSets(device().context(), &plan, &buffers, sets_, &set), VK_SUCCESS);
            buffers.sets = &set;
        }
        recording->record([&](VkCommandBuffer commands) {
            ASSERT_EQ(ropeCmdExecute(commands, device().context(), &plan, &buffers), ROPE_SUCCESS);
        });
    }

    VkDescriptorPool sets_ = VK_NULL_HANDLE;
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
    ASSERT_EQ(ropePrepare(device().context(), &plan, 1, nullptr), VK_SUCCESS);

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
    gpu::Recording recording(&device());
    ASSERT_NO_FATAL_FAILURE(record(plan, buffers, &recording));
    const std::vector<float> input = sample::values(192, 1);
    for (const int32_t position : {0, 5, -7, 1000000}) {
        ASSERT_TRUE(device().upload(q, 0, input.data(), 768, &error)) << error;
        ASSERT_TRUE(device().upload(positions, 0, &position, 4, &error)) << error;
        ASSERT_NO_FATAL_FAILURE(recording.submit());
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
