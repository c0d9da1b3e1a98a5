// To let a description of `vkrope bench --beside` say a thing more: its key here, its use in bench/cases/foreign.cpp,
// and docs/bench.md.
#include "program/bench/beside.hpp"

#include "program/check/interface.hpp"
#include "program/elements.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

namespace tool {
namespace {

using Json = nlohmann::json;
using measure::Foreign;
using measure::ForeignBuffer;
using measure::ForeignDispatch;

// A value of the description, with the way to it from the file's name on: "rope.json: dispatches[0].push".
struct Value {
    const Json& json;
    std::string where;

    [[noreturn]] void refuse(const std::string& why) const {
        throw std::invalid_argument("--beside: " + where + " " + why);
    }
    void mustBe(bool is, const char* what) const {
        if (!is) refuse(std::string("must be ") + what);
    }
    Value at(size_t i) const { return {json[i], where + "[" + std::to_string(i) + "]"}; }
    Value operator[](const std::string& key) const {
        if (!json.contains(key)) refuse("has no \"" + key + "\"");
        return {json[key], where + (where.back() == ':' ? " " : ".") + key};
    }
    // Every key of an object is known; `needed` ones are there.
    void mustHave(const std::vector<std::string>& needed, const std::vector<std::string>& others = {}) const {
        mustBe(json.is_object(), "an object");
        for (const std::string& key : needed) (*this)[key];
        for (const auto& item : json.items()) {
            if (std::count(needed.begin(), needed.end(), item.key()) +
                    std::count(others.begin(), others.end(), item.key()) ==
                0)
                (*this)[item.key()].refuse("is no key that is known");
        }
    }
    std::string text() const {
        mustBe(json.is_string() && !json.get_ref<const std::string&>().empty(), "a text");
        return json;
    }
    uint64_t whole(uint64_t least, uint64_t most) const {
        const bool is = json.is_number_unsigned() && json.get<uint64_t>() >= least && json.get<uint64_t>() <= most;
        if (!is) refuse("must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
        return json;
    }
    // Calls visit(number, value) for each key of an object; the keys are whole numbers.
    void numbered(const std::function<void(uint32_t, const Value&)>& visit) const {
        mustBe(json.is_object(), "an object");
        for (const auto& item : json.items()) {
            const Value value = (*this)[item.key()];
            const std::string& key = item.key();
            if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != key.npos)
                value.refuse("has a key that is no whole number");
            visit(static_cast<uint32_t>(std::strtoul(key.c_str(), nullptr, 10)), value);
        }
    }
};

// Appends the bytes of ["u32", 1, 2, ...].
void readNumbers(const Value& list, std::vector<uint8_t>* bytes) {
    list.mustBe(list.json.is_array() && list.json.size() > 1, "a type and its numbers, as [\"u32\", 1, 2]");
    const std::string type = list.at(0).text();
    const auto append = [bytes](auto number) {
        const size_t end = bytes->size();
        bytes->resize(end + sizeof number);
        std::memcpy(&(*bytes)[end], &number, sizeof number);
    };
    for (size_t i = 1; i < list.json.size(); ++i) {
        const Value number = list.at(i);
        if (type == "f32") {
            number.mustBe(number.json.is_number(), "a number");
            append(number.json.get<float>());
        } else if (type == "i32") {
            const bool is = number.json.is_number_integer() && number.json.get<int64_t>() >= INT32_MIN &&
                            number.json.get<int64_t>() <= INT32_MAX;
            number.mustBe(is, "a whole number that int32 holds");
            append(number.json.get<int32_t>());
        } else {
            list.at(0).mustBe(type == "u32", "u32, i32 or f32");
            append(static_cast<uint32_t>(number.whole(0, UINT32_MAX)));
        }
    }
}

ForeignBuffer readBuffer(const Value& given, const RopeLimits& limits) {
    given.mustHave({"bytes"}, {"fill"});
    ForeignBuffer buffer;
    buffer.bytes = given["bytes"].whole(4, limits.storage_range);
    if (!given.json.contains("fill")) return buffer;
    const std::string fill = given["fill"].text();
    buffer.drawn = elementOf(fill);
    buffer.counted = fill == "i32" ? 4 : fill == "i64" ? 8 : 0;
    given["fill"].mustBe(buffer.drawn != ROPE_ELEMENT_DEFAULT || buffer.counted != 0 || fill == "zeros",
                         "zeros, f32, f16 or bf16 (drawn between -1 and 1), i32 or i64 (0, 1, 2, ...)");
    return buffer;
}

// ---- The module is compared with the description, and with what a device that vkrope opens has.

std::string listOf(const std::map<uint32_t, uint32_t>& given) {
    std::string text;
    for (const auto& one : given) text += (text.empty() ? "" : ", ") + std::to_string(one.first);
    return text.empty() ? "none" : text;
}

// The numbers are SPIR-V's. Those of subgroups have the order of Vulkan's bits.
void checkCapabilities(const Value& file, const rope::ShaderInterface& interface, rope::Device* device) {
    constexpr uint32_t kNewest = 0x00010300; // of Vulkan 1.1
    constexpr uint32_t kMatrix = 0, kShader = 1, kGroups = 61, kLastOfGroups = 68, kStorage16 = 4433;
    VkPhysicalDeviceSubgroupProperties groups = {};
    groups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &groups, {}};
    device->vk().GetPhysicalDeviceProperties2(device->physicalDevice(), &properties);
    if (interface.version > kNewest)
        file.refuse("is of a SPIR-V newer than 1.3; glslc --target-env=vulkan1.1 compiles it for these devices");
    if (!interface.strange.empty()) file.refuse("binds " + interface.strange + ", which is no storage buffer in set 0");
    for (const uint32_t capability : interface.capabilities) {
        const bool has = capability == kMatrix || capability == kShader ||
                         (capability >= kGroups && capability <= kLastOfGroups &&
                          (groups.supportedOperations >> (capability - kGroups) & 1) != 0) ||
                         (capability == kStorage16 && (device->limits().enabled & ROPE_ENABLED_STORAGE_16) != 0);
        if (!has)
            file.refuse("asks for SPIR-V's capability " + std::to_string(capability) +
                        ", which the device is not opened with");
    }
}

void checkGroup(const Value& given, const rope::ShaderInterface& interface, const ForeignDispatch& dispatch,
                const VkPhysicalDeviceLimits& limits) {
    uint64_t threads = 1;
    bool fits = true;
    for (uint32_t axis = 0; axis < 3; ++axis) {
        uint32_t size = interface.group[axis];
        const auto id = interface.group_id.find(axis);
        if (id != interface.group_id.end() && dispatch.constants.count(id->second) != 0)
            size = dispatch.constants.at(id->second);
        fits = fits && size != 0 && size <= limits.maxComputeWorkGroupSize[axis];
        threads *= size;
    }
    if (!fits || threads > limits.maxComputeWorkGroupInvocations)
        given.refuse("makes groups of " + std::to_string(threads) + " threads, and the device takes 1 to " +
                     std::to_string(limits.maxComputeWorkGroupInvocations));
}

ForeignDispatch readDispatch(const Value& given, const std::string& folder, const Json& buffers, rope::Device* device) {
    const VkPhysicalDeviceLimits& limits = device->info().properties.limits;
    given.mustHave({"file", "bindings", "groups"}, {"entry", "push", "constants"});
    ForeignDispatch dispatch;
    rope::ShaderInterface interface;
    std::string error;
    const Value file = given["file"];
    const std::string path = (std::filesystem::path(folder) / file.text()).string();
    if (!rope::readWords(path, &dispatch.code, &error)) file.refuse("cannot be used: " + error);
    if (!rope::readInterface(dispatch.code, &interface, &error)) file.refuse("cannot be used: " + path + " " + error);
    checkCapabilities(file, interface, device);
    dispatch.entry = given.json.contains("entry") ? given["entry"].text() : "main";
    if (interface.entries.count(dispatch.entry) == 0)
        file.refuse("has no compute shader '" + dispatch.entry + "', which \"entry\" names, else main");
    given["bindings"].numbered([&](uint32_t binding, const Value& name) {
        const auto found = buffers.find(name.text());
        name.mustBe(found != buffers.end(), "the name of one of the buffers");
        dispatch.bindings[binding] = static_cast<uint32_t>(std::distance(buffers.begin(), found));
    });
    std::map<uint32_t, uint32_t> wanted;
    for (const uint32_t binding : interface.bindings) wanted[binding] = 0;
    if (listOf(wanted) != listOf(dispatch.bindings))
        given["bindings"].refuse("are " + listOf(dispatch.bindings) + ", and the module has " + listOf(wanted));
    if (given.json.contains("constants")) {
        given["constants"].numbered([&](uint32_t id, const Value& number) {
            std::vector<uint8_t> bytes;
            readNumbers(number, &bytes);
            number.mustBe(bytes.size() == 4, "one number");
            if (interface.ids.count(id) == 0)
                number.refuse("is no constant of the module, which has " + listOf(interface.ids));
            std::memcpy(&dispatch.constants[id], bytes.data(), 4);
        });
    }
    if (given.json.contains("push")) {
        const Value push = given["push"];
        push.mustBe(push.json.is_array(), "a list of types and numbers");
        for (size_t i = 0; i < push.json.size(); ++i) readNumbers(push.at(i), &dispatch.push);
    }
    if (dispatch.push.size() != interface.push_bytes || dispatch.push.size() > limits.maxPushConstantsSize)
        given.refuse("has " + std::to_string(dispatch.push.size()) + " bytes of \"push\", and the module takes " +
                     std::to_string(interface.push_bytes) + ", the device " +
                     std::to_string(limits.maxPushConstantsSize));
    const Value groups = given["groups"];
    groups.mustBe(groups.json.is_array() && groups.json.size() == 3, "three whole numbers");
    for (uint32_t axis = 0; axis < 3; ++axis)
        dispatch.groups[axis] = static_cast<uint32_t>(groups.at(axis).whole(1, limits.maxComputeWorkGroupCount[axis]));
    checkGroup(given, interface, dispatch, limits);
    return dispatch;
}

} // namespace

Foreign readBeside(const std::string& path, rope::Device* device) {
    std::ifstream file(path);
    const Json json = Json::parse(file, nullptr, false);
    const Value whole = {json, path + ":"};
    if (!file.is_open()) whole.refuse("there is no such file");
    if (json.is_discarded()) whole.refuse("is no JSON");
    whole.mustHave({"name", "buffers", "dispatches"}, {"copy"});
    Foreign foreign;
    foreign.name = whole["name"].text();
    if (json.contains("copy")) foreign.copied = whole["copy"].whole(256, uint64_t{1} << 33);
    const Value buffers = whole["buffers"], dispatches = whole["dispatches"];
    buffers.mustBe(buffers.json.is_object() && buffers.json.size() <= ROPE_SLOT_COUNT, "an object of few buffers");
    for (const auto& item : buffers.json.items())
        foreign.buffers.push_back(readBuffer(buffers[item.key()], device->limits()));
    dispatches.mustBe(dispatches.json.is_array() && !dispatches.json.empty() && dispatches.json.size() <= 64,
                      "a list of 1 to 64 dispatches");
    const std::string folder = std::filesystem::path(path).parent_path().string();
    for (size_t i = 0; i < dispatches.json.size(); ++i)
        foreign.dispatches.push_back(readDispatch(dispatches.at(i), folder, buffers.json, device));
    return foreign;
}

} // namespace tool
