// One recorded command buffer is submitted again after the positions in its buffer have changed, and descriptor sets
// are used again for other buffers.
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
    // The set is pointed at the buffers.
    void record(const RopePlan& plan, RopeBuffers buffers, gpu::Recording* recording) {
        buffers.sets = &set_;
        if (takesSets()) {
            if (set_ == VK_NULL_HANDLE) {
                ASSERT_EQ(ropeAllocateSets(device().context(), &plan, &buffers, sets_, &set_), VK_SUCCESS);
            } else {
                ASSERT_EQ(ropeUpdateSets(device().context(), &plan, &buffers), ROPE_SUCCESS);
            }
        }
        recording->record([&](VkCommandBuffer commands) {
            ASSERT_EQ(ropeCmdExecute(commands, device().context(), &plan, &buffers), ROPE_SUCCESS);
        });
    }

    bool takesSets() { return (device().limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0; }
    void makeBuffer(const RopePlan& plan, RopeSlot slot, rope::Buffer* buffer, RopeBuffers* buffers) {
        std::string error;
        ASSERT_TRUE(device().makeBuffer(plan.bytes[slot], buffer, &error)) << error;
        buffers->slots[slot] = buffer->slot();
    }
    void expectTurned(const RopeRotateDescription& d, const rope::Buffer& q, const std::vector<float>& input,
                      int32_t position) {
        std::string error;
        std::vector<float> got(input.size()), wanted(input.size());
        ASSERT_TRUE(device().download(q, 0, got.data(), got.size() * 4, &error)) << error;
        RopeHostRotate host = {};
        host.positions = &position;
        host.q = input.data();
        host.q_out = wanted.data();
        ASSERT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
        EXPECT_EQ(got, wanted) << position;
    }

    VkDescriptorPool sets_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE; // the pool has no other
};

const std::vector<double> kFrequencies = sample::frequencies(10000, 64);

RopeRotateDescription describeOneToken() {
    RopeRotateDescription d = {};
    d.tokens = 1;
    d.head_dim = 64;
    d.rotation.frequencies = {kFrequencies.data(), 32, 1, nullptr, 1};
    d.q.heads = 3;
    return d;
}

TEST_P(Resubmit, OneRecordingServesEveryStep) {
    const RopeRotateDescription d = describeOneToken();
    const std::vector<uint32_t> words = sample::words(kFrequencies, ROPE_ANGLE_EXACT);
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropePrepare(device().context(), &plan, 1, nullptr), VK_SUCCESS);
    std::string error;
    rope::Buffer q, positions, block;
    RopeBuffers buffers = {};
    ASSERT_NO_FATAL_FAILURE(makeBuffer(plan, ROPE_SLOT_Q, &q, &buffers));
    ASSERT_NO_FATAL_FAILURE(makeBuffer(plan, ROPE_SLOT_POSITIONS, &positions, &buffers));
    ASSERT_NO_FATAL_FAILURE(makeBuffer(plan, ROPE_SLOT_FREQUENCIES, &block, &buffers));
    ASSERT_TRUE(device().upload(block, 0, words.data(), words.size() * 4, &error)) << error;
    gpu::Recording recording(&device());
    ASSERT_NO_FATAL_FAILURE(record(plan, buffers, &recording));
    const std::vector<float> input = sample::values(192, 1);
    for (const int32_t position : {0, 5, -7, 1000000}) {
        ASSERT_TRUE(device().upload(q, 0, input.data(), 768, &error)) << error;
        ASSERT_TRUE(device().upload(positions, 0, &position, 4, &error)) << error;
        ASSERT_NO_FATAL_FAILURE(recording.submit());
        ASSERT_NO_FATAL_FAILURE(expectTurned(d, q, input, position));
    }
}

// The pool has one set. Every step has a tensor and positions of its own, and the first tensor is turned once.
TEST_P(Resubmit, OneSetServesOtherBuffers) {
    const RopeRotateDescription d = describeOneToken();
    const std::vector<uint32_t> words = sample::words(kFrequencies, ROPE_ANGLE_EXACT);
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropePrepare(device().context(), &plan, 1, nullptr), VK_SUCCESS);
    constexpr int32_t kSteps = 4;
    std::string error;
    rope::Buffer q[kSteps], positions[kSteps], block;
    RopeBuffers buffers = {};
    ASSERT_NO_FATAL_FAILURE(makeBuffer(plan, ROPE_SLOT_FREQUENCIES, &block, &buffers));
    ASSERT_TRUE(device().upload(block, 0, words.data(), words.size() * 4, &error)) << error;
    for (int32_t step = 0; step < kSteps; ++step) {
        const std::vector<float> input = sample::values(192, static_cast<uint32_t>(step));
        const int32_t position = 1000 * step + 7;
        ASSERT_NO_FATAL_FAILURE(makeBuffer(plan, ROPE_SLOT_Q, &q[step], &buffers));
        ASSERT_NO_FATAL_FAILURE(makeBuffer(plan, ROPE_SLOT_POSITIONS, &positions[step], &buffers));
        ASSERT_TRUE(device().upload(q[step], 0, input.data(), 768, &error)) << error;
        ASSERT_TRUE(device().upload(positions[step], 0, &position, 4, &error)) << error;
        gpu::Recording recording(&device());
        ASSERT_NO_FATAL_FAILURE(record(plan, buffers, &recording));
        ASSERT_NO_FATAL_FAILURE(recording.submit());
        ASSERT_NO_FATAL_FAILURE(expectTurned(d, q[step], input, position));
        ASSERT_NO_FATAL_FAILURE(expectTurned(d, q[0], sample::values(192, 0), 7));
    }
    if (!takesSets()) {
        EXPECT_EQ(ropeUpdateSets(device().context(), &plan, &buffers), ROPE_ERROR_INVALID);
    }
}

ROPE_ON_EVERY_DEVICE(Resubmit);

} // namespace
