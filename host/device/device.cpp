#include "device/choose.hpp"
#include "device/state.hpp"
#include <vkrope/device.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rope {
inline namespace ROPE_NAMESPACE {
// ---- Opening -------------------------------------------------------------------------------------------------------

bool DeviceState::openDevice(const DeviceOptions& options, std::string* error) {
    messages = options.messages ? options.messages : std::make_shared<Messages>();
    timeout_seconds = options.timeout_seconds;
    instance = Instance::open(options.get_instance_proc_addr, options.validate ? messages : nullptr, error,
                              options.debug_utils);
    if (!instance || !chooseDevice(*instance, options.select, &info, error)) return false;
    vk = instance->vk();
    vk.GetPhysicalDeviceMemoryProperties(info.physical_device, &memory);
    VkPhysicalDeviceMaintenance3Properties maintenance = {};
    maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    VkPhysicalDeviceProperties2 properties = {};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &maintenance;
    vk.GetPhysicalDeviceProperties2(info.physical_device, &properties);
    largest_allocation = maintenance.maxMemoryAllocationSize;
    direct = info.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ||
             info.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    return chooseQueue(error) && createDevice(options, error) && createSubmission(error) && createContext(error);
}

bool DeviceState::chooseQueue(std::string* error) {
    uint32_t count = 0;
    vk.GetPhysicalDeviceQueueFamilyProperties(info.physical_device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vk.GetPhysicalDeviceQueueFamilyProperties(info.physical_device, &count, families.data());
    const auto computes = [](const VkQueueFamilyProperties& one) { return one.queueFlags & VK_QUEUE_COMPUTE_BIT; };
    const auto is_timed = [&](const VkQueueFamilyProperties& one) { return computes(one) && one.timestampValidBits; };
    auto found = std::find_if(families.begin(), families.end(), is_timed);
    if (found == families.end()) found = std::find_if(families.begin(), families.end(), computes);
    if (found == families.end()) {
        *error = info.name + " has no queue that computes: select another device";
        return false;
    }
    family = static_cast<uint32_t>(found - families.begin());
    timestamp_bits = info.properties.limits.timestampPeriod > 0 ? found->timestampValidBits : 0;
    return true;
}

// The features that are enabled: structures that form a list, and ROPE_ENABLED_ bits.
struct EnabledFeatures {
    VkPhysicalDevice16BitStorageFeatures storage_16 = {};
#ifdef VK_EXT_pipeline_robustness // older headers lack it
    VkPhysicalDevicePipelineRobustnessFeaturesEXT robustness = {};
#endif
    void* list = nullptr;
    uint32_t enabled = 0;
};

static void findFeatures(const VulkanFunctions& vk, VkPhysicalDevice device, void* features) {
    VkPhysicalDeviceFeatures2 found = {};
    found.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    found.pNext = features;
    vk.GetPhysicalDeviceFeatures2(device, &found);
}

// Enables the features that the library uses, and no other: some compilers make worse code for features enabled
// wholesale.
void DeviceState::enableFeatures(const DeviceOptions& options, const std::vector<VkExtensionProperties>& available,
                                 EnabledFeatures* features, std::vector<const char*>* names) const {
    (void)available;
    (void)names;
    features->storage_16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    VkPhysicalDevice16BitStorageFeatures storage_16 = features->storage_16; // of which one member is enabled
    findFeatures(vk, info.physical_device, &storage_16);
    if (options.storage_16 && storage_16.storageBuffer16BitAccess) {
        features->storage_16.storageBuffer16BitAccess = VK_TRUE;
        features->enabled |= ROPE_ENABLED_STORAGE_16;
        features->list = &features->storage_16;
    }
#ifdef VK_EXT_pipeline_robustness
    VkPhysicalDevicePipelineRobustnessFeaturesEXT& robustness = features->robustness;
    robustness.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT;
    const bool offered = hasDeviceExtension(available, VK_EXT_PIPELINE_ROBUSTNESS_EXTENSION_NAME);
    if (!options.bounds_checks && offered) findFeatures(vk, info.physical_device, &robustness);
    if (robustness.pipelineRobustness) {
        robustness.pNext = features->list;
        features->enabled |= ROPE_ENABLED_PIPELINE_ROBUSTNESS;
        features->list = &robustness;
        names->push_back(VK_EXT_PIPELINE_ROBUSTNESS_EXTENSION_NAME);
    }
#endif
}

bool DeviceState::createDevice(const DeviceOptions& options, std::string* error) {
    std::vector<VkExtensionProperties> available;
    if (!listExtensions(vk, info.physical_device, &available, error)) return false;
    const char* useful[ROPE_MAX_EXTENSIONS] = {};
    const uint32_t useful_count =
        ropeUsefulExtensions(available.data(), static_cast<uint32_t>(available.size()), useful);
    std::vector<const char*> names;
    for (uint32_t i = 0; i < useful_count; ++i)
        if (ropeEnabledByExtensions(&useful[i], 1) != ROPE_ENABLED_PUSH_DESCRIPTORS || options.push_descriptors)
            names.push_back(useful[i]);
    const std::vector<const char*>& of_instance = instance->extensions();
    uint32_t enabled = ropeEnabledByExtensions(names.data(), static_cast<uint32_t>(names.size())) |
                       ropeEnabledByExtensions(of_instance.data(), static_cast<uint32_t>(of_instance.size()));
    if (hasDeviceExtension(available, "VK_KHR_portability_subset")) // a device that offers it requires it enabled
        names.push_back("VK_KHR_portability_subset");
    EnabledFeatures features;
    enableFeatures(options, available, &features, &names);
    enabled |= features.enabled;
    const float priority = 1;
    VkDeviceQueueCreateInfo queue_info = {};
    queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue_info.queueFamilyIndex = family;
    queue_info.queueCount = 1;
    queue_info.pQueuePriorities = &priority;
    VkDeviceCreateInfo create = {};
    create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    create.pNext = features.list;
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queue_info;
    create.enabledExtensionCount = static_cast<uint32_t>(names.size());
    create.ppEnabledExtensionNames = names.data();
    const VkResult result = madeOrNull(vk.CreateDevice(info.physical_device, &create, nullptr, &device), &device);
    if (result != VK_SUCCESS) {
        device = VK_NULL_HANDLE;
        *error = info.name + " could not be opened: vkCreateDevice returned " + resultName(result);
        return false;
    }
    const char* missing = nullptr;
#define ROPE_LOAD(name)                                                                                                \
    vk.name = reinterpret_cast<PFN_vk##name>(vk.GetDeviceProcAddr(device, "vk" #name));                                \
    missing = vk.name ? missing : "vk" #name;
    ROPE_DEVICE_FUNCTIONS(ROPE_LOAD)
#undef ROPE_LOAD
    if (missing) {
        *error = info.name + " has no " + missing + ": install a newer driver or select another device";
        return false;
    }
    vk.GetDeviceQueue(device, family, 0, &queue);
    ropeLimitsFromDevice(&info.properties, enabled, &limits);
    return true;
}

bool DeviceState::createSubmission(std::string* error) {
    VkCommandPoolCreateInfo pool_info = {};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.queueFamilyIndex = family;
    VkFenceCreateInfo fence_info = {};
    fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    VkQueryPoolCreateInfo query_info = {};
    query_info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    query_info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    query_info.queryCount = 2;

    VkResult result = madeOrNull(vk.CreateCommandPool(device, &pool_info, nullptr, &pool), &pool);
    if (result == VK_SUCCESS) {
        VkCommandBufferAllocateInfo allocate_info = {};
        allocate_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        allocate_info.commandPool = pool;
        allocate_info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        allocate_info.commandBufferCount = 1;
        result = vk.AllocateCommandBuffers(device, &allocate_info, &commands);
    }
    if (result == VK_SUCCESS) result = madeOrNull(vk.CreateFence(device, &fence_info, nullptr, &fence), &fence);
    if (result == VK_SUCCESS && timestamp_bits)
        result = madeOrNull(vk.CreateQueryPool(device, &query_info, nullptr, &queries), &queries);
    if (result != VK_SUCCESS) {
        *error = info.name + " gave no command buffer, fence or query pool: " + resultName(result);
        return false;
    }
    return true;
}

bool DeviceState::createContext(std::string* error) {
    RopeContextInfo context_info = {};
    context_info.device = device;
    context_info.get_device_proc_addr = vk.GetDeviceProcAddr;
    context_info.limits = limits;
    const VkResult result = ropeCreateContext(&context_info, &context);
    if (result != VK_SUCCESS) {
        *error = "ropeCreateContext returned " + resultName(result) + " on " + info.name;
        return false;
    }
    return true;
}

DeviceState::~DeviceState() {
    if (stuck) { // the queue still uses everything, so nothing is destroyed
        (void)instance.release();
        return;
    }
    if (!device) return;
    if (vk.DeviceWaitIdle) vk.DeviceWaitIdle(device);
    ropeDestroyContext(context);
    release(&staging);
    if (queries) vk.DestroyQueryPool(device, queries, nullptr);
    if (fence) vk.DestroyFence(device, fence, nullptr);
    if (pool) vk.DestroyCommandPool(device, pool, nullptr);
    if (vk.DestroyDevice) vk.DestroyDevice(device, nullptr);
}

// ---- Device --------------------------------------------------------------------------------------------------------

Device Device::open(const DeviceOptions& options, std::string* error) {
    Device device(std::make_shared<DeviceState>());
    if (!device.state_->openDevice(options, error) || !device.runSelfTest(error)) return Device();
    return device;
}

bool Device::runSelfTest(std::string* error) {
    RopePlan plan;
    Buffer words;
    if (ropePlanSelfTest(&state_->limits, &plan) != ROPE_SUCCESS) {
        *error = std::string("the self-test was refused: ") + plan.reason.text;
        return false;
    }
    RopeBuffers buffers = {};
    uint32_t found[ROPE_SELF_TEST_WORDS] = {};
    if (!makeBuffer(plan.bytes[ROPE_SLOT_COUNTER], &words, error)) return false;
    buffers.slots[ROPE_SLOT_COUNTER] = words.slot();
    if (!run(&plan, 1, &buffers, error) || !download(words, 0, found, sizeof found, error)) return false;
    ropeSetRounding(state_->context, ropeReadSelfTest(found));
    state_->limits.enabled |= ropeEnabledBySelfTest(found);
    return true;
}

Device::Device() = default;
Device::Device(std::shared_ptr<DeviceState> state) : state_(std::move(state)) {}
Device::~Device() = default;
Device::Device(Device&& other) noexcept = default;
Device& Device::operator=(Device&& other) noexcept = default;

const DeviceInfo& Device::info() const { return state_->info; }
const RopeLimits& Device::limits() const { return state_->limits; }
RopeContext* Device::context() const { return state_->context; }
std::shared_ptr<const Messages> Device::messages() const { return state_->messages; }
const VulkanFunctions& Device::vk() const { return state_->vk; }
VkInstance Device::instance() const { return state_->instance->handle(); }
VkPhysicalDevice Device::physicalDevice() const { return state_->info.physical_device; }
VkDevice Device::handle() const { return state_->device; }
VkQueue Device::queue() const { return state_->queue; }
uint32_t Device::queueFamily() const { return state_->family; }
bool Device::hasTimestamps() const { return state_->timestamp_bits != 0; }
bool Device::isStuck() const { return state_ != nullptr && state_->stuck; }

} // namespace ROPE_NAMESPACE
} // namespace rope
