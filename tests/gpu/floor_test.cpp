// The device cut down to the floor: it shows what ropeMinimumLimits promises, and sees what goes beyond.
#include "support/floor.hpp"
#include "support/gpu.hpp"

#include "shaders/interface.h"

#include <gtest/gtest.h>

namespace {

class Floor : public testing::TestWithParam<gpu::DeviceSetup> {
  protected:
    void SetUp() override {
        rope::DeviceOptions options;
        options.select = GetParam().select;
        options.get_instance_proc_addr = gpu::floorLoader();
        std::string error;
        device_ = rope::Device::open(options, &error);
        if (!device_) GTEST_SKIP() << GetParam().name << " was not found: " << error;
        before_ = gpu::beyondFloor().count();
    }
    uint32_t messages() const { return gpu::beyondFloor().count() - before_; }

    VkDescriptorSetLayout makeSetLayout(uint32_t buffers) {
        std::vector<VkDescriptorSetLayoutBinding> bindings;
        for (uint32_t i = 0; i < buffers; ++i)
            bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
        const VkDescriptorSetLayoutCreateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0,
                                                      buffers, bindings.data()};
        VkDescriptorSetLayout layout = VK_NULL_HANDLE;
        device_.vk().CreateDescriptorSetLayout(device_.handle(), &info, nullptr, &layout);
        return layout;
    }
    void makePipelineLayout(uint32_t buffers, uint32_t push_bytes, VkDescriptorSetLayout* set,
                            VkPipelineLayout* layout) {
        *set = makeSetLayout(buffers);
        const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
        const VkPipelineLayoutCreateInfo info = {
            VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr, 0, 1, set, 1, &range};
        device_.vk().CreatePipelineLayout(device_.handle(), &info, nullptr, layout);
    }
    void tryPipelineLayout(uint32_t buffers, uint32_t push_bytes) {
        VkDescriptorSetLayout set = VK_NULL_HANDLE;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        makePipelineLayout(buffers, push_bytes, &set, &layout);
        device_.vk().DestroyPipelineLayout(device_.handle(), layout, nullptr);
        device_.vk().DestroyDescriptorSetLayout(device_.handle(), set, nullptr);
    }
    void tryPipeline(uint32_t group_size) {
        RopePlan plan;
        ASSERT_EQ(ropePlanSelfTest(&device_.limits(), &plan), ROPE_SUCCESS);
        RopeDispatch dispatch;
        ropeGetDispatch(&plan, 0, &dispatch);
        VkShaderModule module = VK_NULL_HANDLE;
        const VkShaderModuleCreateInfo code = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0,
                                               dispatch.shader->bytes, dispatch.shader->words};
        device_.vk().CreateShaderModule(device_.handle(), &code, nullptr, &module);
        VkDescriptorSetLayout set = VK_NULL_HANDLE;
        VkComputePipelineCreateInfo info = {};
        makePipelineLayout(4, 128, &set, &info.layout);
        const VkSpecializationMapEntry entry = {ROPE_ID_GROUP_SIZE, 0, sizeof group_size};
        const VkSpecializationInfo special = {1, &entry, sizeof group_size, &group_size};
        info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.module = module;
        info.stage.pName = "main";
        info.stage.pSpecializationInfo = &special;
        VkPipeline pipeline = VK_NULL_HANDLE;
        device_.vk().CreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
        device_.vk().DestroyPipeline(device_.handle(), pipeline, nullptr);
        device_.vk().DestroyPipelineLayout(device_.handle(), info.layout, nullptr);
        device_.vk().DestroyDescriptorSetLayout(device_.handle(), set, nullptr);
        device_.vk().DestroyShaderModule(device_.handle(), module, nullptr);
    }

    VkDescriptorPool makePool(uint32_t buffers) {
        const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
        const VkDescriptorPoolCreateInfo info = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 1, 1, &size};
        VkDescriptorPool pool = VK_NULL_HANDLE;
        device_.vk().CreateDescriptorPool(device_.handle(), &info, nullptr, &pool);
        return pool;
    }
    // Records a plan of one dispatch, whose pipeline and sets then stay bound.
    void bindSomething(VkCommandBuffer commands, VkDescriptorPool pool) {
        std::string error;
        RopePlan plan;
        ASSERT_EQ(ropePlanSelfTest(&device_.limits(), &plan), ROPE_SUCCESS);
        RopeBuffers buffers = {};
        for (uint32_t slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
            if (plan.bytes[slot] == 0) continue;
            ASSERT_TRUE(device_.makeBuffer(plan.bytes[slot], &bound_[slot], &error)) << error;
            buffers.slots[slot] = bound_[slot].slot();
        }
        ASSERT_EQ(ropePrepare(device_.context(), &plan, 1, nullptr), VK_SUCCESS);
        VkDescriptorSet set = VK_NULL_HANDLE;
        ASSERT_EQ(ropeDispatchCount(&plan), 1u);
        ASSERT_EQ(ropeAllocateSets(device_.context(), &plan, &buffers, pool, &set), VK_SUCCESS);
        buffers.sets = &set;
        ASSERT_EQ(ropeCmdExecute(commands, device_.context(), &plan, &buffers), ROPE_SUCCESS);
    }

    rope::Device device_;
    rope::Buffer bound_[ROPE_SLOT_COUNT];

  private:
    uint32_t before_ = 0;
};

TEST_P(Floor, IsWhatTheLimitsOfTheFloorSay) {
    RopeLimits floor;
    ropeMinimumLimits(&floor);
    const RopeLimits& shown = device_.limits();
    EXPECT_EQ(shown.storage_range, floor.storage_range);
    EXPECT_EQ(shown.storage_alignment, floor.storage_alignment);
    EXPECT_EQ(shown.group_count[0], floor.group_count[0]);
    EXPECT_EQ(shown.group_count[1], floor.group_count[1]);
    EXPECT_EQ(shown.group_size, floor.group_size);
    EXPECT_EQ(shown.enabled & ~ROPE_ENABLED_NATIVE_HALVES, floor.enabled); // which the self-test finds
    EXPECT_EQ(shown.storage_buffers, floor.storage_buffers);
    EXPECT_EQ(shown.uniform_range, floor.uniform_range);
    EXPECT_EQ(shown.shared_bytes, floor.shared_bytes);
    EXPECT_EQ(shown.uniform_alignment, floor.uniform_alignment);
    EXPECT_EQ(messages(), 0u) << gpu::beyondFloor().text();
}

TEST_P(Floor, SeesMoreBuffersAndPushConstants) {
    tryPipelineLayout(4, 128);
    EXPECT_EQ(messages(), 0u) << gpu::beyondFloor().text();
    tryPipelineLayout(5, 128);
    EXPECT_EQ(messages(), 1u);
    tryPipelineLayout(4, 132);
    EXPECT_EQ(messages(), 2u);
}

TEST_P(Floor, SeesLargerGroups) {
    tryPipeline(128);
    EXPECT_EQ(messages(), 0u) << gpu::beyondFloor().text();
    tryPipeline(129);
    EXPECT_EQ(messages(), 2u); // along an axis, and in all
}

TEST_P(Floor, SeesFineOffsets) {
    std::string error;
    rope::Buffer buffer;
    ASSERT_TRUE(device_.makeBuffer(4096, &buffer, &error)) << error;
    const VkDescriptorBufferInfo info = {buffer.handle(), 16, 64};
    VkWriteDescriptorSet write = {};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &info;
    const VkDescriptorPool pool = makePool(1);
    ASSERT_NE(pool, VK_NULL_HANDLE);
    const VkDescriptorSetLayout layout = makeSetLayout(1);
    const VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, pool, 1,
                                                  &layout};
    ASSERT_EQ(device_.vk().AllocateDescriptorSets(device_.handle(), &allocate, &write.dstSet), VK_SUCCESS);
    device_.vk().UpdateDescriptorSets(device_.handle(), 1, &write, 0, nullptr);
    EXPECT_EQ(messages(), 1u);
    device_.vk().DestroyDescriptorPool(device_.handle(), pool, nullptr);
    device_.vk().DestroyDescriptorSetLayout(device_.handle(), layout, nullptr);
}

TEST_P(Floor, SeesMoreGroups) {
    const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0,
                                               device_.queueFamily()};
    VkCommandPool pool = VK_NULL_HANDLE;
    ASSERT_EQ(device_.vk().CreateCommandPool(device_.handle(), &pool_info, nullptr, &pool), VK_SUCCESS);
    const VkCommandBufferAllocateInfo allocate = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool,
                                                  VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    ASSERT_EQ(device_.vk().AllocateCommandBuffers(device_.handle(), &allocate, &commands), VK_SUCCESS);
    const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0, nullptr};
    ASSERT_EQ(device_.vk().BeginCommandBuffer(commands, &begin), VK_SUCCESS);
    const VkDescriptorPool sets = makePool(4);
    bindSomething(commands, sets); // a driver may read the bound pipeline when a dispatch is recorded
    device_.vk().CmdDispatch(commands, 65535, 65535, 65535); // recorded, never submitted
    EXPECT_EQ(messages(), 0u) << gpu::beyondFloor().text();
    device_.vk().CmdDispatch(commands, 1, 65536, 1);
    EXPECT_EQ(messages(), 1u);
    device_.vk().DestroyCommandPool(device_.handle(), pool, nullptr);
    device_.vk().DestroyDescriptorPool(device_.handle(), sets, nullptr);
}

TEST_P(Floor, SeesCapabilities) {
    RopeLimits limits = device_.limits();
    limits.enabled |= ROPE_ENABLED_STORAGE_16; // which the device does not have
    RopeBiasDescription d = {};
    d.kind = ROPE_BIAS_ALIBI;
    d.heads = d.queries = 1;
    d.keys = 3;
    d.element = ROPE_ELEMENT_F16;
    RopePlan plan;
    ASSERT_EQ(ropePlanBias(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    ASSERT_EQ(plan.passes[0].shader->needs, ROPE_ENABLED_STORAGE_16);
    const VkShaderModuleCreateInfo code = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0,
                                           plan.passes[0].shader->bytes, plan.passes[0].shader->words};
    VkShaderModule module = VK_NULL_HANDLE;
    device_.vk().CreateShaderModule(device_.handle(), &code, nullptr, &module);
    device_.vk().DestroyShaderModule(device_.handle(), module, nullptr);
    EXPECT_GE(messages(), 1u);
}

TEST_P(Floor, HasNoFunctionsOfExtensions) {
    EXPECT_EQ(device_.vk().GetDeviceProcAddr(device_.handle(), "vkCmdPushDescriptorSetKHR"), nullptr);
    EXPECT_NE(device_.vk().GetDeviceProcAddr(device_.handle(), "vkCmdDispatch"), nullptr);
}

ROPE_ON_EVERY_DEVICE(Floor);

} // namespace
