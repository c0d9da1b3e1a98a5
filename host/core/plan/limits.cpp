// This file owns limits, and the names of extensions, results and slots.
//
// To add a limit: a member of RopeLimits, its default in fillLimits, and a row of the list in
// checkPlan (host/core/record/context.cpp). To add an extension: its bit in rope.h, and its name in ropeExtensionName.
#include "plan/limits.h"

#include <string.h>

namespace rope {

constexpr uint32_t kGpuThreads = 16384;
constexpr uint32_t kCpuThreads = 64; // more threads would cost more than a CPU's other cores gain

void fillLimits(RopeLimits* limits) {
    if (limits->storage_range > UINT32_MAX) limits->storage_range = UINT32_MAX;
    if (limits->storage_alignment == 0) limits->storage_alignment = kMinAlignment;
    if (limits->group_size == 0) limits->group_size = 1;
    if (limits->storage_buffers == 0) limits->storage_buffers = 4;
    if (limits->uniform_range == 0) limits->uniform_range = 16384;
    if (limits->shared_bytes == 0) limits->shared_bytes = 16384;
    if (limits->threads == 0) limits->threads = 16384;
    if (limits->uniform_alignment == 0) limits->uniform_alignment = 256;
}

RopeResult checkLimits(const RopeLimits& limits, RopeReason* reason) {
    const uint32_t storage = limits.storage_alignment, uniform = limits.uniform_alignment;
    const RefusalRow refusals[] = {
        invalid(
            ((storage & (storage - 1)) | (uniform & (uniform - 1))) != 0 || storage > kMostAlignment,
            "limits.storage_alignment is %u and uniform_alignment %u; each must be a power of two, and the first at "
            "most %u",
            storage, uniform, kMostAlignment),
        invalid(limits.storage_range == 0, "limits.storage_range is 0; ropeLimitsFromDevice fills it in"),
        invalid(limits.group_count[0] == 0 || limits.group_count[1] == 0,
                "limits.group_count is 0; ropeLimitsFromDevice fills it in"),
    };
    return refuseByFirst(refusals, reason);
}

} // namespace rope

using namespace rope;

void ropeMinimumLimits(RopeLimits* limits) {
    if (limits == nullptr) return;
    *limits = {1u << 27, 256, {65535, 65535}, 128, 0, 4, 16384, 16384, kGpuThreads, 256};
}

void ropeLimitsFromDevice(const VkPhysicalDeviceProperties* properties, uint32_t enabled, RopeLimits* limits) {
    if (properties == nullptr || limits == nullptr) return;
    const VkPhysicalDeviceLimits* device = &properties->limits;
    const uint32_t sizes[2] = {device->maxComputeWorkGroupInvocations, device->maxComputeWorkGroupSize[0]};
    limits->storage_range = device->maxStorageBufferRange;
    limits->storage_alignment = static_cast<uint32_t>(device->minStorageBufferOffsetAlignment);
    limits->group_count[0] = device->maxComputeWorkGroupCount[0];
    limits->group_count[1] = device->maxComputeWorkGroupCount[1];
    limits->group_size = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
    limits->enabled = enabled;
    limits->storage_buffers = device->maxPerStageDescriptorStorageBuffers;
    limits->uniform_range = device->maxUniformBufferRange;
    limits->shared_bytes = device->maxComputeSharedMemorySize;
    limits->threads = properties->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ? kCpuThreads : kGpuThreads;
    limits->uniform_alignment = static_cast<uint32_t>(device->minUniformBufferOffsetAlignment);
}

const char* ropeExtensionName(uint32_t enabled_bit) {
    if (enabled_bit == ROPE_ENABLED_PUSH_DESCRIPTORS) return VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
    return enabled_bit == ROPE_ENABLED_DEBUG_UTILS ? VK_EXT_DEBUG_UTILS_EXTENSION_NAME : nullptr;
}

uint32_t ropeEnabledByExtensions(const char* const* names, uint32_t name_count) {
    uint32_t enabled = 0;
    for (uint32_t i = 0; names != nullptr && i < name_count; ++i) {
        for (uint32_t bit = 1; names[i] != nullptr && bit != 0; bit <<= 1) {
            const char* name = ropeExtensionName(bit);
            if (name != nullptr && strcmp(names[i], name) == 0) enabled |= bit;
        }
    }
    return enabled;
}

uint32_t ropeUsefulExtensions(const VkExtensionProperties* available, uint32_t available_count, const char** names) {
    uint32_t found = 0, count = 0;
    for (uint32_t i = 0; available != nullptr && names != nullptr && i < available_count; ++i) {
        const char* name = available[i].extensionName;
        const uint32_t bit = ropeEnabledByExtensions(&name, 1) & ~found;
        found |= bit;
        if (bit != 0) names[count++] = ropeExtensionName(bit);
    }
    return count;
}

const char* ropeResultName(RopeResult result) {
    static const char* const kNames[] = {"ROPE_SUCCESS",
                                         "ROPE_ERROR_INVALID",
                                         "ROPE_ERROR_TOO_LARGE",
                                         "ROPE_ERROR_NOT_PREPARED",
                                         "ROPE_ERROR_MISSING_BUFFER",
                                         "ROPE_ERROR_MISSING_SETS",
                                         "ROPE_ERROR_OTHER_VERSION",
                                         "ROPE_ERROR_OTHER_LIMITS",
                                         "ROPE_ERROR_MISALIGNED",
                                         "ROPE_ERROR_OVERLAP"};
    static_assert(sizeof kNames / sizeof kNames[0] == 1 - ROPE_ERROR_OVERLAP);
    return result <= 0 && result >= ROPE_ERROR_OVERLAP ? kNames[-result] : "unknown RopeResult";
}

const char* ropeSlotName(RopeSlot slot) {
    // Characters and no pointers: a linker that keeps a shared text keeps all sentences beside it.
    static const char kNames[][16] = {"positions",  "frequencies", "rows",      "q",       "k",
                                      "q_out",      "k_out",       "counter",   "v",       "v_out",
                                      "parameters", "x",           "x_out",     "factors", "frequencies_out",
                                      "slot_map",   "q_weights",   "k_weights", "biases"};
    static_assert(sizeof kNames / sizeof kNames[0] == ROPE_SLOT_COUNT);
    return slot >= 0 && slot < ROPE_SLOT_COUNT ? kNames[slot] : "unknown slot";
}
