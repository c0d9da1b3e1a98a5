// These tests hold what rope.h says of frames: what may be in flight together, and when what was handed over may go.
#include "support/recording.hpp"
#include "support/sample.hpp"

#include <cstring>
#include <memory>

namespace {

constexpr uint32_t kTokens = 40, kHeads = 3, kHeadDim = 64;
constexpr uint32_t kFrames = 3;

std::vector<float> inputOf(uint32_t frame) { return sample::values(kTokens * kHeads * kHeadDim, frame + 1); }

class Frames : public gpu::OnDevice {
  protected:
    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped()) return;
        RopeTableDescription table = {};
        table.frequencies = {frequencies_.data(), kHeadDim / 2, 1, nullptr, 1};
        table.tokens = 100;
        table.positions.kind = ROPE_POSITIONS_COUNTED;
        ASSERT_EQ(ropePlanTable(&table, &device().limits(), &table_), ROPE_SUCCESS) << table_.reason.text;
        rotate_.tokens = kTokens;
        rotate_.head_dim = kHeadDim;
        rotate_.q.heads = kHeads;
        rotate_.rotation.source = ROPE_SOURCE_TABLE;
        rotate_.rotation.rows.count = 100;
        rotate_.positions.kind = ROPE_POSITIONS_COUNTED;
        ASSERT_EQ(ropePlanRotate(&rotate_, &device().limits(), &plan_), ROPE_SUCCESS) << plan_.reason.text;
        const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 64},
                                              {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 8}};
        const VkDescriptorPoolCreateInfo sets = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 8, 2, sizes};
        ASSERT_EQ(vk().CreateDescriptorPool(device().handle(), &sets, nullptr, &pool_), VK_SUCCESS);
        ASSERT_NO_FATAL_FAILURE(makeContext());
        ASSERT_NO_FATAL_FAILURE(makeTable());
    }
    void TearDown() override {
        if (!IsSkipped()) dropAll();
        OnDevice::TearDown();
    }
    const rope::VulkanFunctions& vk() { return device().vk(); }

    void makeContext() {
        RopeContextInfo info = {};
        info.device = device().handle();
        info.get_device_proc_addr = vk().GetDeviceProcAddr;
        info.limits = device().limits();
        ASSERT_EQ(ropeCreateContext(&info, &context_), VK_SUCCESS);
        ASSERT_EQ(ropePrepare(context_, &plan_, 1, nullptr), VK_SUCCESS);
    }
    void makeTable() {
        const std::vector<uint32_t> words = sample::words(frequencies_, ROPE_ANGLE_EXACT);
        std::string error;
        rope::Buffer block;
        ASSERT_TRUE(device().makeBuffer(words.size() * 4, &block, &error)) << error;
        ASSERT_TRUE(device().upload(block, 0, words.data(), words.size() * 4, &error)) << error;
        ASSERT_TRUE(device().makeBuffer(table_.bytes[ROPE_SLOT_ROWS], &rows_, &error)) << error;
        RopeBuffers buffers = {};
        buffers.slots[ROPE_SLOT_FREQUENCIES] = block.slot();
        buffers.slots[ROPE_SLOT_ROWS] = rows_.slot();
        ASSERT_TRUE(device().run(&table_, 1, &buffers, &error)) << error;
    }
    // Records a frame by a copy of the plan and of the buffers, both overwritten afterwards.
    void record(uint32_t frame) {
        std::string error;
        const std::vector<float> input = inputOf(frame);
        ASSERT_TRUE(device().makeBuffer(input.size() * 4, &q_[frame], &error)) << error;
        ASSERT_TRUE(device().upload(q_[frame], 0, input.data(), input.size() * 4, &error)) << error;
        RopePlan plan = plan_;
        RopeBuffers buffers = {};
        VkDescriptorSet set = VK_NULL_HANDLE;
        buffers.slots[ROPE_SLOT_Q] = q_[frame].slot();
        buffers.slots[ROPE_SLOT_ROWS] = rows_.slot();
        if ((device().limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0) {
            ASSERT_EQ(ropeAllocateSets(context_, &plan, &buffers, pool_, &set), VK_SUCCESS);
            buffers.sets = &set;
        }
        recordings_[frame] = std::make_unique<gpu::Recording>(&device());
        recordings_[frame]->record([&](VkCommandBuffer commands) {
            ASSERT_EQ(ropeCmdExecute(commands, context_, &plan, &buffers), ROPE_SUCCESS);
        });
        std::memset(&plan, 0xA5, sizeof plan);
        std::memset(&buffers, 0xA5, sizeof buffers);
        set = VK_NULL_HANDLE;
    }
    void expectRotated(uint32_t frame) {
        std::string error;
        const std::vector<float> input = inputOf(frame);
        std::vector<float> got(input.size()), wanted(input.size());
        ASSERT_TRUE(device().download(q_[frame], 0, got.data(), got.size() * 4, &error)) << error;
        RopeRotateDescription d = rotate_;
        d.rotation.source = ROPE_SOURCE_INLINE;
        d.rotation.frequencies = {frequencies_.data(), kHeadDim / 2, 1, nullptr, 1};
        RopeHostRotate host = {};
        host.q = input.data();
        host.q_out = wanted.data();
        ASSERT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
        EXPECT_EQ(got, wanted) << "frame " << frame;
    }
    void dropAll() {
        for (std::unique_ptr<gpu::Recording>& recording : recordings_) recording.reset();
        ropeDestroyContext(context_);
        context_ = nullptr;
        vk().DestroyDescriptorPool(device().handle(), pool_, nullptr);
        pool_ = VK_NULL_HANDLE;
        rows_ = rope::Buffer();
        for (rope::Buffer& q : q_) q = rope::Buffer();
    }

    const std::vector<double> frequencies_ = sample::frequencies(10000, kHeadDim);
    RopeRotateDescription rotate_ = {};
    RopePlan table_, plan_;
    RopeContext* context_ = nullptr;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    rope::Buffer rows_, q_[kFrames];
    std::unique_ptr<gpu::Recording> recordings_[kFrames];
};

TEST_P(Frames, PlansAndBuffersMayGoOnceRecorded) {
    ASSERT_NO_FATAL_FAILURE(record(0));
    ASSERT_NO_FATAL_FAILURE(recordings_[0]->submit());
    expectRotated(0);
}

TEST_P(Frames, InFlightShareContextPlanAndTable) {
    for (uint32_t frame = 0; frame < kFrames; ++frame) ASSERT_NO_FATAL_FAILURE(record(frame));
    for (auto& recording : recordings_) ASSERT_NO_FATAL_FAILURE(recording->start());
    for (auto& recording : recordings_) ASSERT_NO_FATAL_FAILURE(recording->wait());
    for (uint32_t frame = 0; frame < kFrames; ++frame) expectRotated(frame);
}

TEST_P(Frames, InFlightDoNotMindThatMoreIsPrepared) {
    ASSERT_NO_FATAL_FAILURE(record(0));
    ASSERT_NO_FATAL_FAILURE(recordings_[0]->start());
    RopeRotateDescription d = rotate_;
    d.rotation.pairing = ROPE_PAIRING_INTERLEAVED;
    RopePlan other;
    ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &other), ROPE_SUCCESS) << other.reason.text;
    EXPECT_EQ(ropePrepare(context_, &other, 1, nullptr), VK_SUCCESS);
    ASSERT_NO_FATAL_FAILURE(recordings_[0]->wait());
    expectRotated(0);
}

// The layer would tell of anything that is destroyed too early. The recorded commands are not executed again.
TEST_P(Frames, ContextSetsAndTableMayGoWhenNothingIsPending) {
    ASSERT_NO_FATAL_FAILURE(record(0));
    ASSERT_NO_FATAL_FAILURE(recordings_[0]->submit());
    expectRotated(0);
    ropeDestroyContext(context_);
    context_ = nullptr;
    vk().DestroyDescriptorPool(device().handle(), pool_, nullptr);
    pool_ = VK_NULL_HANDLE;
    rows_ = rope::Buffer();
    recordings_[0].reset();
}

ROPE_ON_EVERY_DEVICE(Frames);

// Descriptions hold pointers; nothing that is made of them does.
TEST(Handed, DescriptionsMayGoOncePlannedAndWritten) {
    std::vector<double> frequencies = sample::frequencies(10000, kHeadDim);
    RopeRotateDescription d = {};
    d.tokens = kTokens;
    d.head_dim = kHeadDim;
    d.q.heads = kHeads;
    d.rotation.frequencies = {frequencies.data(), kHeadDim / 2, 1, nullptr, 1};
    RopePlan plan, again;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(ropePlanRotate(&d, nullptr, &again), ROPE_SUCCESS);
    const std::vector<uint32_t> words = sample::words(frequencies, ROPE_ANGLE_EXACT);
    frequencies.assign(frequencies.size(), 0);
    std::memset(&d, 0xA5, sizeof d);
    EXPECT_TRUE(ropePlansEqual(&plan, &again));
    EXPECT_EQ(words, sample::words(sample::frequencies(10000, kHeadDim), ROPE_ANGLE_EXACT));
}

} // namespace
