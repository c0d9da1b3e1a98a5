// vkrope devices: names the Vulkan devices, their offers and their rounding.
#include "program/option_values.hpp"
#include "program/tool.hpp"

#include <vkrope/device.hpp>

#include <nlohmann/json.hpp>

#include <cinttypes>
#include <cstdio>
#include <memory>

namespace tool {
namespace {

using Json = nlohmann::ordered_json;

struct ListedDevice {
    rope::DeviceInfo info;
    RopeLimits limits = {};
    bool nearest = false;
    std::string error; // why it cannot be used
};

std::vector<ListedDevice> openEach(std::string* error) {
    std::vector<ListedDevice> all;
    for (const rope::DeviceInfo& info : rope::listDevices(error)) {
        ListedDevice listed;
        listed.info = info;
        rope::DeviceOptions options;
        options.select = std::to_string(info.index);
        const rope::Device device = rope::Device::open(options, &listed.error);
        if (device) {
            listed.limits = device.limits();
            listed.nearest = ropeGetRounding(device.context()) == ROPE_ROUNDING_NEAREST;
        }
        all.push_back(listed);
    }
    return all;
}

bool isEnabled(const ListedDevice& listed, uint32_t bit) { return (listed.limits.enabled & bit) != 0; }

std::string vulkanVersion(const ListedDevice& listed) {
    const uint32_t version = listed.info.properties.apiVersion;
    return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) + "." +
           std::to_string(VK_API_VERSION_PATCH(version));
}

Json deviceJson(const ListedDevice& listed) {
    Json device = {{"index", listed.info.index},   {"name", listed.info.name},        {"type", listed.info.type},
                   {"driver", listed.info.driver}, {"vulkan", vulkanVersion(listed)}, {"usable", listed.error.empty()}};
    if (!listed.error.empty()) {
        device["error"] = listed.error;
        return device;
    }
    device["rounding"] = listed.nearest ? "nearest" : "other";
    device["offers"] = {{"push_descriptors", isEnabled(listed, ROPE_ENABLED_PUSH_DESCRIPTORS)},
                        {"storage_16", isEnabled(listed, ROPE_ENABLED_STORAGE_16)},
                        {"pipeline_robustness", isEnabled(listed, ROPE_ENABLED_PIPELINE_ROBUSTNESS)}};
    device["limits"] = {{"storage_range", listed.limits.storage_range},
                        {"storage_alignment", listed.limits.storage_alignment},
                        {"group_count", {listed.limits.group_count[0], listed.limits.group_count[1]}},
                        {"group_size", listed.limits.group_size}};
    return device;
}

void printListedDevice(const ListedDevice& listed) {
    std::printf("%s\n", oneLine(rope::describe(listed.info)).c_str());
    if (!listed.error.empty()) {
        std::printf("  not usable: %s\n", oneLine(listed.error).c_str());
        return;
    }
    const auto offers = [&](uint32_t bit) { return isEnabled(listed, bit) ? "yes" : "no"; };
    std::printf("  offers: push descriptors %s, 16-bit storage %s, pipelines without checks of bounds %s\n",
                offers(ROPE_ENABLED_PUSH_DESCRIPTORS), offers(ROPE_ENABLED_STORAGE_16),
                offers(ROPE_ENABLED_PIPELINE_ROBUSTNESS));
    std::printf("  limits: %" PRIu64 " bytes in a binding, aligned to %u; %u x %u groups of %u\n",
                listed.limits.storage_range, listed.limits.storage_alignment, listed.limits.group_count[0],
                listed.limits.group_count[1], listed.limits.group_size);
    std::printf("  rounds float32 %s\n", listed.nearest
                                             ? "to nearest: its bits are those of every such device and of the CPU"
                                             : "otherwise than to nearest: the last bit may differ from other devices");
}

bool runDevices(bool json, Failure* failure) {
    std::string error;
    const std::vector<ListedDevice> all = openEach(&error);
    if (all.empty()) return refuse(failure, error + "; other commands need none with --device cpu");
    if (!json) {
        for (const ListedDevice& listed : all) printListedDevice(listed);
        return true;
    }
    Json list = Json::array();
    for (const ListedDevice& listed : all) list.push_back(deviceJson(listed));
    std::printf("%s\n", list.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return true;
}

} // namespace

RunCommand addDevicesCommand(CLI::App* app) {
    const auto json = std::make_shared<bool>(false);
    addFlag(app, "--json", json.get(), "as JSON");
    addFooter(app, "example:\n  vkrope devices --json");
    return [json](Failure* failure) { return runDevices(*json, failure); };
}

} // namespace tool
