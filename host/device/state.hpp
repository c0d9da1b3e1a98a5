// The state that a Device and its Buffers share. It is private to the device target.
#pragma once

#include <vkrope/device.hpp>

#include <map>

namespace rope {
inline namespace ROPE_NAMESPACE {

struct EnabledFeatures;

// Vulkan leaves a handle undefined where it could not be made.
template <typename Handle> VkResult madeOrNull(VkResult result, Handle* handle) {
    if (result != VK_SUCCESS) *handle = VK_NULL_HANDLE;
    return result;
}

struct DeviceState {
    DeviceState() = default;
    ~DeviceState();
    DeviceState(const DeviceState&) = delete;
    DeviceState& operator=(const DeviceState&) = delete;

    bool openDevice(const DeviceOptions& options, std::string* error);

    // buffer.cpp
    bool allocate(VkDeviceSize bytes, bool for_staging, Allocation* allocation, std::string* error);
    void release(Allocation* allocation) const;
    VkMappedMemoryRange mappedRange(const Allocation& allocation, VkDeviceSize offset, VkDeviceSize bytes) const;
    bool flush(const Allocation& allocation, VkDeviceSize offset, VkDeviceSize bytes, std::string* error) const;
    bool invalidate(const Allocation& allocation, VkDeviceSize offset, VkDeviceSize bytes, std::string* error) const;
    bool writeMapped(const Allocation& allocation, VkDeviceSize offset, const void* data, VkDeviceSize bytes,
                     std::string* error) const;
    bool readMapped(const Allocation& allocation, VkDeviceSize offset, void* data, VkDeviceSize bytes,
                    std::string* error) const;
    bool checkRange(const Allocation& allocation, VkDeviceSize offset, VkDeviceSize bytes, std::string* error) const;
    bool makeStaging(VkDeviceSize bytes, std::string* error);
    bool copy(VkBuffer from, VkBuffer to, const VkBufferCopy& region, std::string* error);

    // submit.cpp: commands are recorded between the two, in the only command buffer. A caller that does not come to the
    // second clears `recording`.
    bool begin(bool timed, std::string* error);
    bool finish(std::string* error, double* gpu_seconds);
    double readSeconds() const;

    std::unique_ptr<Instance> instance;
    VulkanFunctions vk;
    std::shared_ptr<Messages> messages;
    DeviceInfo info;
    RopeLimits limits = {};
    RopeContext* context = nullptr;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    uint32_t family = 0;
    uint32_t timestamp_bits = 0; // 0: the queue has none
    VkPhysicalDeviceMemoryProperties memory = {};
    VkDeviceSize largest_allocation = 0; // bytes
    bool direct = false;                 // the host reads and writes buffers in place
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    VkQueryPool queries = VK_NULL_HANDLE;
    Allocation staging;
    double timeout_seconds = 0;
    std::map<VkBuffer, VkDeviceSize> sizes; // sizes of the buffers that makeBuffer made
    bool recording = false;                 // between begin() and finish()
    bool stuck = false;                     // a submission did not end in time, so nothing may be destroyed any more

  private:
    VkResult allocateMemory(bool for_staging, Allocation* allocation);
    bool chooseQueue(std::string* error);
    void enableFeatures(const DeviceOptions& options, const std::vector<VkExtensionProperties>& available,
                        EnabledFeatures* features, std::vector<const char*>* names) const;
    bool createDevice(const DeviceOptions& options, std::string* error);
    bool createSubmission(std::string* error);
    bool createContext(std::string* error);
};

} // namespace ROPE_NAMESPACE
} // namespace rope
