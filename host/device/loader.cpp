#include "device/list.hpp"
#include <vkrope/loader.hpp>

#include <cstring>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace rope {
inline namespace ROPE_NAMESPACE {
namespace {

constexpr char kValidationLayer[] = "VK_LAYER_KHRONOS_validation";

#if defined(_WIN32)
constexpr char kNoLoader[] = "no Vulkan loader: vulkan-1.dll was not found; install your GPU's driver";
#elif defined(__APPLE__)
constexpr char kNoLoader[] = "no Vulkan loader: neither libvulkan.dylib nor libMoltenVK.dylib was found; install the "
                             "Vulkan SDK or MoltenVK";
#else
constexpr char kNoLoader[] = "no Vulkan loader: libvulkan.so.1 was not found; install libvulkan1 (Debian, Ubuntu), "
                             "vulkan-loader (Fedora) or vulkan-icd-loader (Arch)";
#endif

// The loader stays open until the program ends, because drivers keep threads and thread-local data that outlive an
// instance.
PFN_vkGetInstanceProcAddr openLoader() {
#if defined(_WIN32)
    const HMODULE library = LoadLibraryA("vulkan-1.dll");
    void (*found)() =
        library ? reinterpret_cast<void (*)()>(GetProcAddress(library, "vkGetInstanceProcAddr")) : nullptr;
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(found);
#else
#if defined(__APPLE__)
    const char* const names[] = {"libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib",
                                 "/usr/local/lib/libvulkan.dylib", "/opt/homebrew/lib/libvulkan.dylib"};
#else
    const char* const names[] = {"libvulkan.so.1", "libvulkan.so"};
#endif
    for (const char* name : names) {
        if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
            if (void* found = dlsym(library, "vkGetInstanceProcAddr"))
                return reinterpret_cast<PFN_vkGetInstanceProcAddr>(found);
            dlclose(library);
        }
    }
    return nullptr;
#endif
}

VKAPI_ATTR VkBool32 VKAPI_CALL onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void* messages) {
    const std::string name = data->pMessageIdName ? data->pMessageIdName : "";
    if (name != "Loader Message") // the loader reports skipped drivers under this name; no program caused it
        static_cast<Messages*>(messages)->add(name + ": " + (data->pMessage ? data->pMessage : ""));
    return VK_FALSE;
}

VKAPI_ATTR VkBool32 VKAPI_CALL onReport(VkDebugReportFlagsEXT, VkDebugReportObjectTypeEXT, uint64_t, size_t, int32_t,
                                        const char* layer, const char* text, void* messages) {
    const std::string by = layer ? layer : "";
    if (by != "Loader Message") static_cast<Messages*>(messages)->add(by + ": " + (text ? text : ""));
    return VK_FALSE;
}

std::vector<VkExtensionProperties> instanceExtensions(const VulkanFunctions& vk, const char* layer) {
    std::vector<VkExtensionProperties> found;
    uint32_t count = 0;
    if (vk.EnumerateInstanceExtensionProperties(layer, &count, nullptr) == VK_SUCCESS) {
        found.resize(count);
        vk.EnumerateInstanceExtensionProperties(layer, &count, found.data());
        found.resize(count);
    }
    return found;
}

bool hasInstanceExtension(const std::vector<VkExtensionProperties>& extensions, const char* name) {
    for (const VkExtensionProperties& extension : extensions)
        if (std::strcmp(extension.extensionName, name) == 0) return true;
    return false;
}

bool hasLayer(const VulkanFunctions& vk, const char* name) {
    uint32_t count = 0;
    vk.EnumerateInstanceLayerProperties(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    vk.EnumerateInstanceLayerProperties(&count, layers.data());
    layers.resize(count);
    for (const VkLayerProperties& layer : layers)
        if (std::strcmp(layer.layerName, name) == 0) return true;
    return false;
}

std::string creationError(VkResult result) {
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        return "no Vulkan device: the loader found no driver; install mesa-vulkan-drivers for a CPU driver, or your "
               "GPU's driver";
    }
    return "no Vulkan instance: vkCreateInstance returned " + resultName(result);
}

// The request from which an instance is made. The structures point at one another, so a request is never moved.
struct Request {
    Request(const VulkanFunctions& vk, Messages* messages, bool debug_utils);
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    const char* layer = kValidationLayer;
    const VkValidationFeatureEnableEXT enabled = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    std::vector<const char*> extensions;
    VkApplicationInfo application = {};
    VkValidationFeaturesEXT features = {};
    VkDebugUtilsMessengerCreateInfoEXT messenger = {};
    VkDebugReportCallbackCreateInfoEXT report = {};
    VkInstanceCreateInfo info = {};

  private:
    void validate(const VulkanFunctions& vk, Messages* messages, bool debug_utils);
};

// The messenger, or the report, also hears messages about the instance's creation and destruction.
void Request::validate(const VulkanFunctions& vk, Messages* messages, bool debug_utils) {
    features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = &enabled;
    messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                            VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                            VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    messenger.pfnUserCallback = onMessage;
    messenger.pUserData = messages;
    report.sType = VK_STRUCTURE_TYPE_DEBUG_REPORT_CALLBACK_CREATE_INFO_EXT;
    report.flags =
        VK_DEBUG_REPORT_WARNING_BIT_EXT | VK_DEBUG_REPORT_PERFORMANCE_WARNING_BIT_EXT | VK_DEBUG_REPORT_ERROR_BIT_EXT;
    report.pfnCallback = onReport;
    report.pUserData = messages;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    const void** next = debug_utils ? &messenger.pNext : &report.pNext;
    if (debug_utils)
        info.pNext = &messenger;
    else
        info.pNext = &report;
    extensions.push_back(debug_utils ? VK_EXT_DEBUG_UTILS_EXTENSION_NAME : VK_EXT_DEBUG_REPORT_EXTENSION_NAME);
    if (hasInstanceExtension(instanceExtensions(vk, layer), VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
        *next = &features;
        extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    }
}

Request::Request(const VulkanFunctions& vk, Messages* messages, bool debug_utils) {
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = ROPE_API_VERSION;
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;

    std::vector<VkExtensionProperties> present = instanceExtensions(vk, nullptr);
    if (hasInstanceExtension(present, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) { // MoltenVK is hidden without it
        info.flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
        extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    }
    if (messages) validate(vk, messages, debug_utils);
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
}

} // namespace

uint32_t Messages::count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_;
}

std::string Messages::text() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text_;
}

void Messages::add(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    text_ += line;
    text_ += '\n';
}

std::unique_ptr<Instance> Instance::open(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                         std::shared_ptr<Messages> messages, std::string* error, bool debug_utils) {
    if (!get_instance_proc_addr) get_instance_proc_addr = openLoader();
    if (!get_instance_proc_addr) {
        *error = kNoLoader;
        return nullptr;
    }
    std::unique_ptr<Instance> instance(new Instance);
    instance->vk_.GetInstanceProcAddr = get_instance_proc_addr;
    instance->messages_ = std::move(messages);
    instance->debug_utils_ = debug_utils;
    if (!instance->create(error) || !instance->loadFunctions(error)) return nullptr;
    return instance;
}

bool Instance::create(std::string* error) {
#define ROPE_LOAD(name) vk_.name = reinterpret_cast<PFN_vk##name>(vk_.GetInstanceProcAddr(nullptr, "vk" #name));
    ROPE_GLOBAL_FUNCTIONS(ROPE_LOAD)
#undef ROPE_LOAD
    uint32_t version = VK_API_VERSION_1_0;
    if (vk_.EnumerateInstanceVersion) vk_.EnumerateInstanceVersion(&version);
    if (version < ROPE_API_VERSION || !vk_.CreateInstance) {
        *error = vk_.CreateInstance ? "the Vulkan loader is of version 1.0 and 1.1 is needed: install a newer one"
                                    : "the Vulkan loader has no vkCreateInstance: give one that has";
        return false;
    }
    if (messages_ && !hasLayer(vk_, kValidationLayer)) {
        *error = std::string("no ") + kValidationLayer +
                 ": install vulkan-validationlayers or the Vulkan SDK, or open the device without validation";
        return false;
    }
    Request request(vk_, messages_.get(), debug_utils_);
    const VkResult result = vk_.CreateInstance(&request.info, nullptr, &handle_);
    if (result != VK_SUCCESS) {
        handle_ = VK_NULL_HANDLE;
        *error = creationError(result);
        return false;
    }
    extensions_ = request.extensions;
    return !messages_ ||
           (debug_utils_ ? createMessenger(request.messenger, error) : createReport(request.report, error));
}

bool Instance::createReport(VkDebugReportCallbackCreateInfoEXT info, std::string* error) {
    info.pNext = nullptr;
    const PFN_vkCreateDebugReportCallbackEXT make = reinterpret_cast<PFN_vkCreateDebugReportCallbackEXT>(
        vk_.GetInstanceProcAddr(handle_, "vkCreateDebugReportCallbackEXT"));
    if (!make || make(handle_, &info, nullptr, &report_) != VK_SUCCESS) {
        *error = "the validation layer's messages cannot be had: vkCreateDebugReportCallbackEXT failed";
        return false;
    }
    return true;
}

bool Instance::createMessenger(VkDebugUtilsMessengerCreateInfoEXT info, std::string* error) {
    info.pNext = nullptr;
    const PFN_vkCreateDebugUtilsMessengerEXT make = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        vk_.GetInstanceProcAddr(handle_, "vkCreateDebugUtilsMessengerEXT"));
    if (!make || make(handle_, &info, nullptr, &messenger_) != VK_SUCCESS) {
        *error = "the validation layer's messages cannot be had: vkCreateDebugUtilsMessengerEXT failed";
        return false;
    }
    return true;
}

bool Instance::loadFunctions(std::string* error) {
    const char* missing = nullptr;
#define ROPE_LOAD(name)                                                                                                \
    vk_.name = reinterpret_cast<PFN_vk##name>(vk_.GetInstanceProcAddr(handle_, "vk" #name));                           \
    missing = vk_.name ? missing : "vk" #name;
    ROPE_INSTANCE_FUNCTIONS(ROPE_LOAD)
#undef ROPE_LOAD
    if (missing) *error = std::string("the Vulkan instance has no ") + missing + ": install a newer Vulkan loader";
    return !missing;
}

Instance::~Instance() {
    if (messenger_) {
        const PFN_vkDestroyDebugUtilsMessengerEXT destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
            vk_.GetInstanceProcAddr(handle_, "vkDestroyDebugUtilsMessengerEXT"));
        destroy(handle_, messenger_, nullptr);
    }
    if (report_) {
        const PFN_vkDestroyDebugReportCallbackEXT destroy = reinterpret_cast<PFN_vkDestroyDebugReportCallbackEXT>(
            vk_.GetInstanceProcAddr(handle_, "vkDestroyDebugReportCallbackEXT"));
        destroy(handle_, report_, nullptr);
    }
    if (handle_) {
        const PFN_vkDestroyInstance destroy =
            reinterpret_cast<PFN_vkDestroyInstance>(vk_.GetInstanceProcAddr(handle_, "vkDestroyInstance"));
        destroy(handle_, nullptr);
    }
}

bool Instance::physicalDevices(std::vector<VkPhysicalDevice>* devices, std::string* error) const {
    const VkResult result = listAll(devices, [this](uint32_t* count, VkPhysicalDevice* listed) {
        return vk_.EnumeratePhysicalDevices(handle_, count, listed);
    });
    if (result == VK_SUCCESS || result == VK_ERROR_INITIALIZATION_FAILED) // the loader's answer if no driver has one
        return true;
    *error = "vkEnumeratePhysicalDevices returned " + resultName(result);
    return false;
}

std::string resultName(VkResult result) {
    switch (result) {
#define ROPE_NAME(value)                                                                                               \
    case value:                                                                                                        \
        return #value;
        ROPE_NAME(VK_SUCCESS)
        ROPE_NAME(VK_NOT_READY)
        ROPE_NAME(VK_TIMEOUT)
        ROPE_NAME(VK_INCOMPLETE)
        ROPE_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
        ROPE_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        ROPE_NAME(VK_ERROR_INITIALIZATION_FAILED)
        ROPE_NAME(VK_ERROR_DEVICE_LOST)
        ROPE_NAME(VK_ERROR_MEMORY_MAP_FAILED)
        ROPE_NAME(VK_ERROR_LAYER_NOT_PRESENT)
        ROPE_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
        ROPE_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
        ROPE_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
        ROPE_NAME(VK_ERROR_TOO_MANY_OBJECTS)
        ROPE_NAME(VK_ERROR_FRAGMENTED_POOL)
        ROPE_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
        ROPE_NAME(VK_ERROR_UNKNOWN)
#undef ROPE_NAME
    default:
        return "VkResult " + std::to_string(static_cast<int>(result));
    }
}

} // namespace ROPE_NAMESPACE
} // namespace rope
