// What a device has, and what is worth asking of it.
#include "rope.h"

#include <string.h>

static const uint32_t kGpuThreads = 16384;
static const uint32_t kCpuThreads = 64; // a dispatch costs more than what its other cores would gain

void ropeFloorLimits(RopeLimits* limits) {
    if (limits == nullptr) return;
    limits->storage_range = 1u << 27;
    limits->storage_alignment = 256;
    limits->group_count[0] = 65535;
    limits->group_count[1] = 65535;
    limits->group_size = 128;
    limits->enabled = 0;
    limits->storage_buffers = 4;
    limits->uniform_range = 16384;
    limits->shared_bytes = 16384;
    limits->threads = kGpuThreads;
    limits->uniform_alignment = 256;
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

uint32_t ropeUsefulExtensions(const VkExtensionProperties* available, uint32_t available_count, const char** names) {
    static const char kPushDescriptor[] = VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
    for (uint32_t i = 0; i < available_count; ++i) {
        if (strcmp(available[i].extensionName, kPushDescriptor) == 0) {
            names[0] = kPushDescriptor;
            return 1;
        }
    }
    return 0;
}

const char* ropeResultName(RopeResult result) {
    switch (result) {
    case ROPE_SUCCESS:
        return "ROPE_SUCCESS";
    case ROPE_ERROR_INVALID:
        return "ROPE_ERROR_INVALID";
    case ROPE_ERROR_TOO_LARGE:
        return "ROPE_ERROR_TOO_LARGE";
    case ROPE_ERROR_NOT_PREPARED:
        return "ROPE_ERROR_NOT_PREPARED";
    case ROPE_ERROR_MISSING_BUFFER:
        return "ROPE_ERROR_MISSING_BUFFER";
    case ROPE_ERROR_MISSING_SETS:
        return "ROPE_ERROR_MISSING_SETS";
    case ROPE_ERROR_OTHER_VERSION:
        return "ROPE_ERROR_OTHER_VERSION";
    case ROPE_ERROR_OTHER_LIMITS:
        return "ROPE_ERROR_OTHER_LIMITS";
    case ROPE_ERROR_MISALIGNED:
        return "ROPE_ERROR_MISALIGNED";
    case ROPE_ERROR_OVERLAP:
        return "ROPE_ERROR_OVERLAP";
    }
    return "unknown RopeResult";
}

const char* ropeSlotName(RopeSlot slot) {
    static const char* const kNames[ROPE_SLOT_COUNT] = {"positions",  "frequencies", "rows",    "q", "k",
                                                        "q_out",      "k_out",       "counter", "v", "v_out",
                                                        "parameters", "x",           "x_out"};
    return slot >= 0 && slot < ROPE_SLOT_COUNT ? kNames[slot] : "unknown slot";
}
