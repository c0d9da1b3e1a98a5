// This file owns limits, and the names of extensions, results and slots.
#include "plan/limits.h"

#include <string.h>

namespace rope {
namespace {

constexpr uint32_t kGpuThreads = 16384;
constexpr uint32_t kCpuThreads = 64; // more threads would cost more than a CPU's other cores gain

} // namespace

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
    if (((storage & (storage - 1)) | (uniform & (uniform - 1))) != 0 || storage > kMostAlignment) {
        return refuse(
            reason, ROPE_ERROR_INVALID,
            "limits.storage_alignment is %u and uniform_alignment %u; each must be a power of two, and the first at "
            "most %u",
            storage, uniform, kMostAlignment);
    }
    if (limits.storage_range == 0 || limits.group_count[0] == 0 || limits.group_count[1] == 0) {
        return refuse(reason, ROPE_ERROR_INVALID, "limits.%s is 0; ropeLimitsFromDevice fills it in",
                      limits.storage_range == 0 ? "storage_range" : "group_count");
    }
    return ROPE_SUCCESS;
}

} // namespace rope

using namespace rope;

void ropeMinimumLimits(RopeLimits* limits) {
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

const char* ropeExtensionName(uint32_t enabled_bit) {
    switch (enabled_bit) {
    case ROPE_ENABLED_PUSH_DESCRIPTORS:
        return VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
    case ROPE_ENABLED_DEBUG_UTILS:
        return VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    default:
        return nullptr;
    }
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

// The names are one string: a table of pointers would be relocated, which takes half a kilobyte.
const char* ropeSlotName(RopeSlot slot) {
    static const char kNames[] =
        "positions\0frequencies\0rows\0q\0k\0q_out\0k_out\0counter\0v\0v_out\0parameters\0x\0x_out\0factors\0"
        "frequencies_out\0slot_map\0q_weights\0k_weights\0biases";
    if (slot < 0 || slot >= ROPE_SLOT_COUNT) return "unknown slot";
    const char* name = kNames;
    for (int i = 0; i < slot; ++i) {
        while (*name++ != 0) {
        }
    }
    return name;
}
