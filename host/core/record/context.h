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

struct RopeContext : RopeContextInfo { // every default of its limits is filled in
    rope::ContextFunctions vk;
    std::atomic<rope::PipelineNode*> pipelines[rope::kPipelineLists];
    bool pushes_descriptors; // descriptors are pushed; otherwise the host has sets allocated
    RopeRounding rounding;
};

namespace rope {

// The names that the host's debugging tools show. A name that is too long is cut.
constexpr char kName[] = "vkrope %s";
constexpr size_t kNameBytes = 48;

// Refuses a plan of another version, or of limits beyond the context's. The sentence names the plan by `number`.
RopeResult checkPlan(const RopeContext& context, const RopePlan& plan, uint32_t number, RopeReason* reason);
// Returns the pipeline of a pass, or null if none is prepared.
const PipelineNode* findPipeline(const RopeContext& context, const PlanPass& pass);

inline VkDescriptorType descriptorType(uint32_t binding) {
    return binding == ROPE_BINDING_UNIFORM ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

} // namespace rope
