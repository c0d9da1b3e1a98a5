// This file makes the context on a borrowed device, and its pipelines, which are made up front with a set layout and a
// pipeline layout of their own.
//
// To call a Vulkan function more: its name in the lists of context.h, and a row of the fake tables in
// tests/core/record/context_test.cpp and threads_test.cpp.
#include "record/context.h"
#include "plan/limits.h"
#include "rules/refuse.h"

#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace rope {
namespace {

void* allocateHostMemory(const VkAllocationCallbacks* allocator, size_t size) {
    if (allocator == nullptr) return malloc(size);
    return allocator->pfnAllocation(allocator->pUserData, size, alignof(max_align_t),
                                    VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
}

void freeHostMemory(const VkAllocationCallbacks* allocator, void* memory) {
    if (allocator == nullptr)
        free(memory);
    else if (memory != nullptr)
        allocator->pfnFree(allocator->pUserData, memory);
}

// Loads a function of the device. Returns false if the device has none of this name.
template <typename Function> bool loadFunction(const RopeContextInfo& info, const char* name, Function* function) {
    *function = reinterpret_cast<Function>(info.get_device_proc_addr(info.device, name));
    return *function != nullptr;
}

// Loads the functions that every device has, and the functions of enabled extensions. A pointer to a function that is
// not enabled proves nothing.
bool loadFunctions(const RopeContextInfo& info, ContextFunctions* f) {
    bool all = true;
#define ROPE_LOAD(name) all = loadFunction(info, "vk" #name, &f->name) && all;
    ROPE_FUNCTIONS(ROPE_LOAD)
#undef ROPE_LOAD
    if ((info.limits.enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) != 0) {
        const bool found = loadFunction(info, "vkCmdPushDescriptorSetKHR", &f->CmdPushDescriptorSetKHR) ||
                           loadFunction(info, "vkCmdPushDescriptorSet", &f->CmdPushDescriptorSetKHR); // Vulkan 1.4
        all = all && found;
    }
    if ((info.limits.enabled & ROPE_ENABLED_DEBUG_UTILS) != 0) {
        loadFunction(info, "vkSetDebugUtilsObjectNameEXT", &f->SetDebugUtilsObjectNameEXT);
        loadFunction(info, "vkCmdBeginDebugUtilsLabelEXT", &f->CmdBeginDebugUtilsLabelEXT);
        loadFunction(info, "vkCmdEndDebugUtilsLabelEXT", &f->CmdEndDebugUtilsLabelEXT);
    }
    return all;
}

// Makes the layouts of just the bindings that a dispatch has.
VkResult createLayouts(const RopeContext& c, const RopeDispatch& dispatch, PipelineNode* node) {
    VkDescriptorSetLayoutBinding bindings[ROPE_BINDING_COUNT] = {};
    VkDescriptorSetLayoutCreateInfo set = {};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    if (c.pushes_descriptors) set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
    set.pBindings = bindings;
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        if (dispatch.bindings[i].range == 0) continue;
        VkDescriptorSetLayoutBinding& binding = bindings[set.bindingCount++];
        binding.binding = i;
        binding.descriptorType = descriptorType(i);
        binding.descriptorCount = 1;
        binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    VkResult result = c.vk.CreateDescriptorSetLayout(c.device, &set, c.allocator, &node->set_layout);
    if (result != VK_SUCCESS) {
        node->set_layout = VK_NULL_HANDLE; // Vulkan leaves it undefined
        return result;
    }

    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(RopePush)};
    VkPipelineLayoutCreateInfo layout = {};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &node->set_layout;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
    result = c.vk.CreatePipelineLayout(c.device, &layout, c.allocator, &node->layout);
    if (result != VK_SUCCESS) node->layout = VK_NULL_HANDLE;
    return result;
}

// Creates the module of a shader with its constants folded in: some compilers keep code that a specialization constant
// rules out.
VkResult createShaderModule(const RopeContext& c, const RopeDispatch& dispatch, VkShaderModule* module) {
    uint32_t* words = static_cast<uint32_t*>(allocateHostMemory(c.allocator, dispatch.shader->bytes));
    if (words == nullptr) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkShaderModuleCreateInfo code = {};
    code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    code.codeSize = ropeSpecialize(&dispatch, words);
    code.pCode = words;
    const VkResult result = c.vk.CreateShaderModule(c.device, &code, c.allocator, module);
    freeHostMemory(c.allocator, words);
    return result;
}

// Tells a driver that no place needs a check of bounds: plans and shaders see to that.
void leaveOutChecks([[maybe_unused]] const RopeContext& c, [[maybe_unused]] VkComputePipelineCreateInfo* info) {
#ifdef VK_EXT_pipeline_robustness // older headers lack it, and then the checks stay
    static const VkPipelineRobustnessCreateInfoEXT kNoChecks = {
        VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT,
        nullptr,
        VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
        VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT,
        VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DEVICE_DEFAULT_EXT,
        VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_DEVICE_DEFAULT_EXT};
    if ((c.limits.enabled & ROPE_ENABLED_PIPELINE_ROBUSTNESS) != 0) info->pNext = &kNoChecks;
#endif
}

// Makes a pipeline and its layouts. The node has what was made before a failure.
VkResult createPipeline(const RopeContext& c, const RopeDispatch& dispatch, PipelineNode* node) {
    VkResult result = createLayouts(c, dispatch, node);
    if (result != VK_SUCCESS) return result;
    VkShaderModule module = VK_NULL_HANDLE;
    result = createShaderModule(c, dispatch, &module);
    if (result != VK_SUCCESS) return result;

    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = node->layout;
    leaveOutChecks(c, &info);
    result = c.vk.CreateComputePipelines(c.device, c.pipeline_cache, 1, &info, c.allocator, &node->pipeline);
    c.vk.DestroyShaderModule(c.device, module, c.allocator);
    return result;
}

void destroyPipeline(const RopeContext& c, PipelineNode* node) {
    c.vk.DestroyPipeline(c.device, node->pipeline, c.allocator);
    c.vk.DestroyPipelineLayout(c.device, node->layout, c.allocator);
    c.vk.DestroyDescriptorSetLayout(c.device, node->set_layout, c.allocator);
    freeHostMemory(c.allocator, node);
}

// Names a pipeline and its layouts for the host's debugging tools.
void namePipeline(const RopeContext& c, const PipelineNode& node) {
    if (c.vk.SetDebugUtilsObjectNameEXT == nullptr) return;
    char name[kNameBytes];
    snprintf(name, sizeof name, kName, node.shader->name);
    constexpr VkStructureType kType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
    const VkDebugUtilsObjectNameInfoEXT infos[] = {
        {kType, nullptr, VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, (uint64_t)node.set_layout, name},
        {kType, nullptr, VK_OBJECT_TYPE_PIPELINE_LAYOUT, (uint64_t)node.layout, name},
        {kType, nullptr, VK_OBJECT_TYPE_PIPELINE, (uint64_t)node.pipeline, name}};
    for (const VkDebugUtilsObjectNameInfoEXT& info : infos) c.vk.SetDebugUtilsObjectNameEXT(c.device, &info);
}

// The multiplications of the hash mix its upper bits best.
uint32_t listOf(uint32_t hash) { return hash / (UINT32_MAX / kPipelineLists + 1); }

// Makes the pipeline of a pass, unless the context has it already. All dispatches of a pass have one pipeline.
VkResult preparePass(RopeContext* c, const PlanPass& pass) {
    if (findPipeline(*c, pass) != nullptr) return VK_SUCCESS;
    void* memory = allocateHostMemory(c->allocator, sizeof(PipelineNode));
    if (memory == nullptr) return VK_ERROR_OUT_OF_HOST_MEMORY;
    PipelineNode* node = new (memory) PipelineNode();
    node->shader = pass.shader;
    memcpy(node->constants, pass.constants, sizeof node->constants);
    node->bindings = pass.bindings;
    node->hash = pass.pipeline_hash;
    RopeDispatch dispatch; // only which buffers it binds counts here, and not where they begin
    fillDispatch(pass, 0, c->limits.storage_alignment, &dispatch);
    const VkResult result = createPipeline(*c, dispatch, node);
    if (result != VK_SUCCESS) {
        destroyPipeline(*c, node);
        return result;
    }
    namePipeline(*c, *node);
    // Two threads may have made the same pipeline. Both pipelines stay until the context goes, and either serves.
    std::atomic<PipelineNode*>& list = c->pipelines[listOf(node->hash)];
    node->next = list.load(std::memory_order_relaxed);
    while (!list.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return VK_SUCCESS;
}

// A limit that a plan takes, and that the context has.
struct Compared {
    const char* name;
    uint64_t takes, has;
    bool fits;
};
static_assert(sizeof(RopeLimits) == 48, "a new limit is compared below, unless like threads it binds no plan");

} // namespace

RopeResult checkPlan(const RopeContext& context, const RopePlan& plan, uint32_t number, RopeReason* reason) {
    if (plan.version != ROPE_VERSION || plan.pass_count == 0) {
        const bool other = plan.version != ROPE_VERSION && plan.version != 0;
        return refuse(reason, other ? ROPE_ERROR_OTHER_VERSION : ROPE_ERROR_INVALID,
                      "plan %u has version %#x; it must be %#x, that of an accepted plan", number, plan.version,
                      ROPE_VERSION);
    }
    const RopeLimits &takes = plan.limits, &has = context.limits;
    const auto most = [](const char* name, uint64_t a, uint64_t b) { return Compared{name, a, b, a <= b}; };
    const Compared limits[] = {
        most("storage_range", takes.storage_range, has.storage_range),
        {"storage_alignment", takes.storage_alignment, has.storage_alignment,
         takes.storage_alignment >= has.storage_alignment},
        most("group_count[0]", takes.group_count[0], has.group_count[0]),
        most("group_count[1]", takes.group_count[1], has.group_count[1]),
        most("group_size", takes.group_size, has.group_size),
        {"enabled", takes.enabled, has.enabled, (takes.enabled & ~has.enabled) == 0},
        most("storage_buffers", takes.storage_buffers, has.storage_buffers),
        most("uniform_range", takes.uniform_range, has.uniform_range),
        most("shared_bytes", takes.shared_bytes, has.shared_bytes),
    };
    for (const Compared& limit : limits) {
        if (limit.fits) continue;
        return refuse(reason, ROPE_ERROR_OTHER_LIMITS,
                      "plan %u takes limits.%s of %llu, and the context has %llu; plan with the context's limits",
                      number, limit.name, static_cast<unsigned long long>(limit.takes),
                      static_cast<unsigned long long>(limit.has));
    }
    return ROPE_SUCCESS;
}

const PipelineNode* findPipeline(const RopeContext& context, const PlanPass& pass) {
    const PipelineNode* node = context.pipelines[listOf(pass.pipeline_hash)].load(std::memory_order_acquire);
    for (; node != nullptr; node = node->next)
        if (node->hash == pass.pipeline_hash && node->shader == pass.shader && node->bindings == pass.bindings &&
            memcmp(node->constants, pass.constants, sizeof node->constants) == 0)
            return node;
    return nullptr;
}

} // namespace rope

using namespace rope;

VkResult ropeCreateContext(const RopeContextInfo* info, RopeContext** context) {
    if (context == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
    *context = nullptr;
    if (info == nullptr || info->device == VK_NULL_HANDLE || info->get_device_proc_addr == nullptr)
        return VK_ERROR_INITIALIZATION_FAILED;
    void* memory = allocateHostMemory(info->allocator, sizeof(RopeContext));
    if (memory == nullptr) return VK_ERROR_OUT_OF_HOST_MEMORY;
    RopeContext* c = new (memory) RopeContext();
    static_cast<RopeContextInfo&>(*c) = *info;
    fillLimits(&c->limits);
    c->pushes_descriptors = (c->limits.enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) != 0;
    if (checkLimits(c->limits, nullptr) != ROPE_SUCCESS || !loadFunctions(*info, &c->vk)) {
        freeHostMemory(info->allocator, memory);
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    *context = c;
    return VK_SUCCESS;
}

void ropeDestroyContext(RopeContext* context) {
    if (context == nullptr) return;
    const RopeContext& c = *context;
    for (const std::atomic<PipelineNode*>& list : c.pipelines) {
        PipelineNode* node = list.load(std::memory_order_acquire);
        while (node != nullptr) {
            PipelineNode* next = node->next;
            destroyPipeline(c, node);
            node = next;
        }
    }
    freeHostMemory(c.allocator, context);
}

VkResult ropePrepare(RopeContext* context, const RopePlan* plans, uint32_t plan_count, RopeReason* reason) {
    clear(reason);
    if (context == nullptr || (plans == nullptr && plan_count != 0)) {
        refuseNull(reason, "context or plans");
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    for (uint32_t i = 0; i < plan_count; ++i) {
        const RopeResult refused = checkPlan(*context, plans[i], i, reason);
        if (refused == ROPE_ERROR_OTHER_LIMITS) return VK_ERROR_FEATURE_NOT_PRESENT;
        if (refused != ROPE_SUCCESS) return VK_ERROR_INITIALIZATION_FAILED;
        for (uint32_t p = 0; p < plans[i].pass_count; ++p) {
            const VkResult result = preparePass(context, passAt(plans[i], p));
            if (result == VK_SUCCESS) continue;
            refuse(reason, ROPE_ERROR_INVALID, "plan %u: the pipeline of %s could not be made, VkResult %d", i,
                   plans[i].passes[p].shader->name, static_cast<int>(result));
            return result;
        }
    }
    return VK_SUCCESS;
}

void ropeSetRounding(RopeContext* context, RopeRounding rounding) {
    if (context != nullptr) context->rounding = rounding;
}

RopeRounding ropeGetRounding(const RopeContext* context) {
    return context != nullptr ? context->rounding : ROPE_ROUNDING_UNKNOWN;
}
