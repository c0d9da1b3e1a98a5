#include "program/target.hpp"

#include <algorithm>

namespace tool {

const char kDeviceHelp[] = "a device's index or a part of its name; 'cpu' for the shaders' own bits, computed on the "
                           "CPU; 'reference' for the CPU in double precision; without it the best device there is";

bool openDevice(const std::string& name, rope::Device* device, Failure* failure) {
    rope::DeviceOptions options;
    options.select = name;
    std::string error;
    *device = rope::Device::open(options, &error);
    return *device || refuse(failure, error);
}

bool openTarget(const std::string& name, Target* target, Failure* failure) {
    target->reference = name == "reference";
    if (target->reference || name == "cpu" || openDevice(name, &target->device, failure)) return true;
    if (name.empty()) failure->text += "; --device cpu needs no driver and gives the same bits";
    return false;
}

bool checkDeviceName(const std::string& name, Failure* failure) {
    if (name != "reference" && name != "cpu") return true;
    return refuse(failure, "--device is " + name + ", which is no Vulkan device; this command takes one");
}

bool SlotBuffers::reserve(rope::Device* device, RopeSlot slot, uint64_t bytes, std::string* error) {
    return per_slot[slot].size() >= bytes || device->makeBuffer(bytes, &per_slot[slot], error);
}

bool runPlans(rope::Device* device, const std::vector<RopePlan>& plans, const std::vector<RopeSlot>& wanted,
              SlotBytes* slots, Failure* failure, SlotBuffers* buffers) {
    SlotBuffers own;
    if (buffers == nullptr) buffers = &own;
    RopeBuffers bound = {};
    uint64_t sizes[ROPE_SLOT_COUNT] = {};
    std::string error;
    for (int number = 0; number < ROPE_SLOT_COUNT; ++number) {
        const RopeSlot slot = static_cast<RopeSlot>(number);
        for (const RopePlan& plan : plans) sizes[slot] = std::max(sizes[slot], plan.bytes[slot]);
        if (sizes[slot] == 0) continue;
        const std::vector<uint8_t>& content = slots->bytes[slot];
        sizes[slot] = std::max<uint64_t>(sizes[slot], content.size());
        if (!buffers->reserve(device, slot, sizes[slot], &error) ||
            (!content.empty() && !device->upload(buffers->per_slot[slot], 0, content.data(), content.size(), &error)))
            return fail(failure, error);
        bound.slots[slot] = buffers->per_slot[slot].slot();
    }
    const std::vector<RopeBuffers> per_plan(plans.size(), bound);
    if (!device->run(plans.data(), static_cast<uint32_t>(plans.size()), per_plan.data(), &error))
        return fail(failure, error);
    for (const RopeSlot slot : wanted) {
        if (sizes[slot] == 0) continue;
        slots->bytes[slot].resize(static_cast<size_t>(sizes[slot]));
        if (!device->download(buffers->per_slot[slot], 0, slots->bytes[slot].data(), sizes[slot], &error))
            return fail(failure, error);
    }
    return true;
}

} // namespace tool
