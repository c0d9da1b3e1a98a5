// The Vulkan loader opened at run time, the functions taken from it, and an instance. Part of the device target; a
// program needs it only where it calls Vulkan itself, through Device::vk().
#pragma once

#include "rope.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rope {

// Functions that need no instance, an instance, a device.
#define ROPE_GLOBAL_FUNCTIONS(X)                                                                                       \
    X(EnumerateInstanceVersion)                                                                                        \
    X(EnumerateInstanceExtensionProperties)                                                                            \
    X(EnumerateInstanceLayerProperties)                                                                                \
    X(CreateInstance)

#define ROPE_INSTANCE_FUNCTIONS(X)                                                                                     \
    X(DestroyInstance)                                                                                                 \
    X(EnumeratePhysicalDevices)                                                                                        \
    X(GetPhysicalDeviceProperties)                                                                                     \
    X(GetPhysicalDeviceProperties2)                                                                                    \
    X(GetPhysicalDeviceFeatures2)                                                                                      \
    X(GetPhysicalDeviceMemoryProperties)                                                                               \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                                          \
    X(EnumerateDeviceExtensionProperties)                                                                              \
    X(CreateDevice)                                                                                                    \
    X(GetDeviceProcAddr)

#define ROPE_DEVICE_FUNCTIONS(X)                                                                                       \
    X(DestroyDevice)                                                                                                   \
    X(GetDeviceQueue)                                                                                                  \
    X(DeviceWaitIdle)                                                                                                  \
    X(QueueSubmit)                                                                                                     \
    X(AllocateMemory)                                                                                                  \
    X(FreeMemory)                                                                                                      \
    X(MapMemory)                                                                                                       \
    X(UnmapMemory)                                                                                                     \
    X(FlushMappedMemoryRanges)                                                                                         \
    X(InvalidateMappedMemoryRanges)                                                                                    \
    X(CreateBuffer)                                                                                                    \
    X(DestroyBuffer)                                                                                                   \
    X(GetBufferMemoryRequirements)                                                                                     \
    X(BindBufferMemory)                                                                                                \
    X(CreateFence)                                                                                                     \
    X(DestroyFence)                                                                                                    \
    X(ResetFences)                                                                                                     \
    X(WaitForFences)                                                                                                   \
    X(CreateQueryPool)                                                                                                 \
    X(DestroyQueryPool)                                                                                                \
    X(GetQueryPoolResults)                                                                                             \
    X(CreateShaderModule)                                                                                              \
    X(DestroyShaderModule)                                                                                             \
    X(CreateComputePipelines)                                                                                          \
    X(DestroyPipeline)                                                                                                 \
    X(CreatePipelineLayout)                                                                                            \
    X(DestroyPipelineLayout)                                                                                           \
    X(CreateDescriptorSetLayout)                                                                                       \
    X(DestroyDescriptorSetLayout)                                                                                      \
    X(CreateDescriptorPool)                                                                                            \
    X(DestroyDescriptorPool)                                                                                           \
    X(AllocateDescriptorSets)                                                                                          \
    X(UpdateDescriptorSets)                                                                                            \
    X(CreateCommandPool)                                                                                               \
    X(DestroyCommandPool)                                                                                              \
    X(ResetCommandPool)                                                                                                \
    X(AllocateCommandBuffers)                                                                                          \
    X(BeginCommandBuffer)                                                                                              \
    X(EndCommandBuffer)                                                                                                \
    X(CmdBindPipeline)                                                                                                 \
    X(CmdBindDescriptorSets)                                                                                           \
    X(CmdPushConstants)                                                                                                \
    X(CmdDispatch)                                                                                                     \
    X(CmdDispatchIndirect)                                                                                             \
    X(CmdCopyBuffer)                                                                                                   \
    X(CmdFillBuffer)                                                                                                   \
    X(CmdPipelineBarrier)                                                                                              \
    X(CmdResetQueryPool)                                                                                               \
    X(CmdWriteTimestamp)

// Vulkan's functions without the prefix vk.
struct VulkanFunctions {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define ROPE_MEMBER(name) PFN_vk##name name = nullptr;
    ROPE_GLOBAL_FUNCTIONS(ROPE_MEMBER)
    ROPE_INSTANCE_FUNCTIONS(ROPE_MEMBER)
    ROPE_DEVICE_FUNCTIONS(ROPE_MEMBER)
#undef ROPE_MEMBER
};

// The validation layer's warnings and errors. Outlives the device for whoever keeps the pointer; safe from any thread.
class Messages {
  public:
    uint32_t count() const;
    std::string text() const; // one line each
    void add(const std::string& line);

  private:
    mutable std::mutex mutex_;
    uint32_t count_ = 0;
    std::string text_;
};

// A Vulkan instance, destroyed with the object.
class Instance {
  public:
    // `get_instance_proc_addr` null: the system's loader is opened. `messages` null: no validation. On failure null,
    // and *error says what to do. Messages come by VK_EXT_debug_utils, or where that is not wanted by
    // VK_EXT_debug_report.
    static std::unique_ptr<Instance> open(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                          std::shared_ptr<Messages> messages, std::string* error,
                                          bool debug_utils = true);
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    VkInstance handle() const { return handle_; }
    const VulkanFunctions& vk() const { return vk_; }                          // up to the instance's functions
    const std::vector<const char*>& extensions() const { return extensions_; } // that are enabled
    std::vector<VkPhysicalDevice> physicalDevices() const;

  private:
    Instance() = default;
    bool create(std::string* error);
    bool createMessenger(VkDebugUtilsMessengerCreateInfoEXT info, std::string* error);
    bool createReport(VkDebugReportCallbackCreateInfoEXT info, std::string* error);
    bool loadFunctions(std::string* error);

    VulkanFunctions vk_;
    VkInstance handle_ = VK_NULL_HANDLE;
    std::shared_ptr<Messages> messages_;
    std::vector<const char*> extensions_;
    bool debug_utils_ = true;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    VkDebugReportCallbackEXT report_ = VK_NULL_HANDLE;
};

// "VK_ERROR_OUT_OF_DEVICE_MEMORY" and so on.
std::string resultName(VkResult result);

} // namespace rope
