// Where a command computes: a Vulkan device, or the reference on the CPU.
#pragma once

#include "device.hpp"
#include "tool/tool.hpp"

#include <vector>

namespace tool {

struct Target {
    bool reference = false;
    rope::Device device; // empty for the reference
};

// `name`: an index, a part of a name, "reference", or empty for the best device.
bool openTarget(const std::string& name, Target* target, Failure* failure);

// What the plans' slots hold, as bytes.
struct Slots {
    std::vector<uint8_t> bytes[ROPE_SLOT_COUNT];

    template <typename T> void set(RopeSlot slot, const std::vector<T>& values) {
        const uint8_t* first = reinterpret_cast<const uint8_t*>(values.data());
        bytes[slot].assign(first, first + values.size() * sizeof(T));
    }
};

// Buffers of one device for many runs, each as long as the longest run yet.
struct Buffers {
    rope::Buffer each[ROPE_SLOT_COUNT];
    bool hold(rope::Device* device, RopeSlot slot, uint64_t bytes, std::string* error);
};

// Runs the plans one after the other on the same buffers, which begin with what the slots hold, and reads back the
// slots in `wanted`: as many bytes as the plans ask for, or as the slot held if it held more. Without `buffers` it
// makes its own.
bool runPlans(rope::Device* device, const std::vector<RopePlan>& plans, const std::vector<RopeSlot>& wanted,
              Slots* slots, Failure* failure, Buffers* buffers = nullptr);

extern const char kDeviceHelp[];

} // namespace tool
