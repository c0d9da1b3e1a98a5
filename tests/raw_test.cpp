// A host that owns its pipelines and descriptors: it takes a plan's dispatches as plain data and makes everything
// itself, with no context. Also the C++ face of rope.h, which it uses for the rest.
#include "gpu.hpp"
#include "rope.hpp"
#include "sample.hpp"

namespace {

class Raw : public gpu::OnDevice {
  protected:
    static constexpr uint32_t kBindings = 4; // that a table or rotation has

    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped()) return;
        VkDescriptorSetLayoutBinding bindings[kBindings] = {};
        for (uint32_t i = 0; i < kBindings; ++i) {
            bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
        }
        const VkDescriptorSetLayoutCreateInfo set = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0,
                                                     kBindings, bindings};
        ASSERT_EQ(vk().CreateDescriptorSetLayout(handle(), &set, nullptr, &set_layout_), VK_SUCCESS);
        const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, ROPE_PUSH_WORDS * 4};
        const VkPipelineLayoutCreateInfo layout = {
            VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr, 0, 1, &set_layout_, 1, &range};
        ASSERT_EQ(vk().CreatePipelineLayout(handle(), &layout, nullptr, &layout_), VK_SUCCESS);
        const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kBindings};
        const VkDescriptorPoolCreateInfo pool = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 1, 1, &size};
        ASSERT_EQ(vk().CreateDescriptorPool(handle(), &pool, nullptr, &pool_), VK_SUCCESS);
        const VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, pool_, 1,
                                                      &set_layout_};
        ASSERT_EQ(vk().AllocateDescriptorSets(handle(), &allocate, &set_), VK_SUCCESS);
    }
    void TearDown() override {
        if (!IsSkipped()) {
            vk().DestroyPipeline(handle(), pipeline_, nullptr);
            vk().DestroyShaderModule(handle(), module_, nullptr);
            vk().DestroyDescriptorPool(handle(), pool_, nullptr);
            vk().DestroyPipelineLayout(handle(), layout_, nullptr);
            vk().DestroyDescriptorSetLayout(handle(), set_layout_, nullptr);
        }
        OnDevice::TearDown();
    }
    const rope::VulkanFunctions& vk() { return device().vk(); }
    VkDevice handle() { return device().handle(); }

    void makePipeline(const RopeDispatch& dispatch) {
        const VkShaderModuleCreateInfo code = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0,
                                               dispatch.shader->bytes, dispatch.shader->words};
        ASSERT_EQ(vk().CreateShaderModule(handle(), &code, nullptr, &module_), VK_SUCCESS);
        VkSpecializationMapEntry entries[ROPE_CONSTANT_COUNT];
        for (uint32_t i = 0; i < ROPE_CONSTANT_COUNT; ++i) entries[i] = {i, 4 * i, 4};
        const VkSpecializationInfo constants = {ROPE_CONSTANT_COUNT, entries, sizeof dispatch.constants,
                                                dispatch.constants};
        VkComputePipelineCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                      nullptr,
                      0,
                      VK_SHADER_STAGE_COMPUTE_BIT,
                      module_,
                      "main",
                      &constants};
        info.layout = layout_;
        ASSERT_EQ(vk().CreateComputePipelines(handle(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_), VK_SUCCESS);
    }
    void writeSet(const RopeDispatch& dispatch, const RopeBuffers& buffers) {
        for (uint32_t i = 0; i < kBindings; ++i) {
            const RopeBinding& binding = dispatch.bindings[i];
            const RopeBuffer& buffer = buffers.slots[binding.slot];
            const VkDescriptorBufferInfo info = {buffer.buffer, buffer.offset + binding.offset, binding.range};
            VkWriteDescriptorSet write = {};
            write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
            write.dstSet = set_;
            write.dstBinding = i;
            write.descriptorCount = 1;
            write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            write.pBufferInfo = &info;
            vk().UpdateDescriptorSets(handle(), 1, &write, 0, nullptr);
        }
    }
    void run(const RopeDispatch& dispatch) {
        std::string error;
        const auto record = [&](VkCommandBuffer commands) {
            vk().CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
            vk().CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0, nullptr);
            vk().CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof dispatch.push,
                                  dispatch.push);
            vk().CmdDispatch(commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
        };
        ASSERT_TRUE(device().submit(record, &error)) << error;
    }

    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
    VkShaderModule module_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
};

TEST_P(Raw, ADispatchIsAllThatAHostNeeds) {
    RopeRule rule = {};
    rule.rotary_dim = 64;
    rule.base = 10000;
    rope::Frequencies frequencies;
    ASSERT_EQ(frequencies.make(rule), ROPE_SUCCESS);
    RopeRotateDescription d = {};
    d.tokens = 11;
    d.head_dim = 64;
    d.frequencies = frequencies.get();
    d.positions.kind = ROPE_POSITIONS_COUNTED;
    d.q.heads = 3;
    RopePlan plan;
    ASSERT_EQ(rope::plan(d, device().limits(), &plan), ROPE_SUCCESS) << plan.reason.text;
    EXPECT_NE(rope::print(plan).find("rotate_wide"), std::string::npos);
    ASSERT_EQ(ropeDispatchCount(&plan), 1u);
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, 0, &dispatch);

    const std::vector<uint32_t> words = frequencies.words(d.angle);
    const std::vector<float> input = sample::values(11 * 3 * 64, 1);
    std::string error;
    gpu::Guarded q, block;
    ASSERT_TRUE(q.make(&device(), input.data(), input.size() * 4, &error)) << error;
    ASSERT_TRUE(block.make(&device(), words.data(), words.size() * 4, &error)) << error;
    RopeBuffers buffers = {};
    buffers.slots[ROPE_SLOT_Q] = q.slot();
    buffers.slots[ROPE_SLOT_FREQUENCIES] = block.slot();
    ASSERT_NO_FATAL_FAILURE(makePipeline(dispatch));
    writeSet(dispatch, buffers);
    ASSERT_NO_FATAL_FAILURE(run(dispatch));

    std::vector<float> got(input.size()), wanted(input.size());
    ASSERT_TRUE(q.read(got.data(), &error)) << error;
    RopeHostRotate host = {};
    host.q = input.data();
    host.q_out = wanted.data();
    ASSERT_EQ(ropeHostRunRotate(&d, &host, nullptr), ROPE_SUCCESS);
    EXPECT_EQ(got, wanted);
}

TEST_P(Raw, AContextIsMovedNotCopied) {
    rope::Context context, other;
    RopeContextInfo info = {};
    info.device = handle();
    info.get_device_proc_addr = vk().GetDeviceProcAddr;
    info.limits = device().limits();
    ASSERT_EQ(context.create(info), VK_SUCCESS);
    RopeContext* made = context.get();
    other = std::move(context);
    EXPECT_EQ(other.get(), made);
    const rope::Context last(std::move(other));
    EXPECT_EQ(last.get(), made);
    EXPECT_FALSE(other);
}

ROPE_ON_EVERY_DEVICE(Raw);

} // namespace
