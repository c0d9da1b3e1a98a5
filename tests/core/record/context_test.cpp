// The context as a guest on a borrowed device: what it calls, what it leaves behind when a call fails, what it refuses.
#include "plan/pass.h"
#include "support/floor.hpp"
#include "support/gpu.hpp"
#include "support/sample.hpp"

#include "shaders/interface.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>

namespace {

// The real device's functions, logged, the n-th creating call made to fail.
struct Wire {
    const rope::VulkanFunctions* vk = nullptr;
    VkDevice device = VK_NULL_HANDLE;
    std::vector<std::string> log;
    int fail_at = -1; // counts creating calls; -1: none fails
    int creating = 0;
    int alive = 0; // objects made and not destroyed
    VkResult failure = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    bool allocates = true; // the driver, by the host's callbacks
    bool named = true;     // whether functions of debug utils can be had
    bool named_below = true;
    std::vector<std::string> names, asked;
#ifdef VK_EXT_pipeline_robustness
    VkPipelineRobustnessCreateInfoEXT robustness = {}; // of the last pipeline; of no type if it had none
#endif
    std::vector<VkPipeline> bound;

    const VkAllocationCallbacks* allocator(const VkAllocationCallbacks* a) const { return allocates ? a : nullptr; }

    bool fails() { return creating++ == fail_at; }
} wire;

VkResult made(VkResult result) {
    if (result == VK_SUCCESS) ++wire.alive;
    return result;
}

// Vulkan leaves the handle undefined where a creation fails.
template <typename Handle> VkResult failed(Handle* handle) {
    std::memset(handle, 0xDE, sizeof *handle);
    return wire.failure;
}

// NOLINTBEGIN(bugprone-macro-parentheses): types stand without
#define CREATE(Name, Info, Handle)                                                                                     \
    VKAPI_ATTR VkResult VKAPI_CALL create##Name(VkDevice d, const Info* info, const VkAllocationCallbacks* a,          \
                                                Handle* h) {                                                           \
        wire.log.emplace_back("vkCreate" #Name);                                                                       \
        return wire.fails() ? failed(h) : made(wire.vk->Create##Name(d, info, wire.allocator(a), h));                  \
    }                                                                                                                  \
    VKAPI_ATTR void VKAPI_CALL destroy##Name(VkDevice d, Handle h, const VkAllocationCallbacks* a) {                   \
        if (h != VK_NULL_HANDLE) --wire.alive;                                                                         \
        wire.vk->Destroy##Name(d, h, wire.allocator(a));                                                               \
    }
// NOLINTEND(bugprone-macro-parentheses)
CREATE(DescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)
CREATE(PipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)
CREATE(ShaderModule, VkShaderModuleCreateInfo, VkShaderModule)
#undef CREATE

VKAPI_ATTR VkResult VKAPI_CALL createPipelines(VkDevice d, VkPipelineCache c, uint32_t n,
                                               const VkComputePipelineCreateInfo* i, const VkAllocationCallbacks* a,
                                               VkPipeline* p) {
    wire.log.emplace_back("vkCreateComputePipelines");
#ifdef VK_EXT_pipeline_robustness
    wire.robustness = {};
    if (i->pNext != nullptr) wire.robustness = *static_cast<const VkPipelineRobustnessCreateInfoEXT*>(i->pNext);
#endif
    return wire.fails() ? wire.failure : made(wire.vk->CreateComputePipelines(d, c, n, i, wire.allocator(a), p));
}
VKAPI_ATTR void VKAPI_CALL destroyPipeline(VkDevice d, VkPipeline p, const VkAllocationCallbacks* a) {
    if (p != VK_NULL_HANDLE) --wire.alive;
    wire.vk->DestroyPipeline(d, p, wire.allocator(a));
}
VKAPI_ATTR VkResult VKAPI_CALL allocateSets(VkDevice d, const VkDescriptorSetAllocateInfo* info,
                                            VkDescriptorSet* sets) {
    return wire.fails() ? wire.failure : wire.vk->AllocateDescriptorSets(d, info, sets);
}
VKAPI_ATTR void VKAPI_CALL bindPipeline(VkCommandBuffer, VkPipelineBindPoint, VkPipeline pipeline) {
    wire.bound.push_back(pipeline);
    wire.log.emplace_back("vkCmdBindPipeline");
}
VKAPI_ATTR void VKAPI_CALL bindSets(VkCommandBuffer, VkPipelineBindPoint, VkPipelineLayout, uint32_t, uint32_t,
                                    const VkDescriptorSet*, uint32_t, const uint32_t*) {
    wire.log.emplace_back("vkCmdBindDescriptorSets");
}
VKAPI_ATTR void VKAPI_CALL pushSet(VkCommandBuffer, VkPipelineBindPoint, VkPipelineLayout, uint32_t, uint32_t,
                                   const VkWriteDescriptorSet*) {
    wire.log.emplace_back("vkCmdPushDescriptorSetKHR");
}
VKAPI_ATTR void VKAPI_CALL pushConstants(VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags, uint32_t, uint32_t size,
                                         const void*) {
    wire.log.push_back("vkCmdPushConstants " + std::to_string(size));
}
VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer, uint32_t, uint32_t, uint32_t) {
    wire.log.emplace_back("vkCmdDispatch");
}

VKAPI_ATTR VkResult VKAPI_CALL nameObject(VkDevice d, const VkDebugUtilsObjectNameInfoEXT* info) {
    wire.names.emplace_back(info->pObjectName);
    if (!wire.named_below) return VK_SUCCESS;
    const auto real = reinterpret_cast<PFN_vkSetDebugUtilsObjectNameEXT>(
        wire.vk->GetDeviceProcAddr(d, "vkSetDebugUtilsObjectNameEXT"));
    return real == nullptr ? VK_SUCCESS : real(d, info); // the layer looks at type and handle; the floor has none
}
VKAPI_ATTR void VKAPI_CALL beginLabel(VkCommandBuffer, const VkDebugUtilsLabelEXT* label) {
    wire.log.push_back(std::string("vkCmdBeginDebugUtilsLabelEXT ") + label->pLabelName);
}
VKAPI_ATTR void VKAPI_CALL endLabel(VkCommandBuffer) { wire.log.emplace_back("vkCmdEndDebugUtilsLabelEXT"); }

template <typename Function> PFN_vkVoidFunction untyped(Function function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL wiredProcAddr(VkDevice device, const char* name) {
    static const std::map<std::string, PFN_vkVoidFunction> kWired = {
        {"vkCreateDescriptorSetLayout", untyped(createDescriptorSetLayout)},
        {"vkDestroyDescriptorSetLayout", untyped(destroyDescriptorSetLayout)},
        {"vkCreatePipelineLayout", untyped(createPipelineLayout)},
        {"vkDestroyPipelineLayout", untyped(destroyPipelineLayout)},
        {"vkCreateShaderModule", untyped(createShaderModule)},
        {"vkDestroyShaderModule", untyped(destroyShaderModule)},
        {"vkCreateComputePipelines", untyped(createPipelines)},
        {"vkDestroyPipeline", untyped(destroyPipeline)},
        {"vkAllocateDescriptorSets", untyped(allocateSets)},
        {"vkCmdBindPipeline", untyped(bindPipeline)},
        {"vkCmdBindDescriptorSets", untyped(bindSets)},
        {"vkCmdPushDescriptorSetKHR", untyped(pushSet)},
        {"vkCmdPushConstants", untyped(pushConstants)},
        {"vkCmdDispatch", untyped(dispatch)},
        {"vkSetDebugUtilsObjectNameEXT", untyped(nameObject)},
        {"vkCmdBeginDebugUtilsLabelEXT", untyped(beginLabel)},
        {"vkCmdEndDebugUtilsLabelEXT", untyped(endLabel)}};
    wire.asked.emplace_back(name);
    if (!wire.named && std::strstr(name, "DebugUtils") != nullptr) return nullptr;
    const auto found = kWired.find(name);
    return found != kWired.end() ? found->second : wire.vk->GetDeviceProcAddr(device, name);
}

// Host memory that can run out at the n-th allocation, and is counted. Blocks carry their own size, so that the driver,
// which gets the same callbacks, may resize them.
struct Host {
    int allocations = 0, alive = 0, fail_at = -1;
};
constexpr size_t kHeader = 64;

void VKAPI_PTR hostFree(void* user, void* memory) {
    if (memory == nullptr) return;
    --static_cast<Host*>(user)->alive;
    ::operator delete(static_cast<char*>(memory) - kHeader, std::align_val_t(kHeader));
}
void* VKAPI_PTR hostAllocate(void* user, size_t size, size_t alignment, VkSystemAllocationScope) {
    Host* host = static_cast<Host*>(user);
    if (alignment > kHeader || host->allocations++ == host->fail_at) return nullptr;
    ++host->alive;
    char* memory = static_cast<char*>(::operator new(size + kHeader, std::align_val_t(kHeader)));
    std::memcpy(memory, &size, sizeof size);
    return memory + kHeader;
}
void* VKAPI_PTR hostReallocate(void* user, void* old, size_t size, size_t alignment, VkSystemAllocationScope scope) {
    void* memory = size != 0 ? hostAllocate(user, size, alignment, scope) : nullptr;
    if (old == nullptr || (memory == nullptr && size != 0)) return memory;
    size_t old_size;
    std::memcpy(&old_size, static_cast<char*>(old) - kHeader, sizeof old_size);
    if (memory != nullptr) std::memcpy(memory, old, old_size < size ? old_size : size);
    hostFree(user, old);
    return memory;
}

struct Plans {
    std::vector<double> frequencies = sample::frequencies(10000, 64);
    RopePlan plans[3];

    explicit Plans(const RopeLimits& limits) {
        RopeTableDescription table = {};
        table.frequencies = {frequencies.data(), 32, 1, nullptr, 1};
        table.tokens = 10;
        ropePlanTable(&table, &limits, &plans[0]);
        RopeRotateDescription rotate = {};
        rotate.rotation.frequencies = table.frequencies;
        rotate.tokens = 10;
        rotate.head_dim = 64;
        rotate.q.heads = 4;
        rotate.k.heads = 2;
        rotate.rotation.source = ROPE_SOURCE_TABLE;
        rotate.rotation.rows.count = 10;
        rotate.count_outside = 1;
        ropePlanRotate(&rotate, &limits, &plans[1]);
        rotate.rotation.source = ROPE_SOURCE_INLINE;
        rotate.rotation.operation = ROPE_OPERATION_TRANSPOSE;
        ropePlanRotate(&rotate, &limits, &plans[2]);
    }
};

RopeBuffers someBuffers() {
    RopeBuffers buffers = {};
    for (RopeBuffer& slot : buffers.slots) slot.buffer = reinterpret_cast<VkBuffer>(uintptr_t{1});
    return buffers;
}

class Context : public gpu::OnDevice {
  protected:
    void SetUp() override {
        OnDevice::SetUp();
        if (IsSkipped()) return;
        wire = Wire();
        wire.vk = &device().vk();
        wire.device = device().handle();
        wire.named_below = (device().limits().enabled & ROPE_ENABLED_DEBUG_UTILS) != 0;
        info_.device = device().handle();
        info_.get_device_proc_addr = wiredProcAddr;
        info_.limits = device().limits();
        info_.limits.enabled |= ROPE_ENABLED_DEBUG_UTILS;
    }
    bool asked(const char* piece) const {
        for (const std::string& name : wire.asked) {
            if (name.find(piece) != std::string::npos) return true;
        }
        return false;
    }
    VkResult createAndPrepare(const Plans& plans) {
        RopeContext* context = nullptr;
        VkResult result = ropeCreateContext(&info_, &context);
        EXPECT_EQ(result == VK_SUCCESS, context != nullptr);
        if (result == VK_SUCCESS) result = ropePrepare(context, plans.plans, 3, nullptr);
        ropeDestroyContext(context);
        return result;
    }
    RopeContextInfo info_ = {};
};

TEST_P(Context, LeavesNothingBehindWhicheverCreationFails) {
    const Plans plans(info_.limits);
    ASSERT_EQ(createAndPrepare(plans), VK_SUCCESS);
    const int calls = wire.creating;
    ASSERT_GE(calls, 4 * 4); // two layouts, a module and a pipeline for each different pass
    for (int n = 0; n < calls; ++n) {
        for (VkResult failure : {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST}) {
            wire.creating = 0;
            wire.fail_at = n;
            wire.failure = failure;
            EXPECT_EQ(createAndPrepare(plans), failure) << n;
            EXPECT_EQ(wire.alive, 0) << n;
        }
    }
}

TEST_P(Context, CanGoOnAfterAFailedPrepare) {
    const Plans plans(info_.limits);
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    wire.creating = 0;
    wire.fail_at = 7;
    RopeReason reason;
    EXPECT_EQ(ropePrepare(context, plans.plans, 3, &reason), VK_ERROR_OUT_OF_DEVICE_MEMORY);
    EXPECT_STREQ(reason.text, "plan 1: the pipeline of rotate_wide could not be made, VkResult -2");
    EXPECT_EQ(ropePrepare(context, plans.plans, 3, &reason), VK_SUCCESS);
    EXPECT_STREQ(reason.text, "");
    const size_t calls = wire.log.size();
    EXPECT_EQ(ropePrepare(context, plans.plans, 3, nullptr), VK_SUCCESS);
    EXPECT_EQ(wire.log.size(), calls) << "nothing is made twice";
    ropeDestroyContext(context);
    EXPECT_EQ(wire.alive, 0);
}

TEST_P(Context, UsesTheHostsAllocatorAndSurvivesItsEnd) {
    const Plans plans(info_.limits);
    Host host;
    const VkAllocationCallbacks callbacks = {&host, hostAllocate, hostReallocate, hostFree, nullptr, nullptr};
    info_.allocator = &callbacks;
    ASSERT_EQ(createAndPrepare(plans), VK_SUCCESS);
    EXPECT_GT(host.allocations, 1);
    EXPECT_EQ(host.alive, 0);
    wire.allocates = false; // what drivers do without memory is not vkrope's
    host.allocations = 0;
    ASSERT_EQ(createAndPrepare(plans), VK_SUCCESS);
    const int allocations = host.allocations;
    ASSERT_GE(allocations, 1 + 2 * 4); // the context, then the words and the node of each different pass
    for (int n = 0; n < allocations; ++n) {
        host.allocations = 0;
        host.fail_at = n;
        EXPECT_EQ(createAndPrepare(plans), VK_ERROR_OUT_OF_HOST_MEMORY) << n;
        EXPECT_EQ(host.alive, 0) << n;
        EXPECT_EQ(wire.alive, 0) << n;
    }
    RopeContext* context = nullptr; // Vulkan refuses nothing here
    host.fail_at = -1;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    host.fail_at = host.allocations;
    RopeReason reason;
    EXPECT_EQ(ropePrepare(context, plans.plans, 1, &reason), VK_ERROR_OUT_OF_HOST_MEMORY);
    EXPECT_NE(std::string(reason.text).find(" could not be made, VkResult -1"), std::string::npos) << reason.text;
    ropeDestroyContext(context);
    EXPECT_EQ(host.alive, 0);
}

TEST_P(Context, HandsOnThatAPoolIsEmptyAndCanGoOn) {
    if (device().limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) GTEST_SKIP() << "needs no sets";
    const Plans plans(info_.limits);
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    rope::Buffer buffer;
    std::string error;
    ASSERT_TRUE(device().makeBuffer(65536, &buffer, &error)) << error;
    ASSERT_EQ(ropePrepare(context, plans.plans, 3, nullptr), VK_SUCCESS);
    RopeBuffers buffers = {};
    for (RopeBuffer& slot : buffers.slots) slot = buffer.slot();
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 6 * 12},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 12}};
    const VkDescriptorPoolCreateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 12, 2, sizes};
    VkDescriptorPool pool = VK_NULL_HANDLE;
    ASSERT_EQ(device().vk().CreateDescriptorPool(device().handle(), &info, nullptr, &pool), VK_SUCCESS);
    wire.failure = VK_ERROR_OUT_OF_POOL_MEMORY;
    VkDescriptorSet sets[3] = {};
    for (int n = 0; n < 3; ++n) { // a plan of two dispatches
        wire.creating = 0;
        wire.fail_at = n;
        EXPECT_EQ(ropeAllocateSets(context, &plans.plans[1], &buffers, pool, sets), n < 2 ? wire.failure : VK_SUCCESS);
    }
    device().vk().DestroyDescriptorPool(device().handle(), pool, nullptr);
    ropeDestroyContext(context);
}

// A host that hands its driver an unchecked file: Vulkan has drivers start an empty cache where the header is not
// theirs.
TEST_P(Context, PreparesWithAPipelineCacheThatBeganAsGarbage) {
    const auto make = reinterpret_cast<PFN_vkCreatePipelineCache>(
        device().vk().GetDeviceProcAddr(device().handle(), "vkCreatePipelineCache"));
    const auto destroy = reinterpret_cast<PFN_vkDestroyPipelineCache>(
        device().vk().GetDeviceProcAddr(device().handle(), "vkDestroyPipelineCache"));
    const std::vector<uint32_t> garbage(1000, 0xDEADBEEF);
    const VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, nullptr, 0,
                                            garbage.size() * 4, garbage.data()};
    ASSERT_EQ(make(device().handle(), &info, nullptr, &info_.pipeline_cache), VK_SUCCESS);
    EXPECT_EQ(createAndPrepare(Plans(info_.limits)), VK_SUCCESS);
    destroy(device().handle(), info_.pipeline_cache, nullptr);
}

TEST_P(Context, NamesItsObjectsWhereDebugUtilsAreEnabled) {
    const Plans plans(info_.limits);
    ASSERT_EQ(createAndPrepare(plans), VK_SUCCESS);
    std::vector<std::string> wanted; // two layouts and a pipeline of each different pass
    for (const char* name : {"vkrope table", "vkrope rotate_wide", "vkrope count", "vkrope rotate_wide"})
        wanted.insert(wanted.end(), 3, name);
    EXPECT_EQ(wire.names, wanted);
    wire.names.clear();
    wire.named = false;
    ASSERT_EQ(createAndPrepare(plans), VK_SUCCESS);
    EXPECT_TRUE(wire.names.empty());
}

// The layer, for one, answers for functions of extensions that nobody enabled.
TEST_P(Context, AsksForNoFunctionOfWhatIsNotEnabled) {
    info_.limits.enabled &= ~(ROPE_ENABLED_DEBUG_UTILS | ROPE_ENABLED_PUSH_DESCRIPTORS);
    ASSERT_EQ(createAndPrepare(Plans(info_.limits)), VK_SUCCESS);
    EXPECT_TRUE(wire.names.empty());
    EXPECT_FALSE(asked("DebugUtils"));
    EXPECT_FALSE(asked("PushDescriptor"));
    EXPECT_TRUE(asked("vkCmdDispatch"));
}

#ifdef VK_EXT_pipeline_robustness
TEST_P(Context, LeavesChecksOfBoundsOutOnlyWhereTheFeatureIsEnabled) {
    const bool enabled = (info_.limits.enabled & ROPE_ENABLED_PIPELINE_ROBUSTNESS) != 0;
    ASSERT_EQ(createAndPrepare(Plans(info_.limits)), VK_SUCCESS);
    const bool has_extension = device().info().name.find("SwiftShader") != std::string::npos && !gpu::floorAsked();
    EXPECT_TRUE(enabled || !has_extension);
    if (enabled) {
        EXPECT_EQ(wire.robustness.sType, VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT);
        EXPECT_EQ(wire.robustness.storageBuffers, VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT);
        EXPECT_EQ(wire.robustness.uniformBuffers, VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT);
    }
    info_.limits.enabled &= ~ROPE_ENABLED_PIPELINE_ROBUSTNESS;
    ASSERT_EQ(createAndPrepare(Plans(info_.limits)), VK_SUCCESS);
    EXPECT_EQ(wire.robustness.sType, VkStructureType{}) << "nothing is chained";
}
#endif

TEST_P(Context, PushesByTheNameOfVulkan14WhereThatAloneIsThere) {
    if ((info_.limits.enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) == 0) GTEST_SKIP() << "the device does not push";
    const Plans plans(info_.limits);
    info_.get_device_proc_addr = [](VkDevice device, const char* name) VKAPI_ATTR -> PFN_vkVoidFunction {
        if (std::strcmp(name, "vkCmdPushDescriptorSet") == 0)
            name = "vkCmdPushDescriptorSetKHR";
        else if (std::strcmp(name, "vkCmdPushDescriptorSetKHR") == 0)
            return nullptr;
        return wiredProcAddr(device, name);
    };
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    ASSERT_EQ(ropePrepare(context, plans.plans, 3, nullptr), VK_SUCCESS);
    const RopeBuffers buffers = someBuffers();
    wire.log.clear();
    ASSERT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &plans.plans[0], &buffers), ROPE_SUCCESS);
    EXPECT_EQ(std::count(wire.log.begin(), wire.log.end(), "vkCmdPushDescriptorSetKHR"), 1);
    ropeDestroyContext(context);
    info_.get_device_proc_addr = [](VkDevice device, const char* name) VKAPI_ATTR -> PFN_vkVoidFunction {
        return std::strstr(name, "PushDescriptor") != nullptr ? nullptr : wiredProcAddr(device, name);
    };
    EXPECT_EQ(ropeCreateContext(&info_, &context), VK_ERROR_INITIALIZATION_FAILED);
}

TEST_P(Context, RecordsNoLabelWhereDebugUtilsAreNot) {
    info_.limits.enabled &= ~ROPE_ENABLED_DEBUG_UTILS;
    const Plans plans(info_.limits);
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    ASSERT_EQ(ropePrepare(context, plans.plans, 3, nullptr), VK_SUCCESS);
    const VkDescriptorSet sets[3] = {};
    RopeBuffers buffers = someBuffers();
    buffers.sets = sets;
    wire.log.clear();
    ASSERT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &plans.plans[1], &buffers), ROPE_SUCCESS);
    EXPECT_EQ(wire.log.size(), 2u * 4);
    ropeDestroyContext(context);
}

TEST_P(Context, RefusesADeviceThatLacksAFunction) {
    info_.get_device_proc_addr = [](VkDevice device, const char* name) VKAPI_ATTR -> PFN_vkVoidFunction {
        return std::strcmp(name, "vkCmdDispatch") == 0 ? nullptr : wiredProcAddr(device, name);
    };
    RopeContext* context = reinterpret_cast<RopeContext*>(1);
    EXPECT_EQ(ropeCreateContext(&info_, &context), VK_ERROR_INITIALIZATION_FAILED);
    EXPECT_EQ(context, nullptr);
}

TEST_P(Context, RecordsTheAnnouncedCallsAndNoOther) {
    const Plans plans(info_.limits);
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    ASSERT_EQ(ropePrepare(context, plans.plans, 3, nullptr), VK_SUCCESS);
    const VkDescriptorSet sets[3] = {};
    RopeBuffers buffers = someBuffers();
    buffers.sets = sets;
    wire.log.clear();
    ASSERT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &plans.plans[1], &buffers), ROPE_SUCCESS);
    std::vector<std::string> wanted = {"vkCmdBeginDebugUtilsLabelEXT vkrope rotate_wide"};
    for (int i = 0; i < 2; ++i) {
        wanted.emplace_back("vkCmdBindPipeline");
        wanted.emplace_back(info_.limits.enabled & ROPE_ENABLED_PUSH_DESCRIPTORS ? "vkCmdPushDescriptorSetKHR"
                                                                                 : "vkCmdBindDescriptorSets");
        wanted.emplace_back("vkCmdPushConstants 128");
        wanted.emplace_back("vkCmdDispatch");
    }
    wanted.emplace_back("vkCmdEndDebugUtilsLabelEXT");
    EXPECT_EQ(wire.log, wanted);
    ropeDestroyContext(context);
}

TEST_P(Context, RecordsNothingOfWhatIsNotReady) {
    const Plans plans(info_.limits);
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    const VkDescriptorSet sets[3] = {};
    RopeBuffers buffers = someBuffers();
    buffers.sets = sets;
    wire.log.clear();
    EXPECT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &plans.plans[1], &buffers), ROPE_ERROR_NOT_PREPARED);
    const RopePlan refused = {};
    EXPECT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &refused, &buffers), ROPE_ERROR_INVALID);
    ASSERT_EQ(ropePrepare(context, plans.plans, 3, nullptr), VK_SUCCESS);
    wire.log.clear();
    buffers.slots[ROPE_SLOT_K].buffer = VK_NULL_HANDLE;
    EXPECT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &plans.plans[1], &buffers), ROPE_ERROR_MISSING_BUFFER);
    buffers = someBuffers();
    const RopeResult without_sets =
        info_.limits.enabled & ROPE_ENABLED_PUSH_DESCRIPTORS ? ROPE_SUCCESS : ROPE_ERROR_MISSING_SETS;
    EXPECT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &plans.plans[1], &buffers), without_sets);
    EXPECT_EQ(wire.log.empty(), without_sets != ROPE_SUCCESS);
    ropeDestroyContext(context);
}

// One constant is another, or one binding; and the hashes are made alike, so that both lie in one list.
TEST_P(Context, TellsPipelinesApartThatHaveOneHash) {
    const Plans made(info_.limits);
    RopePlan plans[3] = {made.plans[2], made.plans[2], made.plans[2]};
    for (RopePlan& plan : plans) plan.pass_count = 1;
    rope::passAt(plans[1], 0).constants[ROPE_ID_BACKWARD] ^= 1;
    rope::passAt(plans[2], 0).access[ROPE_BINDING_POSITIONS].extent = 0;
    rope::passAt(plans[2], 0).bindings &= ~(1u << ROPE_BINDING_POSITIONS);
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    const VkDescriptorSet sets[1] = {};
    RopeBuffers buffers = someBuffers();
    buffers.sets = sets;
    for (const RopePlan& plan : plans) {
        EXPECT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &plan, &buffers), ROPE_ERROR_NOT_PREPARED);
        ASSERT_EQ(ropePrepare(context, &plan, 1, nullptr), VK_SUCCESS);
    }
    for (const RopePlan& plan : plans)
        ASSERT_EQ(ropeCmdExecute(VK_NULL_HANDLE, context, &plan, &buffers), ROPE_SUCCESS);
    ASSERT_EQ(wire.bound.size(), 3u);
    EXPECT_NE(wire.bound[0], wire.bound[1]);
    EXPECT_NE(wire.bound[0], wire.bound[2]);
    EXPECT_NE(wire.bound[1], wire.bound[2]);
    ropeDestroyContext(context);
    EXPECT_EQ(wire.alive, 0);
}

TEST_P(Context, RefusesToPrepareWhatItsDeviceLacks) {
    RopeBiasDescription d = {};
    d.kind = ROPE_BIAS_ALIBI;
    d.heads = d.queries = 2;
    d.keys = 3;
    d.element = ROPE_ELEMENT_F16;
    RopeLimits limits = device().limits();
    limits.enabled |= ROPE_ENABLED_STORAGE_16;
    RopePlan plan;
    ASSERT_EQ(ropePlanBias(&d, &limits, &plan), ROPE_SUCCESS) << plan.reason.text;
    info_.limits.enabled &= ~ROPE_ENABLED_STORAGE_16;
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    EXPECT_EQ(ropePrepare(context, &plan, 1, nullptr), VK_ERROR_FEATURE_NOT_PRESENT);
    ropeDestroyContext(context);
}

TEST_P(Context, PreparesFromSeveralThreadsAtOnce) {
    const Plans plans(info_.limits);
    info_.get_device_proc_addr = device().vk().GetDeviceProcAddr; // the log is not for threads
    info_.limits = device().limits();
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    std::vector<std::thread> threads;
    VkResult results[4];
    for (VkResult& result : results) {
        threads.emplace_back([&result, context, &plans] { result = ropePrepare(context, plans.plans, 3, nullptr); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const VkResult result : results) EXPECT_EQ(result, VK_SUCCESS);
    ropeDestroyContext(context);
}

TEST_P(Context, ReportsHowTheDeviceRounds) {
    EXPECT_EQ(ropeGetRounding(device().context()), ROPE_ROUNDING_NEAREST);
    RopeContext* context = nullptr;
    ASSERT_EQ(ropeCreateContext(&info_, &context), VK_SUCCESS);
    EXPECT_EQ(ropeGetRounding(context), ROPE_ROUNDING_UNKNOWN);
    ropeSetRounding(context, ROPE_ROUNDING_OTHER);
    EXPECT_EQ(ropeGetRounding(context), ROPE_ROUNDING_OTHER);
    ropeDestroyContext(context);
}

ROPE_ON_EVERY_DEVICE(Context);

TEST(Requirements, NameOnlyWhatTheDeviceOffers) {
    VkExtensionProperties available[2] = {{"VK_KHR_swapchain", 1}, {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, 1}};
    const char* names[ROPE_MAX_EXTENSIONS];
    EXPECT_EQ(ropeUsefulExtensions(available, 1, names), 0u);
    ASSERT_EQ(ropeUsefulExtensions(available, 2, names), 1u);
    EXPECT_STREQ(names[0], "VK_KHR_push_descriptor");
}

TEST(Requirements, GoFromNamesToBitsAndBack) {
    const VkExtensionProperties available[] = {{"VK_EXT_debug_utils", 2},
                                               {"VK_KHR_surface", 25},
                                               {"VK_KHR_push_descriptor", 2},
                                               {"VK_KHR_push_descriptor", 2}};
    const char* names[ROPE_MAX_EXTENSIONS];
    const uint32_t count = ropeUsefulExtensions(available, 4, names);
    ASSERT_EQ(count, 2u);
    const uint32_t both = ROPE_ENABLED_DEBUG_UTILS | ROPE_ENABLED_PUSH_DESCRIPTORS;
    EXPECT_EQ(ropeEnabledByExtensions(names, count), both);
    const char* const others[] = {"VK_KHR_surface", nullptr, "", "VK_KHR_push_descriptor"};
    EXPECT_EQ(ropeEnabledByExtensions(others, 3), 0u);
    EXPECT_EQ(ropeEnabledByExtensions(others, 4), ROPE_ENABLED_PUSH_DESCRIPTORS);
    EXPECT_EQ(ropeEnabledByExtensions(nullptr, 4), 0u);
    for (uint32_t bit = 1; bit != 0; bit <<= 1) {
        const char* const name = ropeExtensionName(bit);
        ASSERT_EQ(name != nullptr, (bit & both) != 0) << bit;
        EXPECT_EQ(ropeEnabledByExtensions(&name, 1), bit & both);
    }
    EXPECT_EQ(ropeExtensionName(both), nullptr);
}

TEST(Requirements, LimitsOfTheFloorAreVulkans) {
    RopeLimits limits;
    ropeMinimumLimits(&limits);
    EXPECT_EQ(limits.storage_range, 1u << 27);
    EXPECT_EQ(limits.storage_alignment, 256u);
    EXPECT_EQ(limits.group_count[0], 65535u);
    EXPECT_EQ(limits.group_size, 128u);
    EXPECT_EQ(limits.enabled, 0u);
}

} // namespace
