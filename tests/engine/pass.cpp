#include "pass.hpp"

namespace engine {

Pass::Pass(const Gpu& gpu, const uint32_t* words, size_t bytes, uint32_t bindings)
    : gpu_(gpu), words_(words), bytes_(bytes) {
    VkDescriptorSetLayoutBinding all[4] = {};
    require(bindings <= 4, "a pass has at most four buffers");
    for (uint32_t i = 0; i < bindings; ++i) {
        all[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    }
    const VkDescriptorSetLayoutCreateInfo sets = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0,
                                                  bindings, all};
    require(vkCreateDescriptorSetLayout(gpu.device, &sets, nullptr, &set_layout_), "vkCreateDescriptorSetLayout");
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(uint32_t)};
    const VkPipelineLayoutCreateInfo layout = {
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr, 0, 1, &set_layout_, 1, &range};
    require(vkCreatePipelineLayout(gpu.device, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
}

Pass::~Pass() {
    vkDestroyPipeline(gpu_.device, pipeline_, nullptr);
    vkDestroyPipelineLayout(gpu_.device, layout_, nullptr);
    vkDestroyDescriptorSetLayout(gpu_.device, set_layout_, nullptr);
}

void Pass::compile(VkPipelineCache cache) {
    const VkShaderModuleCreateInfo code = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0, bytes_, words_};
    VkShaderModule module = VK_NULL_HANDLE;
    require(vkCreateShaderModule(gpu_.device, &code, nullptr, &module), "vkCreateShaderModule");
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = layout_;
    require(vkCreateComputePipelines(gpu_.device, cache, 1, &info, nullptr, &pipeline_), "vkCreateComputePipelines");
    vkDestroyShaderModule(gpu_.device, module, nullptr);
}

VkDescriptorSet Pass::bind(VkDescriptorPool pool, std::initializer_list<VkBuffer> buffers) const {
    const VkDescriptorSetAllocateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, pool, 1,
                                              &set_layout_};
    VkDescriptorSet set = VK_NULL_HANDLE;
    require(vkAllocateDescriptorSets(gpu_.device, &info, &set), "vkAllocateDescriptorSets");
    uint32_t binding = 0;
    for (VkBuffer buffer : buffers) {
        const VkDescriptorBufferInfo whole = {buffer, 0, VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set;
        write.dstBinding = binding++;
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &whole;
        vkUpdateDescriptorSets(gpu_.device, 1, &write, 0, nullptr);
    }
    return set;
}

void Pass::record(VkCommandBuffer commands, VkDescriptorSet set, uint32_t push, uint32_t threads) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set, 0, nullptr);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    vkCmdDispatch(commands, (threads + 63) / 64, 1, 1);
}

} // namespace engine
