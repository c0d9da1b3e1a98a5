// The place where a command computes: a Vulkan device, or the CPU.
#pragma once

#include "program/tool.hpp"
#include <vkrope/device.hpp>

#include <vector>

namespace tool {

struct Target {
    bool reference = false; // without a device: double precision, rounded once. Else the shaders' own bits
    rope::Device device;    // empty for the CPU
};

// `name` is an index, a part of a name, "cpu", "reference", or empty for the best device.
bool openTarget(const std::string& name, Target* target, Failure* failure);

// Opens a Vulkan device, by an index, a part of a name, or empty for the best one.
bool openDevice(const std::string& name, rope::Device* device, Failure* failure);

// Refuses the names of the CPU, for the commands that time and check devices.
bool checkDeviceName(const std::string& name, Failure* failure);

// The contents of the plans' slots.
struct SlotBytes {
    std::vector<uint8_t> bytes[ROPE_SLOT_COUNT];

    template <typename T> void set(RopeSlot slot, const std::vector<T>& values) {
        const uint8_t* first = reinterpret_cast<const uint8_t*>(values.data());
        bytes[slot].assign(first, first + values.size() * sizeof(T));
    }
};

// The buffers of one device serve many runs; each is as long as the longest run yet.
struct SlotBuffers {
    rope::Buffer per_slot[ROPE_SLOT_COUNT];
    bool reserve(rope::Device* device, RopeSlot slot, uint64_t bytes, std::string* error);
};

// Runs the plans one after the other on the same buffers, which begin with the contents of `slots`, and reads back the
// slots in `wanted`. A slot comes back with as many bytes as the plans ask for, or as it held if it held more. Without
// `buffers` the function makes its own.
bool runPlans(rope::Device* device, const std::vector<RopePlan>& plans, const std::vector<RopeSlot>& wanted,
              SlotBytes* slots, Failure* failure, SlotBuffers* buffers = nullptr);

extern const char kDeviceHelp[];

} // namespace tool
