#include "services.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

using engine::require;

namespace {

Services& of(void* host) { return *static_cast<Services*>(host); }

} // namespace

Services::Services(const engine::Gpu& gpu, engine::Arena* arena) : gpu_(gpu), arena_(arena) {
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 256};
    const VkDescriptorPoolCreateInfo sets = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 64, 1, &size};
    require(vkCreateDescriptorPool(gpu.device, &sets, nullptr, &sets_), "vkCreateDescriptorPool");
    const VkCommandPoolCreateInfo commands = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, gpu.family};
    require(vkCreateCommandPool(gpu.device, &commands, nullptr, &commands_), "vkCreateCommandPool");
}

Services::~Services() {
    vkDestroyCommandPool(gpu_.device, commands_, nullptr);
    vkDestroyDescriptorPool(gpu_.device, sets_, nullptr);
}

RopePluginBuffer Services::handle(const engine::Slice& slice) {
    return reinterpret_cast<RopePluginBuffer>(const_cast<engine::Slice*>(&slice));
}

RopePluginHost Services::functions() {
    RopePluginHost f = {};
    f.version = ROPE_PLUGIN_VERSION;
    f.host = this;
    f.properties = &gpu_.properties;
    f.allocate = [](void* host, size_t bytes) { return of(host).allocate(bytes); };
    f.release = [](void* host, void* memory) {
        --of(host).held;
        std::free(memory);
    };
    f.make_buffer = [](void* host, const void* contents, size_t bytes) { return of(host).makeBuffer(contents, bytes); };
    f.destroy_buffer = [](void* host, RopePluginBuffer buffer) {
        --of(host).held;
        delete reinterpret_cast<engine::Slice*>(buffer); // its memory goes with the arena
    };
    f.make_pipeline = [](void* host, const RopePluginShader* shader) {
        return reinterpret_cast<RopePluginPipeline>(of(host).makePipeline(*shader));
    };
    f.destroy_pipeline = [](void* host, RopePluginPipeline pipeline) {
        of(host).destroyPipeline(reinterpret_cast<Pipeline*>(pipeline));
    };
    f.dispatch = [](void* host, RopePluginCommands commands, const RopePluginDispatch* dispatch) {
        of(host).dispatch(reinterpret_cast<VkCommandBuffer>(commands), *dispatch);
    };
    return f;
}

void* Services::allocate(size_t bytes) {
    ++made;
    ++held;
    return std::malloc(bytes);
}

RopePluginBuffer Services::makeBuffer(const void* contents, size_t bytes) {
    ++made;
    ++held;
    const auto slice = new engine::Slice(arena_->cut(bytes));
    std::memcpy(slice->mapped, contents, bytes);
    return handle(*slice);
}

Services::Pipeline* Services::makePipeline(const RopePluginShader& shader) {
    ++made;
    ++held;
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (uint32_t i = 0; i < shader.binding_count; ++i) {
        bindings.push_back(
            {shader.bindings[i].number, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    }
    auto result = std::make_unique<Pipeline>();
    result->push_bytes = shader.push_bytes;
    const VkDescriptorSetLayoutCreateInfo sets = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0,
                                                  shader.binding_count, bindings.data()};
    require(vkCreateDescriptorSetLayout(gpu_.device, &sets, nullptr, &result->set_layout),
            "vkCreateDescriptorSetLayout");
    const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, shader.push_bytes};
    const VkPipelineLayoutCreateInfo layout = {
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr, 0, 1, &result->set_layout, 1, &push};
    require(vkCreatePipelineLayout(gpu_.device, &layout, nullptr, &result->layout), "vkCreatePipelineLayout");
    const VkShaderModuleCreateInfo code = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0, shader.bytes,
                                           shader.words};
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.pName = "main";
    info.layout = result->layout;
    require(vkCreateShaderModule(gpu_.device, &code, nullptr, &info.stage.module), "vkCreateShaderModule");
    require(vkCreateComputePipelines(gpu_.device, VK_NULL_HANDLE, 1, &info, nullptr, &result->pipeline), "a pipeline");
    vkDestroyShaderModule(gpu_.device, info.stage.module, nullptr);
    return result.release();
}

void Services::destroyPipeline(Pipeline* pipeline) {
    --held;
    vkDestroyPipeline(gpu_.device, pipeline->pipeline, nullptr);
    vkDestroyPipelineLayout(gpu_.device, pipeline->layout, nullptr);
    vkDestroyDescriptorSetLayout(gpu_.device, pipeline->set_layout, nullptr);
    delete pipeline;
}

VkDescriptorSet Services::makeSet(VkDescriptorSetLayout layout, const RopePluginDispatch& call) {
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkDescriptorSetAllocateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr, sets_, 1,
                                              &layout};
    require(vkAllocateDescriptorSets(gpu_.device, &info, &set), "vkAllocateDescriptorSets");
    for (uint32_t i = 0; i < call.binding_count; ++i) {
        const RopePluginBinding& binding = call.bindings[i];
        const auto& slice = *reinterpret_cast<const engine::Slice*>(binding.place.buffer);
        const VkDescriptorBufferInfo buffer = {slice.buffer, binding.place.offset, binding.range};
        VkWriteDescriptorSet write = {};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set;
        write.dstBinding = binding.number;
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &buffer;
        vkUpdateDescriptorSets(gpu_.device, 1, &write, 0, nullptr);
    }
    return set;
}

void Services::dispatch(VkCommandBuffer commands, const RopePluginDispatch& call) {
    ++dispatches;
    const Pipeline& pipeline = *reinterpret_cast<const Pipeline*>(call.pipeline);
    const VkDescriptorSet set = makeSet(pipeline.set_layout, call);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
    vkCmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, pipeline.push_bytes, call.push);
    vkCmdDispatch(commands, call.groups[0], call.groups[1], call.groups[2]);
}

VkCommandBuffer Services::begin() {
    const VkCommandBufferAllocateInfo allocate = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, commands_,
                                                  VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    require(vkAllocateCommandBuffers(gpu_.device, &allocate, &commands), "vkAllocateCommandBuffers");
    const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0, nullptr};
    require(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    return commands;
}

void Services::submit(VkCommandBuffer commands) {
    const VkMemoryBarrier to_host = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                     VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0,
                         nullptr, 0, nullptr);
    require(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    require(vkQueueSubmit(gpu_.queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
}
