// Each pipeline has layouts of just the bindings of its pass: plans of different ones side by side, under validation.
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include <vector>

namespace {

constexpr uint32_t kTokens = 4, kDim = 64;
constexpr uint64_t kFloats = kTokens * kDim, kBytes = kFloats * sizeof(float);

class Bindings : public gpu::OnDevice {
  protected:
    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped()) return;
        const std::vector<uint32_t> words = sample::words(frequencies_, ROPE_ANGLE_EXACT);
        std::string error;
        ASSERT_TRUE(device().makeBuffer(1 << 16, &memory_, &error)) << error;
        ASSERT_TRUE(device().upload(memory_, 0, words.data(), words.size() * 4, &error)) << error;
        ASSERT_TRUE(device().upload(memory_, 4096, positions_.data(), kTokens * 4, &error)) << error;
        ASSERT_TRUE(device().upload(memory_, 8192, q_.data(), kBytes, &error)) << error;
        buffers_.slots[ROPE_SLOT_FREQUENCIES] = memory_.slot();
        buffers_.slots[ROPE_SLOT_POSITIONS] = memory_.slot(4096);
        buffers_.slots[ROPE_SLOT_Q] = memory_.slot(8192);
        buffers_.slots[ROPE_SLOT_Q_OUT] = memory_.slot(12288);
    }
    void TearDown() override {
        memory_ = rope::Buffer();
        OnDevice::TearDown();
    }
    RopeRotateDescription describe(uint32_t out_of_place, RopePositionKind kind) const {
        RopeRotateDescription d = {};
        d.tokens = kTokens;
        d.head_dim = kDim;
        d.q.heads = 1;
        d.out_of_place = out_of_place;
        d.positions.kind = kind;
        d.rotation.frequencies = {frequencies_.data(), kDim / 2, 1, nullptr, 1};
        return d;
    }
    std::vector<float> turned(const RopeRotateDescription& d, const std::vector<float>& q) const {
        std::vector<float> out(kFloats);
        RopeHostRotate host = {};
        host.positions = positions_.data();
        host.q = q.data();
        host.q_out = out.data();
        EXPECT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
        return out;
    }
    std::vector<float> read(uint64_t offset) {
        std::vector<float> values(kFloats);
        std::string error;
        EXPECT_TRUE(device().download(memory_, offset, values.data(), kBytes, &error)) << error;
        return values;
    }

    const std::vector<double> frequencies_ = sample::frequencies(10000, kDim);
    const std::vector<int32_t> positions_ = {3, 1, 4, 159};
    const std::vector<float> q_ = sample::values(kFloats, 1);
    rope::Buffer memory_;
    RopeBuffers buffers_ = {};
};

TEST_P(Bindings, OfEveryPlanAreItsOwn) {
    const RopeRotateDescription descriptions[] = {
        describe(0, ROPE_POSITIONS_PER_TOKEN), describe(0, ROPE_POSITIONS_COUNTED), describe(1, ROPE_POSITIONS_COUNTED),
        describe(1, ROPE_POSITIONS_PER_TOKEN)};
    std::vector<float> in_place = q_, out;
    for (const RopeRotateDescription& d : descriptions) {
        RopePlan plan;
        ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
        std::string error;
        ASSERT_TRUE(device().run(&plan, 1, &buffers_, &error)) << error;
        out = turned(d, in_place);
        if (d.out_of_place == 0) in_place = out;
        EXPECT_EQ(read(8192), in_place);
        if (d.out_of_place != 0) {
            EXPECT_EQ(read(12288), out);
        }
    }
}

TEST_P(Bindings, OfSetsAreThosePrepared) {
    if (device().limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) GTEST_SKIP() << "needs no sets";
    RopeContextInfo info = {};
    info.device = device().handle();
    info.get_device_proc_addr = device().vk().GetDeviceProcAddr;
    info.limits = device().limits();
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info, &context), VK_SUCCESS);
    // Just the descriptors of one rotation in place.
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    const VkDescriptorPoolCreateInfo pool_info = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 1, 1, &size};
    VkDescriptorPool pool = VK_NULL_HANDLE;
    ASSERT_EQ(device().vk().CreateDescriptorPool(device().handle(), &pool_info, nullptr, &pool), VK_SUCCESS);
    const RopeRotateDescription d = describe(0, ROPE_POSITIONS_PER_TOKEN);
    RopePlan plan;
    ASSERT_EQ(ropePlanRotate(&d, &device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    VkDescriptorSet set = VK_NULL_HANDLE;
    EXPECT_EQ(ropeAllocateSets(context, &plan, &buffers_, pool, &set), VK_ERROR_INITIALIZATION_FAILED);
    EXPECT_EQ(set, VkDescriptorSet(VK_NULL_HANDLE)) << "the pool is untouched";
    ASSERT_EQ(ropePrepare(context, &plan, 1, nullptr), VK_SUCCESS);
    EXPECT_EQ(ropeAllocateSets(context, &plan, &buffers_, pool, &set), VK_SUCCESS);
    device().vk().DestroyDescriptorPool(device().handle(), pool, nullptr);
    ropeDestroyContext(context);
}

ROPE_ON_EVERY_DEVICE(Bindings);

} // namespace
