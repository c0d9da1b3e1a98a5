#include "kernels.hpp"

namespace decoder {
namespace {

constexpr uint32_t kMostSets = 256;

const uint32_t kMatmulWords[] = {
#include "decoder_matmul.inc"
};
const uint32_t kAttentionWords[] = {
#include "decoder_attention.inc"
};

VkDescriptorType typeOf(uint32_t binding) {
    return binding == kUniformBinding ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

} // namespace

Kernels::~Kernels() {
    const rope::VulkanFunctions& vk = device_->vk();
    for (VkPipeline pipeline : pipelines_) vk.DestroyPipeline(device_->handle(), pipeline, nullptr);
    vk.DestroyDescriptorPool(device_->handle(), pool_, nullptr);
    vk.DestroyPipelineLayout(device_->handle(), layout_, nullptr);
    vk.DestroyDescriptorSetLayout(device_->handle(), set_layout_, nullptr);
}

void Kernels::makeLayouts() {
    const rope::VulkanFunctions& vk = device_->vk();
    VkDescriptorSetLayoutBinding bindings[kKernelBindings];
    for (uint32_t i = 0; i < kKernelBindings; ++i) {
        bindings[i] = {i, typeOf(i), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    }
    const VkDescriptorSetLayoutCreateInfo sets = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0,
                                                  kKernelBindings, bindings};
    ASSERT_EQ(vk.CreateDescriptorSetLayout(device_->handle(), &sets, nullptr, &set_layout_), VK_SUCCESS);
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof Call::push};
    VkPipelineLayoutCreateInfo layout = {};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &set_layout_;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
    ASSERT_EQ(vk.CreatePipelineLayout(device_->handle(), &layout, nullptr, &layout_), VK_SUCCESS);
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kMostSets * ROPE_BINDING_COUNT},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kMostSets}};
    const VkDescriptorPoolCreateInfo pool = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, kMostSets, 2, sizes};
    ASSERT_EQ(vk.CreateDescriptorPool(device_->handle(), &pool, nullptr, &pool_), VK_SUCCESS);
}

void Kernels::makePipeline(Kernel kernel) {
    const bool matmul = kernel == Kernel::kMatmul;
    VkShaderModuleCreateInfo words = {};
    words.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    words.codeSize = matmul ? sizeof kMatmulWords : sizeof kAttentionWords;
    words.pCode = matmul ? kMatmulWords : kAttentionWords;
    VkShaderModule module = VK_NULL_HANDLE;
    ASSERT_EQ(device_->vk().CreateShaderModule(device_->handle(), &words, nullptr, &module), VK_SUCCESS);

    const VkBool32 turns_keys = kernel == Kernel::kTurningAttention;
    const VkSpecializationMapEntry entry = {0, 0, sizeof turns_keys};
    const VkSpecializationInfo constants = {matmul ? 0u : 1u, &entry, sizeof turns_keys, &turns_keys};
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &constants;
    info.layout = layout_;
    const VkResult made = device_->vk().CreateComputePipelines(device_->handle(), VK_NULL_HANDLE, 1, &info, nullptr,
                                                               &pipelines_[static_cast<int>(kernel)]);
    device_->vk().DestroyShaderModule(device_->handle(), module, nullptr);
    ASSERT_EQ(made, VK_SUCCESS);
}

void Kernels::make() {
    ASSERT_NO_FATAL_FAILURE(makeLayouts());
    for (Kernel kernel : {Kernel::kMatmul, Kernel::kAttention, Kernel::kTurningAttention}) {
        ASSERT_NO_FATAL_FAILURE(makePipeline(kernel));
    }
}

VkDescriptorSet Kernels::bind(const RopeBuffer (&buffers)[kKernelBindings]) {
    const VkDescriptorSetAllocateInfo allocate = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, pool_, 1,
                                                  &set_layout_};
    VkDescriptorSet set = VK_NULL_HANDLE;
    EXPECT_EQ(device_->vk().AllocateDescriptorSets(device_->handle(), &allocate, &set), VK_SUCCESS);
    for (uint32_t i = 0; i < kKernelBindings; ++i) {
        if (buffers[i].buffer == VK_NULL_HANDLE) continue;
        const VkDescriptorBufferInfo info = {buffers[i].buffer, buffers[i].offset, VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set;
        write.dstBinding = i;
        write.descriptorCount = 1;
        write.descriptorType = typeOf(i);
        write.pBufferInfo = &info;
        device_->vk().UpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
    }
    return set;
}

void Kernels::begin(VkCommandBuffer commands, const Call& call) const {
    const rope::VulkanFunctions& vk = device_->vk();
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines_[static_cast<int>(call.kernel)]);
    vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &call.set, 0, nullptr);
    vk.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof call.push, call.push);
}

} // namespace decoder
