#include "gpu.hpp"

#include "../support/validation.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace engine {
namespace {

constexpr char kLayer[] = "VK_LAYER_KHRONOS_validation";
constexpr uint32_t kVersion = VK_API_VERSION_1_2; // for timeline semaphores; vkrope asks for 1.1

std::atomic<uint32_t> heard{0};

VKAPI_ATTR VkBool32 VKAPI_CALL onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
    const char* name = data->pMessageIdName != nullptr ? data->pMessageIdName : "";
    if (std::strcmp(name, "Loader Message") == 0) return VK_FALSE; // on drivers that it skipped
    ++heard;
    std::fprintf(stderr, "%s: %s\n", name, data->pMessage != nullptr ? data->pMessage : "");
    return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messengerInfo() {
    VkDebugUtilsMessengerCreateInfoEXT info = {};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    info.pfnUserCallback = onMessage;
    return info;
}

bool hasLayer() {
    VkLayerProperties layers[64];
    uint32_t count = 64;
    vkEnumerateInstanceLayerProperties(&count, layers);
    for (uint32_t i = 0; i < count; ++i) {
        if (std::strcmp(layers[i].layerName, kLayer) == 0) return true;
    }
    return false;
}

} // namespace

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
}

void require(VkResult result, const char* what) {
    if (result == VK_SUCCESS) return;
    std::fprintf(stderr, "failed: %s returned %d\n", what, result);
    std::exit(1);
}

uint32_t messages() { return heard; }

Gpu::~Gpu() {
    if (device != VK_NULL_HANDLE) vkDestroyDevice(device, nullptr);
    if (messenger_ != VK_NULL_HANDLE) vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
    if (instance_ != VK_NULL_HANDLE) vkDestroyInstance(instance_, nullptr);
}

bool Gpu::makeInstance(bool validate) {
    if (volkInitialize() != VK_SUCCESS || volkGetInstanceVersion() < kVersion || (validate && !hasLayer())) {
        return false;
    }
    VkApplicationInfo application = {};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = kVersion;
    const VkValidationFeatureEnableEXT synchronization = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkValidationFeaturesEXT features = {};
    features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = &synchronization;
    VkDebugUtilsMessengerCreateInfoEXT messenger = messengerInfo();
    messenger.pNext = &features;
    const char* const layer = kLayer;
    const char* const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    VkInstanceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    if (validate) {
        askLayerForShaders();
        info.pNext = &messenger; // hears what the instance's creation and destruction have to say
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = &layer;
        info.enabledExtensionCount = 2;
        info.ppEnabledExtensionNames = extensions;
        enabled_.assign(extensions, extensions + 2);
    }
    if (vkCreateInstance(&info, nullptr, &instance_) != VK_SUCCESS) return false;
    volkLoadInstance(instance_);
    messenger.pNext = nullptr;
    return !validate || vkCreateDebugUtilsMessengerEXT(instance_, &messenger, nullptr, &messenger_) == VK_SUCCESS;
}

bool Gpu::suits(VkPhysicalDevice candidate, const std::string& name) {
    vkGetPhysicalDeviceProperties(candidate, &properties);
    const auto is_named = [&](const char* piece) { return std::strstr(properties.deviceName, piece) != nullptr; };
    if (name == "other" ? is_named("llvmpipe") || is_named("SwiftShader") : !is_named(name.c_str())) return false;
    if (properties.apiVersion < kVersion) return false;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
    timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    VkPhysicalDeviceFeatures2 features = {};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &timeline;
    vkGetPhysicalDeviceFeatures2(candidate, &features);
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(candidate, &count, families);
    for (family = 0; family < count; ++family) {
        if ((families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return timeline.timelineSemaphore == VK_TRUE;
    }
    return false;
}

bool Gpu::choose(const std::string& name, bool validate) {
    if (!makeInstance(validate)) return false;
    VkPhysicalDevice all[16];
    uint32_t count = 16;
    vkEnumeratePhysicalDevices(instance_, &count, all);
    for (uint32_t i = 0; i < count; ++i) {
        physical_device = all[i];
        if (suits(all[i], name)) return true;
    }
    return false;
}

std::vector<VkExtensionProperties> Gpu::extensions() const {
    uint32_t count = 0;
    vkEnumerateDeviceExtensionProperties(physical_device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> all(count);
    vkEnumerateDeviceExtensionProperties(physical_device, nullptr, &count, all.data());
    all.resize(count);
    return all;
}

void Gpu::open(const std::vector<const char*>& names) {
    const float priority = 1;
    const VkDeviceQueueCreateInfo queues = {
        VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, family, 1, &priority};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
    timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    timeline.timelineSemaphore = VK_TRUE;
    VkDeviceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &timeline;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queues;
    info.enabledExtensionCount = static_cast<uint32_t>(names.size());
    info.ppEnabledExtensionNames = names.data();
    require(vkCreateDevice(physical_device, &info, nullptr, &device), "vkCreateDevice");
    volkLoadDevice(device);
    vkGetDeviceQueue(device, family, 0, &queue);
    enabled_.insert(enabled_.end(), names.begin(), names.end());
}

} // namespace engine
