#include "floor.hpp"
#include "wrapped.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

namespace gpu {
namespace {

constexpr uint32_t kStorageBuffers = 4;
constexpr uint32_t kUniformBuffers = 12;
constexpr uint32_t kSets = 4;
constexpr uint32_t kPushBytes = 128;
constexpr uint32_t kGroups = 65535;
constexpr uint32_t kInvocations = 128;
constexpr uint32_t kGroupSize[3] = {128, 128, 64};
constexpr VkDeviceSize kStorageRange = 1u << 27;
constexpr VkDeviceSize kUniformRange = 1u << 14;
constexpr VkDeviceSize kOffsetAlignment = 256;

// These are the loader's own functions, which find the device by the handle that they are given; one table serves all
// devices.
#define FLOOR_DEVICE_FUNCTIONS(X)                                                                                      \
    X(CreateBuffer)                                                                                                    \
    X(CreateDescriptorSetLayout)                                                                                       \
    X(CreatePipelineLayout)                                                                                            \
    X(CreateShaderModule)                                                                                              \
    X(CreateComputePipelines)                                                                                          \
    X(UpdateDescriptorSets)                                                                                            \
    X(CmdPushConstants)                                                                                                \
    X(CmdDispatch)

#define FLOOR_INSTANCE_FUNCTIONS(X)                                                                                    \
    X(GetPhysicalDeviceProperties)                                                                                     \
    X(GetPhysicalDeviceProperties2)                                                                                    \
    X(GetPhysicalDeviceFeatures2)                                                                                      \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                                          \
    X(EnumerateDeviceExtensionProperties)                                                                              \
    X(CreateDevice)                                                                                                    \
    X(GetDeviceProcAddr)

// The functions of the driver below the floor.
struct DriverFunctions {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define FLOOR_MEMBER(name) PFN_vk##name name = nullptr;
    FLOOR_DEVICE_FUNCTIONS(FLOOR_MEMBER)
    FLOOR_INSTANCE_FUNCTIONS(FLOOR_MEMBER)
#undef FLOOR_MEMBER
} driver;

// Each size is a number, or a specialization constant with that number as its default.
struct GroupSize {
    uint32_t sizes[3] = {1, 1, 1};
    int64_t constants[3] = {-1, -1, -1};
};

struct BindingCounts {
    uint32_t storage = 0;
    uint32_t uniform = 0;
};

// The objects by which later calls are judged. A handle that is used again is written again.
struct CreatedObjects {
    std::mutex mutex;
    std::map<VkBuffer, VkDeviceSize> buffers;
    std::map<VkDescriptorSetLayout, BindingCounts> layouts;
    std::map<VkShaderModule, GroupSize> modules;
} created;

rope::Messages beyond_messages;

void demand(bool right, const std::string& what) {
    if (!right) beyond_messages.add("beyond the floor: " + what);
}

void demandAtMost(uint64_t value, uint64_t most, const char* what) {
    demand(value <= most, std::to_string(value) + " " + what + ", at most " + std::to_string(most));
}

// ---- The properties that the device shows

void lowerLimits(VkPhysicalDeviceProperties* properties) {
    properties->apiVersion = VK_API_VERSION_1_1;
    VkPhysicalDeviceLimits& limits = properties->limits;
    limits.maxStorageBufferRange = kStorageRange;
    limits.maxUniformBufferRange = kUniformRange;
    limits.maxPushConstantsSize = kPushBytes;
    limits.maxBoundDescriptorSets = kSets;
    limits.maxPerStageDescriptorStorageBuffers = kStorageBuffers;
    limits.maxPerStageDescriptorUniformBuffers = kUniformBuffers;
    limits.maxComputeSharedMemorySize = 16384;
    limits.maxComputeWorkGroupInvocations = kInvocations;
    for (int axis = 0; axis < 3; ++axis) {
        limits.maxComputeWorkGroupCount[axis] = kGroups;
        limits.maxComputeWorkGroupSize[axis] = kGroupSize[axis];
    }
    limits.minStorageBufferOffsetAlignment = kOffsetAlignment;
    limits.minUniformBufferOffsetAlignment = kOffsetAlignment;
    limits.timestampComputeAndGraphics = VK_FALSE;
}

VKAPI_ATTR void VKAPI_CALL floorGetPhysicalDeviceProperties(VkPhysicalDevice device,
                                                            VkPhysicalDeviceProperties* properties) {
    driver.GetPhysicalDeviceProperties(device, properties);
    lowerLimits(properties);
}

VKAPI_ATTR void VKAPI_CALL floorGetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                                             VkPhysicalDeviceProperties2* properties) {
    driver.GetPhysicalDeviceProperties2(device, properties);
    lowerLimits(&properties->properties);
    auto* next = static_cast<VkBaseOutStructure*>(properties->pNext);
    for (; next != nullptr; next = next->pNext) {
        if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES) continue;
        reinterpret_cast<VkPhysicalDeviceMaintenance3Properties*>(next)->maxMemoryAllocationSize = 1u << 30;
    }
}

VKAPI_ATTR void VKAPI_CALL floorGetPhysicalDeviceFeatures2(VkPhysicalDevice, VkPhysicalDeviceFeatures2* features) {
    features->features = {};
    auto* next = static_cast<VkBaseOutStructure*>(features->pNext);
    for (; next != nullptr; next = next->pNext) {
        const bool is_16 = next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
        demand(is_16, "features of structure " + std::to_string(next->sType) + " are asked for, which floor.cpp lacks");
        if (!is_16) continue;
        auto* storage = reinterpret_cast<VkPhysicalDevice16BitStorageFeatures*>(next);
        storage->storageBuffer16BitAccess = storage->uniformAndStorageBuffer16BitAccess = VK_FALSE;
        storage->storagePushConstant16 = storage->storageInputOutput16 = VK_FALSE;
    }
}

VKAPI_ATTR void VKAPI_CALL floorGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device, uint32_t* count,
                                                                       VkQueueFamilyProperties* families) {
    driver.GetPhysicalDeviceQueueFamilyProperties(device, count, families);
    for (uint32_t i = 0; families != nullptr && i < *count; ++i) families[i].timestampValidBits = 0;
}

VKAPI_ATTR VkResult VKAPI_CALL floorEnumerateDeviceExtensionProperties(VkPhysicalDevice, const char*, uint32_t* count,
                                                                       VkExtensionProperties*) {
    *count = 0;
    return VK_SUCCESS;
}

// ---- The objects that are made on it

VKAPI_ATTR VkResult VKAPI_CALL floorCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator, VkDevice* device) {
    const VkPhysicalDeviceFeatures none = {};
    demandAtMost(info->enabledExtensionCount, 0, "extensions");
    demand(info->pNext == nullptr, "a feature is enabled");
    demand(info->pEnabledFeatures == nullptr || std::memcmp(info->pEnabledFeatures, &none, sizeof none) == 0,
           "a feature of Vulkan 1.0 is enabled");
    return driver.CreateDevice(physical, info, allocator, device);
}

VKAPI_ATTR VkResult VKAPI_CALL floorCreateBuffer(VkDevice device, const VkBufferCreateInfo* info,
                                                 const VkAllocationCallbacks* allocator, VkBuffer* buffer) {
    const VkResult result = driver.CreateBuffer(device, info, allocator, buffer);
    const std::lock_guard<std::mutex> lock(created.mutex);
    if (result == VK_SUCCESS) created.buffers[*buffer] = info->size;
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL floorCreateDescriptorSetLayout(VkDevice device,
                                                              const VkDescriptorSetLayoutCreateInfo* info,
                                                              const VkAllocationCallbacks* allocator,
                                                              VkDescriptorSetLayout* layout) {
    demand(info->flags == 0, "a set layout with flags " + std::to_string(info->flags));
    BindingCounts counts;
    for (uint32_t i = 0; i < info->bindingCount; ++i) {
        const VkDescriptorSetLayoutBinding& binding = info->pBindings[i];
        if (binding.descriptorType == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER) counts.storage += binding.descriptorCount;
        if (binding.descriptorType == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER) counts.uniform += binding.descriptorCount;
    }
    const VkResult result = driver.CreateDescriptorSetLayout(device, info, allocator, layout);
    const std::lock_guard<std::mutex> lock(created.mutex);
    if (result == VK_SUCCESS) created.layouts[*layout] = counts;
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL floorCreatePipelineLayout(VkDevice device, const VkPipelineLayoutCreateInfo* info,
                                                         const VkAllocationCallbacks* allocator,
                                                         VkPipelineLayout* layout) {
    {
        const std::lock_guard<std::mutex> lock(created.mutex);
        BindingCounts counts;
        for (uint32_t i = 0; i < info->setLayoutCount; ++i) {
            counts.storage += created.layouts[info->pSetLayouts[i]].storage;
            counts.uniform += created.layouts[info->pSetLayouts[i]].uniform;
        }
        demandAtMost(counts.storage, kStorageBuffers, "storage buffers in a stage");
        demandAtMost(counts.uniform, kUniformBuffers, "uniform buffers in a stage");
    }
    demandAtMost(info->setLayoutCount, kSets, "descriptor sets");
    for (uint32_t i = 0; i < info->pushConstantRangeCount; ++i) {
        const VkPushConstantRange& range = info->pPushConstantRanges[i];
        demandAtMost(range.offset + range.size, kPushBytes, "bytes of push constants");
    }
    return driver.CreatePipelineLayout(device, info, allocator, layout);
}

// ---- Shaders

// Reads a module's group size from its words; a capability beyond the floor becomes a message.
class GroupSizeReader {
  public:
    explicit GroupSizeReader(const VkShaderModuleCreateInfo& info) {
        const size_t count = info.codeSize / 4;
        for (size_t at = 5; at < count && info.pCode[at] >> 16 != 0; at += info.pCode[at] >> 16)
            read(info.pCode[at] & 0xFFFF, &info.pCode[at]);
    }
    GroupSize groupSize() const {
        GroupSize size;
        std::copy(literal_.begin(), literal_.end(), size.sizes);
        const auto parts = composites_.find(group_size_id_);
        if (parts == composites_.end()) return size;
        for (size_t axis = 0; axis < 3; ++axis) {
            const uint32_t id = parts->second[axis];
            size.sizes[axis] = values_.at(id);
            const auto constant = constants_.find(id);
            if (constant != constants_.end()) size.constants[axis] = constant->second;
        }
        return size;
    }

  private:
    enum { kMatrix = 0, kShader = 1, kLocalSize = 17, kSpecId = 1, kBuiltIn = 11, kWorkgroupSize = 25 };
    void read(uint32_t operation, const uint32_t* words) {
        switch (operation) {
        case 17: // OpCapability
            demand(words[1] == kMatrix || words[1] == kShader, "capability " + std::to_string(words[1]));
            break;
        case 16: // OpExecutionMode
            if (words[2] == kLocalSize) std::copy(words + 3, words + 6, literal_.begin());
            break;
        case 71: // OpDecorate
            if (words[2] == kSpecId) constants_[words[1]] = words[3];
            if (words[2] == kBuiltIn && words[3] == kWorkgroupSize) group_size_id_ = words[1];
            break;
        case 43: // OpConstant
        case 50: // OpSpecConstant
            values_[words[2]] = words[3];
            break;
        case 44: // OpConstantComposite
        case 51: // OpSpecConstantComposite
            if (words[2] == group_size_id_) composites_[words[2]] = {words[3], words[4], words[5]};
            break;
        }
    }

    std::array<uint32_t, 3> literal_ = {1, 1, 1};
    uint32_t group_size_id_ = 0;
    std::map<uint32_t, uint32_t> values_;
    std::map<uint32_t, uint32_t> constants_;
    std::map<uint32_t, std::array<uint32_t, 3>> composites_;
};

VKAPI_ATTR VkResult VKAPI_CALL floorCreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo* info,
                                                       const VkAllocationCallbacks* allocator, VkShaderModule* module) {
    const GroupSize size = GroupSizeReader(*info).groupSize();
    const VkResult result = driver.CreateShaderModule(device, info, allocator, module);
    const std::lock_guard<std::mutex> lock(created.mutex);
    if (result == VK_SUCCESS) created.modules[*module] = size;
    return result;
}

void demandGroupSize(GroupSize size, const VkSpecializationInfo* special) {
    for (int axis = 0; axis < 3; ++axis) {
        for (uint32_t i = 0; special != nullptr && i < special->mapEntryCount; ++i) {
            const VkSpecializationMapEntry& entry = special->pMapEntries[i];
            if (entry.constantID != size.constants[axis]) continue;
            std::memcpy(&size.sizes[axis], static_cast<const char*>(special->pData) + entry.offset, entry.size);
        }
        demandAtMost(size.sizes[axis], kGroupSize[axis], "invocations along an axis of a group");
    }
    demandAtMost(uint64_t{size.sizes[0]} * size.sizes[1] * size.sizes[2], kInvocations, "invocations in a group");
}

VKAPI_ATTR VkResult VKAPI_CALL floorCreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                           const VkComputePipelineCreateInfo* infos,
                                                           const VkAllocationCallbacks* allocator,
                                                           VkPipeline* pipelines) {
    {
        const std::lock_guard<std::mutex> lock(created.mutex);
        for (uint32_t i = 0; i < count; ++i)
            demandGroupSize(created.modules[infos[i].stage.module], infos[i].stage.pSpecializationInfo);
    }
    return driver.CreateComputePipelines(device, cache, count, infos, allocator, pipelines);
}

// ---- Descriptors and commands

void demandBuffer(const VkDescriptorBufferInfo& info, VkDeviceSize most) {
    demand(info.offset % kOffsetAlignment == 0, "a descriptor at byte " + std::to_string(info.offset));
    VkDeviceSize range = info.range;
    if (range == VK_WHOLE_SIZE) {
        const std::lock_guard<std::mutex> lock(created.mutex);
        range = created.buffers[info.buffer] - info.offset;
    }
    demandAtMost(range, most, "bytes in a descriptor");
}

VKAPI_ATTR void VKAPI_CALL floorUpdateDescriptorSets(VkDevice device, uint32_t count,
                                                     const VkWriteDescriptorSet* writes, uint32_t copy_count,
                                                     const VkCopyDescriptorSet* copies) {
    for (uint32_t i = 0; i < count; ++i) {
        const bool is_uniform = writes[i].descriptorType == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        for (uint32_t j = 0; j < writes[i].descriptorCount; ++j)
            demandBuffer(writes[i].pBufferInfo[j], is_uniform ? kUniformRange : kStorageRange);
    }
    driver.UpdateDescriptorSets(device, count, writes, copy_count, copies);
}

VKAPI_ATTR void VKAPI_CALL floorCmdPushConstants(VkCommandBuffer commands, VkPipelineLayout layout,
                                                 VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                                                 const void* values) {
    demandAtMost(offset + size, kPushBytes, "bytes of push constants");
    driver.CmdPushConstants(commands, layout, stages, offset, size, values);
}

VKAPI_ATTR void VKAPI_CALL floorCmdDispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
    for (const uint32_t groups : {x, y, z}) demandAtMost(groups, kGroups, "groups along an axis");
    driver.CmdDispatch(commands, x, y, z);
}

// ---- The table

// A device without extensions has no functions with a vendor's letters at their end.
bool isOfExtension(const std::string& name) {
    return name.size() > 3 && std::all_of(name.end() - 2, name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL floorGetDeviceProcAddr(VkDevice device, const char* name) {
#define FLOOR_REPLACE(function)                                                                                        \
    if (std::strcmp(name, "vk" #function) == 0) return reinterpret_cast<PFN_vkVoidFunction>(floor##function);
    FLOOR_DEVICE_FUNCTIONS(FLOOR_REPLACE)
    FLOOR_REPLACE(GetDeviceProcAddr)
    return isOfExtension(name) ? nullptr : driver.GetDeviceProcAddr(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL floorGetInstanceProcAddr(VkInstance instance, const char* name) {
    if (instance == VK_NULL_HANDLE) return driver.GetInstanceProcAddr(instance, name);
#define FLOOR_LOAD(function)                                                                                           \
    if (driver.function == nullptr)                                                                                    \
        driver.function = reinterpret_cast<PFN_vk##function>(driver.GetInstanceProcAddr(instance, "vk" #function));
    FLOOR_DEVICE_FUNCTIONS(FLOOR_LOAD)
    FLOOR_INSTANCE_FUNCTIONS(FLOOR_LOAD)
    FLOOR_DEVICE_FUNCTIONS(FLOOR_REPLACE)
    FLOOR_INSTANCE_FUNCTIONS(FLOOR_REPLACE)
#undef FLOOR_LOAD
#undef FLOOR_REPLACE
    return driver.GetInstanceProcAddr(instance, name);
}

} // namespace

bool floorAsked() { return isAsked("VKROPE_TEST_FLOOR"); }

PFN_vkGetInstanceProcAddr floorLoader() {
    driver.GetInstanceProcAddr = systemLoader();
    return driver.GetInstanceProcAddr != nullptr ? floorGetInstanceProcAddr : nullptr;
}

const rope::Messages& beyondFloor() { return beyond_messages; }

} // namespace gpu
