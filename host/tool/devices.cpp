// vkrope devices
#include "tool/tool.hpp"

#include "device.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cinttypes>
#include <cstdio>
#include <memory>

namespace tool {
namespace {

using Json = nlohmann::ordered_json;

struct Found {
    rope::DeviceInfo info;
    RopeLimits limits = {};
    bool nearest = false;
    std::string error; // why it cannot be used
};

std::vector<Found> findAll(std::string* error) {
    std::vector<Found> all;
    for (const rope::DeviceInfo& info : rope::listDevices(error)) {
        Found found;
        found.info = info;
        rope::DeviceOptions options;
        options.select = std::to_string(info.index);
        const rope::Device device = rope::Device::open(options, &found.error);
        if (device) {
            found.limits = device.limits();
            found.nearest = ropeGetRounding(device.context()) == ROPE_ROUNDING_NEAREST;
        }
        all.push_back(found);
    }
    return all;
}

bool has(const Found& found, uint32_t bit) { return (found.limits.enabled & bit) != 0; }

std::string vulkanVersion(const Found& found) {
    const uint32_t version = found.info.properties.apiVersion;
    return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) + "." +
           std::to_string(VK_API_VERSION_PATCH(version));
}

Json described(const Found& found) {
    Json device = {{"index", found.info.index},   {"name", found.info.name},        {"type", found.info.type},
                   {"driver", found.info.driver}, {"vulkan", vulkanVersion(found)}, {"usable", found.error.empty()}};
    if (!found.error.empty()) {
        device["error"] = found.error;
        return device;
    }
    device["rounding"] = found.nearest ? "nearest" : "other";
    device["offers"] = {{"push_descriptors", has(found, ROPE_ENABLED_PUSH_DESCRIPTORS)},
                        {"storage_16", has(found, ROPE_ENABLED_STORAGE_16)}};
    device["limits"] = {{"storage_range", found.limits.storage_range},
                        {"storage_alignment", found.limits.storage_alignment},
                        {"group_count", {found.limits.group_count[0], found.limits.group_count[1]}},
                        {"group_size", found.limits.group_size}};
    return device;
}

void print(const Found& found) {
    std::printf("%s\n", oneLine(rope::describe(found.info)).c_str());
    if (!found.error.empty()) {
        std::printf("  not usable: %s\n", oneLine(found.error).c_str());
        return;
    }
    std::printf("  offers: push descriptors %s, 16-bit storage %s\n",
                has(found, ROPE_ENABLED_PUSH_DESCRIPTORS) ? "yes" : "no",
                has(found, ROPE_ENABLED_STORAGE_16) ? "yes" : "no");
    std::printf("  limits: %" PRIu64 " bytes in a binding, aligned to %u; %u x %u groups of %u\n",
                found.limits.storage_range, found.limits.storage_alignment, found.limits.group_count[0],
                found.limits.group_count[1], found.limits.group_size);
    std::printf("  rounds float32 %s\n", found.nearest
                                             ? "to nearest: its bits are those of every such device and of the CPU"
                                             : "otherwise than to nearest: the last bit may differ from other devices");
}

bool run(bool json, Failure* failure) {
    std::string error;
    const std::vector<Found> all = findAll(&error);
    if (all.empty()) return refuse(failure, error + " (--device reference needs none)");
    if (!json) {
        for (const Found& found : all) print(found);
        return true;
    }
    Json list = Json::array();
    for (const Found& found : all) list.push_back(described(found));
    std::printf("%s\n", list.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return true;
}

} // namespace

Work addDevices(CLI::App* app) {
    const auto json = std::make_shared<bool>(false);
    app->add_flag("--json", *json, "as JSON");
    app->footer("example:\n  vkrope devices --json");
    return [json](Failure* failure) { return run(*json, failure); };
}

} // namespace tool
