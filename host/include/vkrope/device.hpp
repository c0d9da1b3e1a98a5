/// @file
/// This header gives programs without Vulkan a device: choose one, make buffers, upload, run plans, read back. It is an
/// optional target, vkrope-device. Engines that own a device use rope.h alone.
///
///     std::string error;
///     rope::Device device = rope::Device::open({}, &error);
///     rope::Buffer q;
///     bool ok = device && device.makeBuffer(plan.bytes[ROPE_SLOT_Q], &q, &error) &&
///               device.upload(q, 0, values, bytes, &error) && device.run(&plan, 1, &buffers, &error) &&
///               device.download(q, 0, values, bytes, &error);
///
/// A call that fails returns false or an empty object, and writes one sentence to *error, which is never null. No call
/// throws anything but std::bad_alloc, and what the caller's own functions throw. An empty device refuses these calls,
/// but its getters must not be called. A device and its buffers belong to one thread at a time. Nothing links a Vulkan
/// loader: it is opened at run time.
#pragma once

#include "loader.hpp"
#include "rope.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rope {
inline namespace ROPE_NAMESPACE {

struct DeviceInfo {
    uint32_t index = 0; ///< in the loader's order
    std::string name;
    std::string driver; ///< its name and version in words, empty where the driver does not say
    std::string type;   ///< discrete, integrated, virtual, cpu or other
    VkPhysicalDevice physical_device = VK_NULL_HANDLE; ///< of the instance that listed it; null from listDevices
    VkPhysicalDeviceProperties properties = {};
};

/// "1 SwiftShader Device (cpu, Vulkan 1.3.0, SwiftShader driver 5.0.0)"
std::string describe(const DeviceInfo& info);

struct DeviceOptions {
    std::string select;           ///< an index, part of a name or driver in any case, or empty for the best:
                                  ///< discrete, then integrated, virtual, cpu; then the newer Vulkan
    bool validate = false;        ///< VK_LAYER_KHRONOS_validation with synchronization validation, an error if missing
    bool debug_utils = true;      ///< with validate: VK_EXT_debug_utils brings the messages, and names for tools; if
                                  ///< false, VK_EXT_debug_report brings them, and nothing is named
    bool push_descriptors = true; ///< use them where the device has them
    bool storage_16 = true;       ///< use storageBuffer16BitAccess where the device has it
    bool bounds_checks = false;   ///< leave a driver's checks of bounds in pipelines, where the device could go without
    double timeout_seconds = 60;  ///< how long a submission may take
    std::shared_ptr<Messages> messages;                         ///< where messages go; null: the device makes its own
    PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr; ///< null: the system's loader is opened
};

/// Returns every device that the loader finds, also those that open() would refuse. If there is none, the result is
/// empty and *error says so.
std::vector<DeviceInfo> listDevices(std::string* error);

struct DeviceState;

struct Allocation {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceSize size = 0;      ///< bytes, as asked for
    VkDeviceSize allocated = 0; ///< bytes of memory
    void* mapped = nullptr;     ///< null where the host does not reach the memory
    bool coherent = false;
};

/// A Buffer owns its memory. It serves as a storage buffer, and for copies and fills. It keeps its device alive.
class Buffer {
  public:
    Buffer();
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;

    explicit operator bool() const { return handle() != VK_NULL_HANDLE; }
    VkBuffer handle() const { return allocation_.buffer; }
    VkDeviceSize size() const { return allocation_.size; } ///< bytes
    RopeBuffer slot(VkDeviceSize offset = 0) const { return {handle(), offset}; }

  private:
    friend class Device;
    void release();

    std::shared_ptr<DeviceState> state_;
    Allocation allocation_;
};

class Device {
  public:
    /// Opens a device of Vulkan 1.1 or more with one compute queue, makes a RopeContext on it and runs the self-test.
    /// The context then has the device's rounding, and limits() says whether the device's conversion of float16 is
    /// proven. On failure the device is empty.
    static Device open(const DeviceOptions& options, std::string* error);

    Device();
    ~Device();
    Device(Device&& other) noexcept;
    Device& operator=(Device&& other) noexcept;
    explicit operator bool() const { return state_ != nullptr; }

    const DeviceInfo& info() const;
    const RopeLimits& limits() const;
    RopeContext* context() const;
    std::shared_ptr<const Messages> messages() const; ///< complete once the device and its buffers are gone

    /// These are for programs that record commands of their own.
    const VulkanFunctions& vk() const;
    VkInstance instance() const;
    VkPhysicalDevice physicalDevice() const;
    VkDevice handle() const;
    VkQueue queue() const;
    uint32_t queueFamily() const;
    bool hasTimestamps() const;

    /// Buffers start with undefined contents. Offsets and sizes are in bytes and must lie inside the buffer.
    bool makeBuffer(VkDeviceSize bytes, Buffer* buffer, std::string* error);
    bool upload(const Buffer& buffer, VkDeviceSize offset, const void* data, VkDeviceSize bytes, std::string* error);
    bool download(const Buffer& buffer, VkDeviceSize offset, void* data, VkDeviceSize bytes, std::string* error);
    bool fill(const Buffer& buffer, uint8_t value, std::string* error); ///< every byte

    /// Prepares the plans, then submits them in order with a barrier between them, and waits. `buffers` has one element
    /// per plan. Descriptor sets are made if the device needs them and `sets` is null. *gpu_seconds receives the time
    /// of the plans between two timestamps. It is negative if the queue has no timestamps. Buffers that makeBuffer of
    /// this device did not make are taken as they are: their sizes are not known here.
    bool run(const RopePlan* plans, uint32_t count, const RopeBuffers* buffers, std::string* error,
             double* gpu_seconds = nullptr);

    /// Does the same with the caller's commands: `record` is called once with a command buffer that is being recorded.
    /// Earlier work is visible to the commands, and their writes are visible afterwards to the host and to later
    /// submissions. `record` may call getters of this device, and no run(), submit(), upload(), download() or fill().
    bool submit(const std::function<void(VkCommandBuffer)>& record, std::string* error, double* gpu_seconds = nullptr);

    /// True if a wait for a submission failed. The submission may go on, so nothing that it uses may be destroyed.
    bool isStuck() const;

  private:
    explicit Device(std::shared_ptr<DeviceState> state);
    bool runSelfTest(std::string* error);
    bool isOpen(std::string* error) const;
    bool owns(const Buffer& buffer, std::string* error) const;

    std::shared_ptr<DeviceState> state_;
};

} // namespace ROPE_NAMESPACE
} // namespace rope
