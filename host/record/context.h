// The context is shared by its creation and by recording.
#pragma once

#include "rope.h"

#include <atomic>

// These are all Vulkan functions that the library calls. Every device has the first list. A function of the second is
// null if the host has not enabled its extension.
#define ROPE_FUNCTIONS(X)                                                                                              \
    X(CreateDescriptorSetLayout)                                                                                       \
    X(DestroyDescriptorSetLayout)                                                                                      \
    X(CreatePipelineLayout)                                                                                            \
    X(DestroyPipelineLayout)                                                                                           \
    X(CreateShaderModule)                                                                                              \
    X(DestroyShaderModule)                                                                                             \
    X(CreateComputePipelines)                                                                                          \
    X(DestroyPipeline)                                                                                                 \
    X(AllocateDescriptorSets)                                                                                          \
    X(UpdateDescriptorSets)                                                                                            \
    X(CmdBindPipeline)                                                                                                 \
    X(CmdBindDescriptorSets)                                                                                           \
    X(CmdPushConstants)                                                                                                \
    X(CmdDispatch)                                                                                                     \
    X(CmdDispatchIndirect)
#define ROPE_OPTIONAL_FUNCTIONS(X)                                                                                     \
    X(CmdPushDescriptorSetKHR)                                                                                         \
    X(SetDebugUtilsObjectNameEXT)                                                                                      \
    X(CmdBeginDebugUtilsLabelEXT)                                                                                      \
    X(CmdEndDebugUtilsLabelEXT)

namespace rope {

struct VulkanFunctions {
#define ROPE_DECLARE(name) PFN_vk##name name;
    ROPE_FUNCTIONS(ROPE_DECLARE)
    ROPE_OPTIONAL_FUNCTIONS(ROPE_DECLARE)
#undef ROPE_DECLARE
};

// A node of a list that only grows, which one thread can read while another adds.
struct PipelineNode {
    PipelineNode* next;
    const RopeShader* shader;
    uint32_t constants[ROPE_CONSTANT_COUNT];
    VkPipeline pipeline;
};

} // namespace rope

struct RopeContext {
    rope::VulkanFunctions vk;
    VkDevice device;
    VkPipelineCache cache;
    const VkAllocationCallbacks* allocator;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout pipeline_layout;
    std::atomic<rope::PipelineNode*> pipelines;
    bool pushes_descriptors; // descriptors are pushed; otherwise the host has sets allocated
    uint32_t binding_count;
    RopeLimits limits; // every default is filled in
    RopeRounding rounding;
};

namespace rope {

// Returns the pipeline of a shader with these constants, or null if none is prepared.
VkPipeline findPipeline(const RopeContext& context, const RopeShader* shader, const uint32_t* constants);

inline VkDescriptorType descriptorType(uint32_t binding) {
    return binding == ROPE_BINDING_UNIFORM ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

// Refuses a plan of another version, or of limits beyond the context's. The sentence names the plan by `number`.
RopeResult checkPlan(const RopeContext& context, const RopePlan& plan, uint32_t number, RopeReason* reason);

// Refuses plans and buffers that cannot be recorded. Pipelines and descriptor sets are looked for only if `prepared` is
// true: a caller that is about to make the sets has none yet.
RopeResult checkRecording(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers, bool prepared);
// Records all of one dispatch but the dispatch itself.
void bindDispatch(VkCommandBuffer command_buffer, const RopeContext& context, const RopeBuffers& buffers,
                  uint32_t index, const RopeDispatch& dispatch);

// Name an object or a range of commands for the host's debugging tools. "vkrope " goes before the name.
void nameObject(const RopeContext& context, VkObjectType type, uint64_t handle, const char* what);
void labelRange(VkCommandBuffer command_buffer, const RopeContext& context, const char* what); // null ends the range

// Records every dispatch of a plan. Each dispatch is bound here and carried out by launch(index, dispatch).
template <typename Launch>
RopeResult recordPlan(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                      const RopeBuffers* buffers, Launch launch) {
    const RopeResult result = checkRecording(context, plan, buffers, /* prepared= */ true);
    if (result != ROPE_SUCCESS) return result;
    labelRange(command_buffer, *context, plan->passes[0].shader->name);
    const uint32_t count = ropeDispatchCount(plan);
    for (uint32_t i = 0; i < count; ++i) {
        RopeDispatch dispatch;
        ropeGetDispatch(plan, i, &dispatch);
        bindDispatch(command_buffer, *context, *buffers, i, dispatch);
        launch(i, dispatch);
    }
    labelRange(command_buffer, *context, nullptr);
    return result;
}

} // namespace rope
