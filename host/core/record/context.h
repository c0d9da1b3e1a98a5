// The context is shared by its creation and by recording.
#pragma once

#include "plan/pass.h"

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

struct ContextFunctions {
#define ROPE_DECLARE(name) PFN_vk##name name;
    ROPE_FUNCTIONS(ROPE_DECLARE)
    ROPE_OPTIONAL_FUNCTIONS(ROPE_DECLARE)
#undef ROPE_DECLARE
};

// A pipeline with its layouts, which have just the bindings of its pass. It is a node of a list that only grows, which
// one thread can read while another adds.
struct PipelineNode {
    PipelineNode* next;
    const RopeShader* shader;
    uint32_t constants[ROPE_CONSTANT_COUNT];
    uint32_t bindings; // bit i stands for binding i
    uint32_t hash;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
};
constexpr uint32_t kPipelineLists = 64; // a pipeline's hash tells its list

} // namespace rope

struct RopeContext {
    rope::ContextFunctions vk;
    VkDevice device;
    VkPipelineCache cache;
    const VkAllocationCallbacks* allocator;
    std::atomic<rope::PipelineNode*> pipelines[rope::kPipelineLists];
    bool pushes_descriptors; // descriptors are pushed; otherwise the host has sets allocated
    RopeLimits limits;       // every default is filled in
    RopeRounding rounding;
};

namespace rope {

// Returns the pipeline of a pass, or null if none is prepared.
const PipelineNode* findPipeline(const RopeContext& context, const RopePass& pass);

inline VkDescriptorType descriptorType(uint32_t binding) {
    return binding == ROPE_BINDING_UNIFORM ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

// Refuses a plan of another version, or of limits beyond the context's. The sentence names the plan by `number`.
RopeResult checkPlan(const RopeContext& context, const RopePlan& plan, uint32_t number, RopeReason* reason);

// The pipelines of a plan's passes.
struct PlanPipelines {
    const PipelineNode* of_pass[ROPE_MAX_PASSES];
};
// Refuses plans and buffers that cannot be recorded, and finds the plan's pipelines. Descriptor sets are looked for
// only if `with_sets` is true: a caller that is about to make the sets has none yet.
RopeResult checkRecording(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers, bool with_sets,
                          PlanPipelines* pipelines);
// Records all of one dispatch but the dispatch itself.
void bindDispatch(VkCommandBuffer command_buffer, const RopeContext& context, const PipelineNode& pipeline,
                  const RopeBuffers& buffers, uint32_t index, const RopeDispatch& dispatch);

// Name an object or a range of commands for the host's debugging tools. "vkrope " goes before the name.
void nameObject(const RopeContext& context, VkObjectType type, uint64_t handle, const char* what);
void labelRange(VkCommandBuffer command_buffer, const RopeContext& context, const char* what); // null ends the range

// Records every dispatch of a plan. Each dispatch is bound here and carried out by launch(index, dispatch).
template <typename Launch>
RopeResult recordPlan(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                      const RopeBuffers* buffers, Launch launch) {
    PlanPipelines pipelines;
    const RopeResult result = checkRecording(context, plan, buffers, /* with_sets= */ true, &pipelines);
    if (result != ROPE_SUCCESS) return result;
    labelRange(command_buffer, *context, plan->passes[0].shader->name);
    uint32_t index = 0;
    for (uint32_t pass = 0; pass < plan->pass_count; ++pass) {
        for (uint32_t part = 0; part < plan->passes[pass].dispatches; ++part, ++index) {
            RopeDispatch dispatch;
            fillDispatch(plan->passes[pass], part, plan->limits.storage_alignment, &dispatch);
            bindDispatch(command_buffer, *context, *pipelines.of_pass[pass], *buffers, index, dispatch);
            launch(index, dispatch);
        }
    }
    labelRange(command_buffer, *context, nullptr);
    return result;
}

} // namespace rope
