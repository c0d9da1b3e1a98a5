// To cut off a thing more: a row of ROPE_CUTS in cut.hpp, and what this file does for it. tests/gpu/lacking_test.cpp
// takes every row.
#include "cut.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace gpu {
namespace {

constexpr VkDeviceSize kAtom = 256;
constexpr VkDeviceSize kSmallAllocation = 1u << 20;
constexpr uint32_t kFamiliesBefore = 2;
constexpr char kPortabilitySubset[] = "VK_KHR_portability_subset";

// These are the loader's own functions, which find the device by the handle that they are given; one table serves all
// devices.
#define CUT_DEVICE_FUNCTIONS(X)                                                                                        \
    X(GetDeviceQueue)                                                                                                  \
    X(CreateCommandPool)                                                                                               \
    X(AllocateMemory)                                                                                                  \
    X(FreeMemory)                                                                                                      \
    X(MapMemory)                                                                                                       \
    X(FlushMappedMemoryRanges)                                                                                         \
    X(InvalidateMappedMemoryRanges)                                                                                    \
    X(WaitForFences)

#define CUT_INSTANCE_FUNCTIONS(X)                                                                                      \
    X(EnumeratePhysicalDevices)                                                                                        \
    X(GetPhysicalDeviceProperties)                                                                                     \
    X(GetPhysicalDeviceProperties2)                                                                                    \
    X(GetPhysicalDeviceFeatures2)                                                                                      \
    X(GetPhysicalDeviceMemoryProperties)                                                                               \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                                          \
    X(EnumerateDeviceExtensionProperties)                                                                              \
    X(CreateDevice)                                                                                                    \
    X(GetDeviceProcAddr)

#define CUT_GLOBAL_FUNCTIONS(X) X(CreateInstance)

// The host sees mapped memory itself, or a copy that changes when it is told to.
struct Mapping {
    VkDeviceSize bytes = 0;
    char* real = nullptr;
    std::vector<char> seen;
};

struct Driver {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define CUT_MEMBER(name) PFN_vk##name name = nullptr;
    CUT_DEVICE_FUNCTIONS(CUT_MEMBER)
    CUT_INSTANCE_FUNCTIONS(CUT_MEMBER)
    CUT_GLOBAL_FUNCTIONS(CUT_MEMBER)
#undef CUT_MEMBER
    uint32_t cuts = 0;
    bool enumerates_portability = false; // the instance was asked to
    std::map<VkDeviceMemory, Mapping> mappings;
} driver;

rope::Messages broken_rules;

bool isCut(uint32_t cut) { return (driver.cuts & cut) != 0; }

void demand(bool right, const std::string& what) {
    if (!right) broken_rules.add(what);
}

// ---- What the device shows

void cutLimits(VkPhysicalDeviceLimits* limits) {
    if (isCut(kGroupsOf128 | kGroupsOf256)) {
        const uint32_t most = isCut(kGroupsOf128) ? 128 : 256;
        limits->maxComputeWorkGroupInvocations = std::min(limits->maxComputeWorkGroupInvocations, most);
        for (const uint32_t axis : {0u, 1u, 2u}) {
            limits->maxComputeWorkGroupSize[axis] =
                std::min(limits->maxComputeWorkGroupSize[axis], axis < 2 ? most : 64);
            limits->maxComputeWorkGroupCount[axis] = 65535;
        }
    }
    if (isCut(kLeastShared)) limits->maxComputeSharedMemorySize = 16384;
    if (isCut(kLeastBindings)) {
        limits->maxPerStageDescriptorStorageBuffers = 4;
        limits->maxDescriptorSetStorageBuffers = 24;
        limits->maxStorageBufferRange = 1u << 27;
        limits->maxUniformBufferRange = 16384;
        limits->maxPushConstantsSize = 128;
        limits->minStorageBufferOffsetAlignment = limits->minUniformBufferOffsetAlignment = 256;
    }
    if (isCut(kFiveBuffers))
        limits->maxPerStageDescriptorStorageBuffers = std::min(limits->maxPerStageDescriptorStorageBuffers, 5u);
    if (isCut(kNotCoherent)) limits->nonCoherentAtomSize = kAtom;
    if (isCut(kNoTimestampPeriod)) limits->timestampPeriod = 0;
    if (isCut(kNoTimestamps)) limits->timestampComputeAndGraphics = VK_FALSE;
}

void cutProperties(VkPhysicalDeviceProperties* properties) {
    if (isCut(kVulkan10)) properties->apiVersion = VK_MAKE_VERSION(1, 0, 82);
    if (isCut(kDiscrete)) properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    cutLimits(&properties->limits);
}

VKAPI_ATTR void VKAPI_CALL cutGetPhysicalDeviceProperties(VkPhysicalDevice device,
                                                          VkPhysicalDeviceProperties* properties) {
    driver.GetPhysicalDeviceProperties(device, properties);
    cutProperties(properties);
}

VKAPI_ATTR void VKAPI_CALL cutGetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                                           VkPhysicalDeviceProperties2* properties) {
    demand(!isCut(kVulkan10), "a device of Vulkan 1.0 is asked for properties by a function of 1.1");
    driver.GetPhysicalDeviceProperties2(device, properties);
    cutProperties(&properties->properties);
    for (auto* next = static_cast<VkBaseOutStructure*>(properties->pNext); next != nullptr; next = next->pNext) {
        if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES || !isCut(kSmallAllocations))
            continue;
        reinterpret_cast<VkPhysicalDeviceMaintenance3Properties*>(next)->maxMemoryAllocationSize = kSmallAllocation;
    }
}

VKAPI_ATTR void VKAPI_CALL cutGetPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
    demand(!isCut(kVulkan10), "a device of Vulkan 1.0 is asked for features by a function of 1.1");
    driver.GetPhysicalDeviceFeatures2(device, features);
    for (auto* next = static_cast<VkBaseOutStructure*>(features->pNext); next != nullptr; next = next->pNext) {
#ifdef VK_EXT_pipeline_robustness // pipelines keep the checks that this host enabled
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT && isCut(kRobust))
            reinterpret_cast<VkPhysicalDevicePipelineRobustnessFeaturesEXT*>(next)->pipelineRobustness = VK_FALSE;
#endif
        if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES || !isCut(kNoStorage16)) continue;
        auto* storage = reinterpret_cast<VkPhysicalDevice16BitStorageFeatures*>(next);
        storage->storageBuffer16BitAccess = storage->uniformAndStorageBuffer16BitAccess = VK_FALSE;
    }
}

VKAPI_ATTR void VKAPI_CALL cutGetPhysicalDeviceMemoryProperties(VkPhysicalDevice device,
                                                                VkPhysicalDeviceMemoryProperties* properties) {
    driver.GetPhysicalDeviceMemoryProperties(device, properties);
    for (uint32_t i = 0; isCut(kNotCoherent) && i < properties->memoryTypeCount; ++i)
        properties->memoryTypes[i].propertyFlags &= ~VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_HOST_COHERENT_BIT};
}

// The driver's families, behind others that do not compute.
std::vector<VkQueueFamilyProperties> queueFamilies(VkPhysicalDevice device) {
    uint32_t count = 0;
    driver.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    driver.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    for (VkQueueFamilyProperties& family : families) {
        if (isCut(kNoTimestamps)) family.timestampValidBits = 0;
        if (isCut(kComputeFamily)) family.queueFlags = VK_QUEUE_COMPUTE_BIT;
        if (isCut(kNoCompute)) family.queueFlags = VK_QUEUE_TRANSFER_BIT;
    }
    if (!isCut(kComputeFamily)) return families;
    const VkQueueFlags others[kFamiliesBefore] = {VK_QUEUE_TRANSFER_BIT, VK_QUEUE_GRAPHICS_BIT};
    for (uint32_t i = 0; i < kFamiliesBefore; ++i) families.insert(families.begin() + i, {others[i], 1, 0, {1, 1, 1}});
    return families;
}

VKAPI_ATTR void VKAPI_CALL cutGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device, uint32_t* count,
                                                                     VkQueueFamilyProperties* families) {
    const std::vector<VkQueueFamilyProperties> all = queueFamilies(device);
    if (families != nullptr) std::copy_n(all.begin(), std::min<size_t>(*count, all.size()), families);
    *count = static_cast<uint32_t>(all.size());
}

// Lists one extension more, in the two calls in which lists are read.
VkResult listOneMore(VkResult result, const char* name, uint32_t room, uint32_t* count, VkExtensionProperties* all) {
    if (all == nullptr) {
        ++*count;
    } else if (*count < room) {
        std::snprintf(all[*count].extensionName, sizeof all[*count].extensionName, "%s", name);
        all[(*count)++].specVersion = 1;
    }
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL cutEnumerateDeviceExtensionProperties(VkPhysicalDevice device, const char* layer,
                                                                     uint32_t* count, VkExtensionProperties* all) {
    const uint32_t room = *count;
    VkResult result = VK_SUCCESS;
    if (isCut(kNoExtensions)) {
        *count = 0;
    } else {
        result = driver.EnumerateDeviceExtensionProperties(device, layer, count, all);
    }
    return isCut(kPortability) ? listOneMore(result, kPortabilitySubset, room, count, all) : result;
}

// ---- The instance, which hides a portability device from those that do not ask for it

bool loaderKnowsPortability() {
    const auto list = reinterpret_cast<PFN_vkEnumerateInstanceExtensionProperties>(
        driver.GetInstanceProcAddr(nullptr, "vkEnumerateInstanceExtensionProperties"));
    uint32_t count = 0;
    list(nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> all(count);
    list(nullptr, &count, all.data());
    return std::any_of(all.begin(), all.end(), [](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME) == 0;
    });
}

VKAPI_ATTR VkResult VKAPI_CALL cutCreateInstance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* a,
                                                 VkInstance* instance) {
    const char* const* const names = info->ppEnabledExtensionNames;
    const bool named = std::any_of(names, names + info->enabledExtensionCount, [](const char* name) {
        return std::strcmp(name, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME) == 0;
    });
    const bool asked = named && (info->flags & VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR) != 0;
    driver.enumerates_portability = asked || !loaderKnowsPortability();
    return driver.CreateInstance(info, a, instance);
}

VKAPI_ATTR VkResult VKAPI_CALL cutEnumeratePhysicalDevices(VkInstance instance, uint32_t* count,
                                                           VkPhysicalDevice* devices) {
    if (!isCut(kPortability) || driver.enumerates_portability)
        return driver.EnumeratePhysicalDevices(instance, count, devices);
    *count = 0;
    return VK_SUCCESS;
}

// ---- The device that is made

VKAPI_ATTR VkResult VKAPI_CALL cutCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                               const VkAllocationCallbacks* allocator, VkDevice* device) {
    VkDeviceCreateInfo made = *info;
    std::vector<const char*> names(info->ppEnabledExtensionNames,
                                   info->ppEnabledExtensionNames + info->enabledExtensionCount);
    const auto subset = std::find_if(names.begin(), names.end(),
                                     [](const char* name) { return std::strcmp(name, kPortabilitySubset) == 0; });
    if (isCut(kPortability)) {
        demand(subset != names.end(), "a portability device is made without VK_KHR_portability_subset");
        if (subset != names.end()) names.erase(subset);
    }
    VkDeviceQueueCreateInfo queue = *info->pQueueCreateInfos;
    if (isCut(kComputeFamily)) {
        demand(queue.queueFamilyIndex == kFamiliesBefore, "a queue is made that does not compute");
        queue.queueFamilyIndex = 0;
    }
    VkPhysicalDeviceFeatures robust = {};
    robust.robustBufferAccess = VK_TRUE;
    VkPhysicalDeviceRobustness2FeaturesEXT robust_2 = {};
    robust_2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT;
    robust_2.pNext = const_cast<void*>(info->pNext);
    robust_2.robustBufferAccess2 = VK_TRUE;
    uint32_t count = 0;
    driver.EnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> present(count);
    driver.EnumerateDeviceExtensionProperties(physical, nullptr, &count, present.data());
    const bool has_robust_2 = std::any_of(present.begin(), present.end(), [](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, VK_EXT_ROBUSTNESS_2_EXTENSION_NAME) == 0;
    });
    if (isCut(kRobust)) made.pEnabledFeatures = &robust;
    if (isCut(kRobust) && has_robust_2) {
        names.push_back(VK_EXT_ROBUSTNESS_2_EXTENSION_NAME);
        made.pNext = &robust_2;
    }
    made.pQueueCreateInfos = &queue;
    made.enabledExtensionCount = static_cast<uint32_t>(names.size());
    made.ppEnabledExtensionNames = names.data();
    return driver.CreateDevice(physical, &made, allocator, device);
}

VKAPI_ATTR void VKAPI_CALL cutGetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue* queue) {
    driver.GetDeviceQueue(device, isCut(kComputeFamily) ? family - kFamiliesBefore : family, index, queue);
}

VKAPI_ATTR VkResult VKAPI_CALL cutCreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo* info,
                                                    const VkAllocationCallbacks* allocator, VkCommandPool* pool) {
    VkCommandPoolCreateInfo made = *info;
    if (isCut(kComputeFamily)) made.queueFamilyIndex -= kFamiliesBefore;
    return driver.CreateCommandPool(device, &made, allocator, pool);
}

// ---- Memory

VKAPI_ATTR VkResult VKAPI_CALL cutAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                                 const VkAllocationCallbacks* allocator, VkDeviceMemory* memory) {
    demand(!isCut(kSmallAllocations) || info->allocationSize <= kSmallAllocation,
           std::to_string(info->allocationSize) + " bytes are allocated at once");
    const VkResult result = driver.AllocateMemory(device, info, allocator, memory);
    if (result == VK_SUCCESS) driver.mappings[*memory].bytes = info->allocationSize;
    return result;
}

VKAPI_ATTR void VKAPI_CALL cutFreeMemory(VkDevice device, VkDeviceMemory memory,
                                         const VkAllocationCallbacks* allocator) {
    driver.mappings.erase(memory);
    driver.FreeMemory(device, memory, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL cutMapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                            VkDeviceSize size, VkMemoryMapFlags flags, void** data) {
    const VkResult result = driver.MapMemory(device, memory, offset, size, flags, data);
    if (result != VK_SUCCESS) return result;
    Mapping& mapping = driver.mappings[memory];
    mapping.real = static_cast<char*>(*data) - offset;
    if (!isCut(kNotCoherent)) return result;
    mapping.seen.assign(mapping.bytes, '\xCD');
    *data = mapping.seen.data() + offset;
    return result;
}

// Moves whole atoms between what the host sees and what the device has.
void move(uint32_t count, const VkMappedMemoryRange* ranges, bool to_device) {
    for (uint32_t i = 0; i < count && isCut(kNotCoherent); ++i) {
        Mapping& mapping = driver.mappings[ranges[i].memory];
        const VkDeviceSize begin = ranges[i].offset;
        const VkDeviceSize end = ranges[i].size == VK_WHOLE_SIZE ? mapping.bytes : begin + ranges[i].size;
        const bool right =
            begin % kAtom == 0 && begin < end && end <= mapping.bytes && (end % kAtom == 0 || end == mapping.bytes);
        demand(right, "bytes " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
                          std::to_string(mapping.bytes) + " are no whole atoms");
        if (!right) continue;
        char* const real = mapping.real + begin;
        char* const seen = mapping.seen.data() + begin;
        std::memcpy(to_device ? real : seen, to_device ? seen : real, end - begin);
    }
}

VKAPI_ATTR VkResult VKAPI_CALL cutFlushMappedMemoryRanges(VkDevice, uint32_t count, const VkMappedMemoryRange* ranges) {
    move(count, ranges, true);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL cutInvalidateMappedMemoryRanges(VkDevice, uint32_t count,
                                                               const VkMappedMemoryRange* ranges) {
    move(count, ranges, false);
    return VK_SUCCESS;
}

// ---- The self-test's words, known by the numbers of conversions that it counts

void spoil(uint32_t* words) {
    constexpr uint32_t kWidened = 4 * 65536, kNarrowed = 829440;
    if (words[16] != kWidened || words[18] != kNarrowed) return;
    if (isCut(kFlushesHalves)) words[17] = 2 * 2 * 1023;
    if (isCut(kTruncatesHalves)) words[19] = kNarrowed / 4;
    if (isCut(kFusesFloats)) words[7] ^= 1; // a product and a sum
}

VKAPI_ATTR VkResult VKAPI_CALL cutWaitForFences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                                                uint64_t timeout) {
    const VkResult result = driver.WaitForFences(device, count, fences, all, timeout);
    for (auto& entry : driver.mappings) {
        if (entry.second.real != nullptr && entry.second.bytes >= 80)
            spoil(reinterpret_cast<uint32_t*>(entry.second.real));
    }
    return result;
}

// ---- The table

#define CUT_REPLACE(function)                                                                                          \
    if (std::strcmp(name, "vk" #function) == 0) return reinterpret_cast<PFN_vkVoidFunction>(cut##function);
#define CUT_LOAD(function)                                                                                             \
    driver.function = reinterpret_cast<PFN_vk##function>(driver.GetInstanceProcAddr(instance, "vk" #function));

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL cutGetDeviceProcAddr(VkDevice device, const char* name) {
    CUT_DEVICE_FUNCTIONS(CUT_REPLACE)
    CUT_REPLACE(GetDeviceProcAddr)
    return driver.GetDeviceProcAddr(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL cutGetInstanceProcAddr(VkInstance instance, const char* name) {
    if (instance == VK_NULL_HANDLE) {
        CUT_GLOBAL_FUNCTIONS(CUT_LOAD)
        CUT_GLOBAL_FUNCTIONS(CUT_REPLACE)
        return driver.GetInstanceProcAddr(instance, name);
    }
    if (driver.CreateDevice == nullptr) {
        CUT_DEVICE_FUNCTIONS(CUT_LOAD)
        CUT_INSTANCE_FUNCTIONS(CUT_LOAD)
    }
    CUT_INSTANCE_FUNCTIONS(CUT_REPLACE)
    CUT_DEVICE_FUNCTIONS(CUT_REPLACE)
    return driver.GetInstanceProcAddr(instance, name);
}

} // namespace

const char* cutName(uint32_t number) {
    static const char* const kNames[] = {
#define ROPE_NAME(name, text) text,
        ROPE_CUTS(ROPE_NAME)
#undef ROPE_NAME
    };
    return kNames[number];
}

PFN_vkGetInstanceProcAddr cutLoader(uint32_t cuts, PFN_vkGetInstanceProcAddr below) {
    if (driver.GetInstanceProcAddr != below) driver = Driver();
    driver.GetInstanceProcAddr = below;
    driver.cuts = cuts;
    return below != nullptr ? cutGetInstanceProcAddr : nullptr;
}

const rope::Messages& brokenRules() { return broken_rules; }

} // namespace gpu
