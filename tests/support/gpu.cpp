#include "gpu.hpp"
#include "combinations.hpp"
#include "fences.hpp"
#include "floor.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace gpu {
namespace {

struct OpenedDevice {
    rope::Device device;
    std::string error;
    std::shared_ptr<rope::Messages> messages;
};

std::map<std::string, OpenedDevice>& opened() {
    static std::map<std::string, OpenedDevice> all;
    return all;
}

bool layerIsInstalled() {
    std::string error;
    const std::unique_ptr<rope::Instance> instance = rope::Instance::open(nullptr, nullptr, &error);
    if (!instance) return false;
    const auto enumerate = reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(
        instance->vk().GetInstanceProcAddr(nullptr, "vkEnumerateInstanceLayerProperties"));
    uint32_t count = 0;
    enumerate(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    enumerate(&count, layers.data());
    const auto validates = [](const VkLayerProperties& layer) {
        return std::strcmp(layer.layerName, "VK_LAYER_KHRONOS_validation") == 0;
    };
    return std::any_of(layers.begin(), layers.end(), validates);
}

// The test command demands the layer by VKROPE_TEST_VALIDATE=1. At 0 there is none: Wine has no layers, and the
// environment in which the tests run there may put one below Wine. Unset, the tests take the layer where it is.
bool wantsValidation() {
    static const char* const wanted = std::getenv("VKROPE_TEST_VALIDATE");
    static const bool wants = wanted != nullptr ? std::strcmp(wanted, "0") != 0 : layerIsInstalled();
    return wants;
}

// Newer layers take a whole binding for written. The dispatches of a plan write bytes of their own, to bindings that
// may overlap, so that such messages do not count. They read nothing that others write; those messages do.
uint32_t countMessages(const rope::Messages& messages) {
    const std::string text = messages.text();
    uint32_t count = messages.count();
    for (size_t at = 0; (at = text.find("WRITE_AFTER_WRITE hazard detected", at)) != std::string::npos; ++at) --count;
    return count;
}

// The first line of a run says if there is no layer. Messages of the layer while devices are destroyed (leaks, above
// all) fail the run.
class CloseDevices : public testing::Environment {
  public:
    void SetUp() override {
        if (!wantsValidation()) std::printf("devices are tried without the validation layer\n");
    }
    void TearDown() override {
        for (auto& entry : opened()) {
            OpenedDevice& o = entry.second;
            const uint32_t before = o.messages ? countMessages(*o.messages) : 0;
            o.device = rope::Device();
            if (o.messages) {
                EXPECT_EQ(countMessages(*o.messages), before) << entry.first << ": " << o.messages->text();
            }
        }
        opened().clear();
    }
};
const testing::Environment* const kCloseDevices = testing::AddGlobalTestEnvironment(new CloseDevices);

constexpr uint8_t kGuardByte = 0xA5;

} // namespace

namespace {

// Mesa's CPU driver calls its device llvmpipe.
std::string deviceName(const rope::DeviceInfo& info) {
    for (const auto& [part, name] : {std::pair{"llvmpipe", "lavapipe"}, {"SwiftShader", "SwiftShader"}}) {
        if (info.name.find(part) != std::string::npos) return name;
    }
    return "device" + std::to_string(info.index);
}

std::vector<DeviceSetup> findDeviceSetups() {
    std::vector<DeviceSetup> all;
    std::string error;
    for (const rope::DeviceInfo& info : rope::listDevices(&error)) {
        std::string name = deviceName(info);
        const auto is_taken = [&](const DeviceSetup& setup) { return setup.name == name; };
        if (std::any_of(all.begin(), all.end(), is_taken)) name += std::to_string(info.index);
        all.push_back({name, std::to_string(info.index), true});
    }
    for (const DeviceSetup& setup : all) {
        if (setup.name == "SwiftShader") continue; // this driver has no push descriptors anyway
        all.push_back({setup.name + "WithSets", setup.select, false, true});
        break;
    }
    if (all.empty()) all.push_back({"lavapipe", "llvmpipe", true});
    return all;
}

} // namespace

// The devices are searched once, not by every suite: the search takes most of a short test's time.
const std::vector<DeviceSetup>& deviceSetups() {
    static const std::vector<DeviceSetup> all = findDeviceSetups();
    return all;
}

std::string setupName(const testing::TestParamInfo<DeviceSetup>& info) { return info.param.name; }

rope::DeviceOptions optionsOf(const DeviceSetup& setup) {
    rope::DeviceOptions options;
    options.select = setup.select;
    options.validate = wantsValidation();
    if (std::getenv("VKROPE_TEST_RUNNER") != nullptr) options.timeout_seconds = 600; // an emulator is slow
    options.push_descriptors = options.debug_utils = setup.with_extensions;
    if (floorAsked()) options.get_instance_proc_addr = floorLoader();
    if (fencesAsked()) { // buffers then begin anywhere, which a layer would tell
        options.get_instance_proc_addr = fencesLoader();
        options.validate = false;
    }
    return options;
}

rope::Device& open(const DeviceSetup& setup, std::string* error) {
    auto found = opened().find(setup.name);
    if (found == opened().end()) {
        OpenedDevice& o = opened()[setup.name];
        rope::DeviceOptions options = optionsOf(setup);
        options.messages = o.messages = std::make_shared<rope::Messages>();
        o.device = rope::Device::open(options, &o.error);
        found = opened().find(setup.name);
    }
    *error = found->second.error;
    return found->second.device;
}

void OnDevice::SetUp() {
    std::string error;
    rope::Device& device = open(GetParam(), &error);
    if (!device) GTEST_SKIP() << GetParam().name << " was not found: " << error;
    device_ = &device;
    messages_before_ = countMessages(*device.messages());
    beyond_before_ = beyondFloor().count();
}

void OnDevice::TearDown() {
    if (device_ != nullptr) {
        EXPECT_EQ(countMessages(*device_->messages()), messages_before_) << device_->messages()->text();
        EXPECT_EQ(beyondFloor().count(), beyond_before_) << beyondFloor().text();
    }
}

bool OnDevice::takes(size_t number) const {
    const auto of_cpu = [](const DeviceSetup& setup) {
        return setup.name == "lavapipe" || setup.name == "SwiftShader";
    };
    if (combinations::whole() || !of_cpu(GetParam())) return true;
    size_t mine = 0, count = 0;
    for (const DeviceSetup& setup : deviceSetups()) {
        if (setup.name == GetParam().name) mine = count;
        count += of_cpu(setup);
    }
    return number % count == mine;
}

void OnDevice::reopenDevice() {
    EXPECT_EQ(countMessages(*device_->messages()), messages_before_) << device_->messages()->text();
    const std::shared_ptr<const rope::Messages> messages = device_->messages();
    opened().erase(GetParam().name);
    EXPECT_EQ(countMessages(*messages), messages_before_) << messages->text();
    std::string error;
    device_ = &open(GetParam(), &error);
    ASSERT_TRUE(*device_) << error;
    messages_before_ = countMessages(*device_->messages());
}

bool GuardedBuffer::make(rope::Device* device, const void* data, size_t bytes, std::string* error) {
    device_ = device;
    bytes_ = bytes;
    // Uniform buffers may need a coarser alignment. A fence stands right behind the slot.
    guard_ = fencesAsked() ? 0 : std::max(device->limits().storage_alignment, 256u);
    if (!device->makeBuffer(bytes + 2 * guard_, &buffer_, error)) return false;
    const std::vector<uint8_t> guard(guard_, kGuardByte);
    return device->upload(buffer_, 0, guard.data(), guard_, error) &&
           device->upload(buffer_, guard_, data, bytes, error) &&
           device->upload(buffer_, guard_ + bytes, guard.data(), guard_, error);
}

RopeBuffer GuardedBuffer::slot() const { return buffer_.slot(guard_); }

bool GuardedBuffer::read(void* data, std::string* error) const {
    std::vector<uint8_t> all(bytes_ + 2 * guard_);
    if (!device_->download(buffer_, 0, all.data(), all.size(), error)) return false;
    std::memcpy(data, all.data() + guard_, bytes_);
    for (size_t i = 0; i < guard_; ++i) {
        if (all[i] != kGuardByte || all[guard_ + bytes_ + i] != kGuardByte) {
            *error = "a guard byte beside the slot was written";
            return false;
        }
    }
    return true;
}

testing::AssertionResult run(rope::Device* device, const RopePlan& plan, Slots* slots) {
    std::string error;
    GuardedBuffer guarded[ROPE_SLOT_COUNT];
    RopeBuffers buffers = {};
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        std::vector<uint8_t>& bytes = slots->bytes[slot];
        if (plan.bytes[slot] == 0) continue;
        if (bytes.size() != plan.bytes[slot]) {
            return testing::AssertionFailure()
                   << "slot " << slot << " has " << bytes.size() << " bytes, the plan wants " << plan.bytes[slot];
        }
        if (!guarded[slot].make(device, bytes.data(), bytes.size(), &error))
            return testing::AssertionFailure() << error;
        buffers.slots[slot] = guarded[slot].slot();
    }
    if (!device->run(&plan, 1, &buffers, &error)) return testing::AssertionFailure() << error;
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan.bytes[slot] == 0) continue;
        if (!guarded[slot].read(slots->bytes[slot].data(), &error)) {
            return testing::AssertionFailure() << "slot " << slot << ": " << error;
        }
    }
    return testing::AssertionSuccess();
}

} // namespace gpu
