// This file lists the devices that there are, and chooses the one that is meant.
#pragma once

#include <vkrope/device.hpp>

namespace rope {
inline namespace ROPE_NAMESPACE {

// Chooses among the devices of an instance, as DeviceOptions::select says.
bool chooseDevice(const Instance& instance, const std::string& select, DeviceInfo* chosen, std::string* error);

bool listExtensions(const VulkanFunctions& vk, VkPhysicalDevice device, std::vector<VkExtensionProperties>* extensions,
                    std::string* error);
bool hasDeviceExtension(const std::vector<VkExtensionProperties>& extensions, const char* name);

} // namespace ROPE_NAMESPACE
} // namespace rope
