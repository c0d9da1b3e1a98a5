#include "tool_device.hpp"

#include <algorithm>

namespace tool {

const char kDeviceHelp[] = "a device's index, a part of its name, or 'reference' for the CPU in double precision; "
                           "without it the best device there is";

bool openTarget(const std::string& name, Target* target, Failure* failure) {
    if (name == "reference") {
        target->reference = true;
        return true;
    }
    rope::DeviceOptions options;
    options.select = name;
    std::string error;
    target->device = rope::Device::open(options, &error);
    return target->device || refuse(failure, error);
}

bool runPlans(rope::Device* device, const std::vector<RopePlan>& plans, const std::vector<RopeSlot>& wanted,
              Slots* slots, Failure* failure) {
    rope::Buffer buffers[ROPE_SLOT_COUNT];
    RopeBuffers bound = {};
    std::string error;
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        uint64_t bytes = 0;
        for (const RopePlan& plan : plans) bytes = std::max(bytes, plan.bytes[slot]);
        if (bytes == 0) continue;
        const std::vector<uint8_t>& held = slots->bytes[slot];
        bytes = std::max<uint64_t>(bytes, held.size());
        if (!device->makeBuffer(bytes, &buffers[slot], &error) ||
            (!held.empty() && !device->upload(buffers[slot], 0, held.data(), held.size(), &error)))
            return fail(failure, error);
        bound.slots[slot] = buffers[slot].slot();
    }
    const std::vector<RopeBuffers> each(plans.size(), bound);
    if (!device->run(plans.data(), static_cast<uint32_t>(plans.size()), each.data(), &error))
        return fail(failure, error);
    for (const RopeSlot slot : wanted) {
        if (!buffers[slot]) continue;
        slots->bytes[slot].resize(buffers[slot].size());
        if (!device->download(buffers[slot], 0, slots->bytes[slot].data(), buffers[slot].size(), &error))
            return fail(failure, error);
    }
    return true;
}

} // namespace tool
