#include "kernel.hpp"

#include <vector>

namespace raw {
namespace {

using engine::require;

VkDescriptorType typeOf(uint32_t binding) {
    return binding == ROPE_BINDING_UNIFORM ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

} // namespace

Kernel::Kernel(const engine::Gpu& gpu, const RopeDispatch& dispatch, Constants constants)
    : gpu_(gpu), dispatch_(dispatch) {
    makeLayouts(constants);
    makePipeline(constants);
    makeSet();
}

Kernel::~Kernel() {
    vkDestroyDescriptorPool(gpu_.device, pool_, nullptr);
    vkDestroyPipeline(gpu_.device, pipeline_, nullptr);
    vkDestroyPipelineLayout(gpu_.device, layout_, nullptr);
    vkDestroyDescriptorSetLayout(gpu_.device, set_layout_, nullptr);
}

// The layout has what this dispatch binds. If the constants are beside the shader, it also has what else the shader
// declares.
void Kernel::makeLayouts(Constants constants) {
    VkDescriptorSetLayoutBinding bindings[ROPE_BINDING_COUNT];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        bound_[i] = dispatch_.bindings[i].range != 0 || (constants == Constants::kBeside && declares(i));
        if (!bound_[i]) continue;
        bindings[count++] = {i, typeOf(i), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    }
    const VkDescriptorSetLayoutCreateInfo sets = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0,
                                                  count, bindings};
    require(vkCreateDescriptorSetLayout(gpu_.device, &sets, nullptr, &set_layout_), "vkCreateDescriptorSetLayout");
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof dispatch_.push};
    const VkPipelineLayoutCreateInfo layout = {
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr, 0, 1, &set_layout_, 1, &range};
    require(vkCreatePipelineLayout(gpu_.device, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
}

bool Kernel::declares(uint32_t binding) const {
    constexpr uint32_t kHeaderWords = 5, kOpDecorate = 71, kBinding = 33; // SPIR-V's
    const uint32_t* const words = dispatch_.shader->words;
    for (size_t at = kHeaderWords; at < dispatch_.shader->bytes / 4; at += words[at] >> 16) {
        if ((words[at] & 0xFFFF) == kOpDecorate && words[at + 2] == kBinding && words[at + 3] == binding) return true;
    }
    return false;
}

VkShaderModule Kernel::makeModule(Constants constants) const {
    const RopeShader& shader = *dispatch_.shader;
    std::vector<uint32_t> words(shader.words, shader.words + shader.bytes / 4);
    VkShaderModuleCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = shader.bytes;
    if (constants == Constants::kFolded) info.codeSize = ropeSpecialize(&dispatch_, words.data());
    info.pCode = words.data();
    VkShaderModule module = VK_NULL_HANDLE;
    require(vkCreateShaderModule(gpu_.device, &info, nullptr, &module), "vkCreateShaderModule");
    return module;
}

void Kernel::makePipeline(Constants constants) {
    VkSpecializationMapEntry entries[ROPE_CONSTANT_COUNT];
    for (uint32_t i = 0; i < ROPE_CONSTANT_COUNT; ++i) entries[i] = {i, 4 * i, 4};
    const VkSpecializationInfo values = {ROPE_CONSTANT_COUNT, entries, sizeof dispatch_.constants, dispatch_.constants};
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = makeModule(constants);
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = constants == Constants::kBeside ? &values : nullptr;
    info.layout = layout_;
    require(vkCreateComputePipelines(gpu_.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_),
            "vkCreateComputePipelines");
    vkDestroyShaderModule(gpu_.device, info.stage.module, nullptr);
}

void Kernel::makeSet() {
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, ROPE_BINDING_COUNT - 1},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1}};
    const VkDescriptorPoolCreateInfo pool = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 1, 2, sizes};
    require(vkCreateDescriptorPool(gpu_.device, &pool, nullptr, &pool_), "vkCreateDescriptorPool");
    const VkDescriptorSetAllocateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, pool_, 1,
                                              &set_layout_};
    require(vkAllocateDescriptorSets(gpu_.device, &info, &set_), "vkAllocateDescriptorSets");
}

const RopeBinding& Kernel::nearestStorageBuffer(uint32_t number) const {
    uint32_t i = number;
    while (i != 0 && dispatch_.bindings[i].range == 0) --i;
    while (dispatch_.bindings[i].range == 0) ++i;
    return dispatch_.bindings[i];
}

void Kernel::bind(const engine::Slice (&slots)[ROPE_SLOT_COUNT]) {
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        if (!bound_[i]) continue;
        // A buffer that only the shader declares is never touched.
        const RopeBinding& binding = nearestStorageBuffer(i);
        const VkDescriptorBufferInfo buffer = {slots[binding.slot].buffer, binding.offset, binding.range};
        VkWriteDescriptorSet write = {};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set_;
        write.dstBinding = i;
        write.descriptorCount = 1;
        write.descriptorType = typeOf(i);
        write.pBufferInfo = &buffer;
        vkUpdateDescriptorSets(gpu_.device, 1, &write, 0, nullptr);
    }
}

void Kernel::record(VkCommandBuffer commands) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0, nullptr);
    vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof dispatch_.push, dispatch_.push);
    vkCmdDispatch(commands, dispatch_.groups[0], dispatch_.groups[1], dispatch_.groups[2]);
}

} // namespace raw
