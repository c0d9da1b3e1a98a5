// This header opens the Vulkan loader at run time, takes the functions from it, and makes an instance. It is part of
// the device target. A program needs it only if the program calls Vulkan itself, through Device::vk().
#pragma once

#include "rope.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rope {
inline namespace ROPE_NAMESPACE {

// These lists have the functions that need no instance, an instance, and a device.
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

// Its members are Vulkan's functions, without the prefix vk.
struct VulkanFunctions {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define ROPE_MEMBER(name) PFN_vk##name name = nullptr;
    ROPE_GLOBAL_FUNCTIONS(ROPE_MEMBER)
    ROPE_INSTANCE_FUNCTIONS(ROPE_MEMBER)
    ROPE_DEVICE_FUNCTIONS(ROPE_MEMBER)
#undef ROPE_MEMBER
};

// Messages has the validation layer's warnings and errors. Whoever keeps the pointer may read them after the device is
// gone. It is safe from any thread.
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
    // With a null `get_instance_proc_addr` the system's loader is opened. With null `messages` there is no validation.
    // On failure the result is null, and *error says what to do. Messages come by VK_EXT_debug_utils, or by
    // VK_EXT_debug_report if `debug_utils` is false.
    static std::unique_ptr<Instance> open(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                          std::shared_ptr<Messages> messages, std::string* error,
                                          bool debug_utils = true);
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    VkInstance handle() const { return handle_; }
    const VulkanFunctions& vk() const { return vk_; }                          // up to the instance's functions
    const std::vector<const char*>& extensions() const { return extensions_; } // that are enabled
    bool physicalDevices(std::vector<VkPhysicalDevice>* devices, std::string* error) const;

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

} // namespace ROPE_NAMESPACE
} // namespace rope
