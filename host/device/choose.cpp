#include "device/choose.hpp"

#include "device/list.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace rope {
inline namespace ROPE_NAMESPACE {

bool listExtensions(const VulkanFunctions& vk, VkPhysicalDevice device, std::vector<VkExtensionProperties>* extensions,
                    std::string* error) {
    const VkResult result = listAll(extensions, [&](uint32_t* count, VkExtensionProperties* listed) {
        return vk.EnumerateDeviceExtensionProperties(device, nullptr, count, listed);
    });
    if (result != VK_SUCCESS) *error = "vkEnumerateDeviceExtensionProperties returned " + resultName(result);
    return result == VK_SUCCESS;
}

bool hasDeviceExtension(const std::vector<VkExtensionProperties>& extensions, const char* name) {
    return std::any_of(extensions.begin(), extensions.end(), [name](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, name) == 0;
    });
}

namespace {

constexpr char kNoDevice[] = "no Vulkan device: the loader's drivers found none; install mesa-vulkan-drivers for a CPU "
                             "driver, or your GPU's driver";

const char* typeName(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return "cpu";
    default:
        return "other";
    }
}

uint32_t preference(const DeviceInfo& info) { // the best device has the least
    const VkPhysicalDeviceType order[] = {VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
                                          VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, VK_PHYSICAL_DEVICE_TYPE_CPU};
    uint32_t place = 0;
    while (place < 4 && order[place] != info.properties.deviceType) ++place;
    return place;
}

std::string versionText(uint32_t version) {
    return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) + "." +
           std::to_string(VK_API_VERSION_PATCH(version));
}

DeviceInfo readInfo(const VulkanFunctions& vk, VkPhysicalDevice device, uint32_t index,
                    const std::vector<VkExtensionProperties>& extensions) {
    DeviceInfo info;
    info.index = index;
    info.physical_device = device;
    vk.GetPhysicalDeviceProperties(device, &info.properties);
    info.name = info.properties.deviceName;
    info.type = typeName(info.properties.deviceType);
    if (info.properties.apiVersion >= VK_API_VERSION_1_1 &&
        hasDeviceExtension(extensions, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) {
        VkPhysicalDeviceDriverProperties driver = {};
        driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
        VkPhysicalDeviceProperties2 properties = {};
        properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        properties.pNext = &driver;
        vk.GetPhysicalDeviceProperties2(device, &properties);
        info.driver = driver.driverName;
        if (driver.driverInfo[0]) info.driver += std::string(" ") + driver.driverInfo;
    }
    return info;
}

// A device that does not list its extensions is there, without its driver's name. It cannot be opened.
bool readInfos(const Instance& instance, std::vector<DeviceInfo>* infos, std::string* error) {
    std::vector<VkPhysicalDevice> devices;
    if (!instance.physicalDevices(&devices, error)) return false;
    for (VkPhysicalDevice device : devices) {
        std::vector<VkExtensionProperties> extensions;
        std::string ignored;
        listExtensions(instance.vk(), device, &extensions, &ignored);
        infos->push_back(readInfo(instance.vk(), device, static_cast<uint32_t>(infos->size()), extensions));
    }
    return true;
}

std::string inLowerCase(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return text;
}

// Returns the devices that `select` may mean: the one with that index, else those with the text in their name or
// driver; all if the text is empty.
std::vector<DeviceInfo> matchingDevices(const std::vector<DeviceInfo>& infos, const std::string& select) {
    if (!select.empty() && select.find_first_not_of("0123456789") == std::string::npos) {
        const size_t index = select.size() < 9 ? std::strtoul(select.c_str(), nullptr, 10) : infos.size();
        return index < infos.size() ? std::vector<DeviceInfo>{infos[index]} : std::vector<DeviceInfo>();
    }
    const std::string wanted = inLowerCase(select);
    std::vector<DeviceInfo> found;
    for (const DeviceInfo& info : infos)
        if (inLowerCase(info.name).find(wanted) != std::string::npos ||
            inLowerCase(info.driver).find(wanted) != std::string::npos)
            found.push_back(info);
    return found;
}

bool isBetter(const DeviceInfo& a, const DeviceInfo& b) {
    const bool a_old = a.properties.apiVersion < ROPE_API_VERSION;
    const bool b_old = b.properties.apiVersion < ROPE_API_VERSION;
    if (a_old != b_old) return b_old;
    return preference(a) != preference(b) ? preference(a) < preference(b)
                                          : a.properties.apiVersion > b.properties.apiVersion;
}

bool chooseOf(const std::vector<DeviceInfo>& infos, const std::string& select, DeviceInfo* chosen, std::string* error) {
    if (infos.empty()) {
        *error = kNoDevice;
        return false;
    }
    const std::vector<DeviceInfo> found = matchingDevices(infos, select);
    if (found.empty()) {
        *error = "no device matches '" + select + "'; present:";
        for (const DeviceInfo& info : infos)
            *error += (info.index ? ", " : " ") + std::to_string(info.index) + " " + info.name;
        return false;
    }
    *chosen = *std::min_element(found.begin(), found.end(), isBetter);
    if (chosen->properties.apiVersion < ROPE_API_VERSION) {
        *error = chosen->name + " has Vulkan " + versionText(chosen->properties.apiVersion) +
                 " and 1.1 is needed: install a newer driver or select another device";
        return false;
    }
    return true;
}

} // namespace

std::string describe(const DeviceInfo& info) {
    return std::to_string(info.index) + " " + info.name + " (" + info.type + ", Vulkan " +
           versionText(info.properties.apiVersion) + (info.driver.empty() ? "" : ", driver " + info.driver) + ")";
}

std::vector<DeviceInfo> listDevices(std::string* error) {
    const std::unique_ptr<Instance> instance = Instance::open(nullptr, nullptr, error);
    if (!instance) return {};
    std::vector<DeviceInfo> infos;
    if (!readInfos(*instance, &infos, error)) return {};
    if (infos.empty()) *error = kNoDevice;
    for (DeviceInfo& info : infos) info.physical_device = VK_NULL_HANDLE;
    return infos;
}

bool chooseDevice(const Instance& instance, const std::string& select, DeviceInfo* chosen, std::string* error) {
    std::vector<DeviceInfo> infos;
    return readInfos(instance, &infos, error) && chooseOf(infos, select, chosen, error);
}

} // namespace ROPE_NAMESPACE
} // namespace rope
