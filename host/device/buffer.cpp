#include "device/state.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rope {
inline namespace ROPE_NAMESPACE {
namespace {

constexpr VkDeviceSize kStagingBytes = 64u << 20;
constexpr uint32_t kNoType = UINT32_MAX;

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkMemoryPropertyFlags kPlain = kLocal | kVisible | kCoherent | kCached;

// Kinds of memory, from the best to the last resort, which is any kind. The host reads memory without a cache slowly.
struct MemoryKinds {
    VkMemoryPropertyFlags kinds[8];
    uint32_t count;
};
constexpr MemoryKinds kDirectKinds = {{kLocal | kVisible | kCached | kCoherent, kLocal | kVisible | kCached,
                                       kVisible | kCached | kCoherent, kVisible | kCached, kLocal | kVisible, kVisible,
                                       kLocal, 0},
                                      8};
constexpr MemoryKinds kDeviceKinds = {{kLocal, 0}, 2};
constexpr MemoryKinds kStagingKinds = {{kVisible | kCached | kCoherent, kVisible | kCached, kVisible}, 3};

// Returns the first type of the best kind whose heap is large enough. Drivers list the plainest type first. Types with
// further properties (protected, uncached on the device) are never wanted.
uint32_t chooseType(const VkPhysicalDeviceMemoryProperties& memory, const VkMemoryRequirements& needs, uint32_t allowed,
                    const MemoryKinds& kinds) {
    for (uint32_t i = 0; i < kinds.count; ++i) {
        const VkMemoryPropertyFlags kind = kinds.kinds[i];
        for (uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
            const VkMemoryPropertyFlags flags = memory.memoryTypes[type].propertyFlags;
            const bool fits = needs.size <= memory.memoryHeaps[memory.memoryTypes[type].heapIndex].size;
            if ((allowed >> type & 1) && (flags & kind) == kind && !(flags & ~kPlain) && fits) return type;
        }
    }
    return kNoType;
}

std::string inBytes(VkDeviceSize bytes) { return std::to_string(bytes) + " bytes"; }

} // namespace

// ---- Allocations ---------------------------------------------------------------------------------------------------

bool DeviceState::allocate(VkDeviceSize bytes, bool for_staging, Allocation* allocation, std::string* error) {
    *allocation = Allocation();
    if (bytes == 0 || bytes > largest_allocation) {
        *error = "a buffer of " + inBytes(bytes) + " cannot be made: " + info.name + " takes 1 to " +
                 inBytes(largest_allocation);
        return false;
    }
    VkBufferCreateInfo create = {};
    create.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    create.size = bytes;
    create.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                   (for_staging ? 0u
                                : uint32_t{VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                           VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT});
    VkResult result = vk.CreateBuffer(device, &create, nullptr, &allocation->buffer);
    if (result == VK_SUCCESS) {
        allocation->size = bytes;
        result = allocateMemory(for_staging, allocation);
    } else {
        allocation->buffer = VK_NULL_HANDLE;
    }
    if (result != VK_SUCCESS) {
        release(allocation);
        *error = "a buffer of " + inBytes(bytes) + " could not be made on " + info.name + ": " + resultName(result);
        return false;
    }
    return true;
}

// Where the best kind's memory is used up, the next one serves.
VkResult DeviceState::allocateMemory(bool for_staging, Allocation* allocation) {
    const MemoryKinds& kinds = for_staging ? kStagingKinds : direct ? kDirectKinds : kDeviceKinds;
    VkMemoryRequirements needs;
    vk.GetBufferMemoryRequirements(device, allocation->buffer, &needs);
    VkMemoryAllocateInfo allocate_info = {};
    allocate_info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocate_info.allocationSize = needs.size;
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    uint32_t type = kNoType;
    for (uint32_t left = needs.memoryTypeBits; result == VK_ERROR_OUT_OF_DEVICE_MEMORY; left &= ~(1u << type)) {
        const uint32_t next = chooseType(memory, needs, left, kinds);
        if (next == kNoType) return result;
        type = allocate_info.memoryTypeIndex = next;
        result =
            madeOrNull(vk.AllocateMemory(device, &allocate_info, nullptr, &allocation->memory), &allocation->memory);
    }
    if (result != VK_SUCCESS) return result;
    const VkMemoryPropertyFlags flags = memory.memoryTypes[type].propertyFlags;
    allocation->allocated = needs.size;
    allocation->coherent = (flags & kCoherent) != 0;
    result = vk.BindBufferMemory(device, allocation->buffer, allocation->memory, 0);
    if (result == VK_SUCCESS && (for_staging || direct) && (flags & kVisible))
        result = vk.MapMemory(device, allocation->memory, 0, VK_WHOLE_SIZE, 0, &allocation->mapped);
    return result;
}

void DeviceState::release(Allocation* allocation) const {
    if (!stuck) {
        if (allocation->buffer) vk.DestroyBuffer(device, allocation->buffer, nullptr);
        if (allocation->memory) vk.FreeMemory(device, allocation->memory, nullptr); // this unmaps the memory as well
    }
    *allocation = Allocation();
}

// ---- Transfers between host and device -----------------------------------------------------------------------------

VkMappedMemoryRange DeviceState::mappedRange(const Allocation& allocation, VkDeviceSize offset,
                                             VkDeviceSize bytes) const {
    const VkDeviceSize atom = std::max<VkDeviceSize>(info.properties.limits.nonCoherentAtomSize, 1);
    const VkDeviceSize begin = offset / atom * atom;
    const VkDeviceSize end = (offset + bytes + atom - 1) / atom * atom;
    VkMappedMemoryRange range = {};
    range.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE;
    range.memory = allocation.memory;
    range.offset = begin;
    range.size = end < allocation.allocated ? end - begin : VK_WHOLE_SIZE;
    return range;
}

// A flush brings whole atoms to the device. The rest of the first and of the last atom is fetched before, or the host's
// old bytes would replace what the device wrote there.
bool DeviceState::writeMapped(const Allocation& allocation, VkDeviceSize offset, const void* data, VkDeviceSize bytes,
                              std::string* error) const {
    const VkMappedMemoryRange range = mappedRange(allocation, offset, bytes);
    const bool shares_atoms = range.offset != offset || (range.size != bytes && offset + bytes != allocation.size);
    if (shares_atoms && !invalidate(allocation, offset, bytes, error)) return false;
    std::memcpy(static_cast<char*>(allocation.mapped) + offset, data, static_cast<size_t>(bytes));
    return flush(allocation, offset, bytes, error);
}

bool DeviceState::readMapped(const Allocation& allocation, VkDeviceSize offset, void* data, VkDeviceSize bytes,
                             std::string* error) const {
    if (!invalidate(allocation, offset, bytes, error)) return false;
    std::memcpy(data, static_cast<const char*>(allocation.mapped) + offset, static_cast<size_t>(bytes));
    return true;
}

bool DeviceState::flush(const Allocation& allocation, VkDeviceSize offset, VkDeviceSize bytes,
                        std::string* error) const {
    const VkMappedMemoryRange range = mappedRange(allocation, offset, bytes);
    const VkResult result = allocation.coherent ? VK_SUCCESS : vk.FlushMappedMemoryRanges(device, 1, &range);
    if (result != VK_SUCCESS) *error = "vkFlushMappedMemoryRanges returned " + resultName(result) + " on " + info.name;
    return result == VK_SUCCESS;
}

bool DeviceState::invalidate(const Allocation& allocation, VkDeviceSize offset, VkDeviceSize bytes,
                             std::string* error) const {
    const VkMappedMemoryRange range = mappedRange(allocation, offset, bytes);
    const VkResult result = allocation.coherent ? VK_SUCCESS : vk.InvalidateMappedMemoryRanges(device, 1, &range);
    if (result != VK_SUCCESS)
        *error = "vkInvalidateMappedMemoryRanges returned " + resultName(result) + " on " + info.name;
    return result == VK_SUCCESS;
}

bool DeviceState::makeStaging(VkDeviceSize bytes, std::string* error) {
    const VkDeviceSize wanted = std::min(bytes, kStagingBytes);
    if (staging.size >= wanted) return true;
    release(&staging);
    return allocate(wanted, true, &staging, error);
}

bool DeviceState::copy(VkBuffer from, VkBuffer to, const VkBufferCopy& region, std::string* error) {
    if (!begin(false, error)) return false;
    vk.CmdCopyBuffer(commands, from, to, 1, &region);
    return finish(error, nullptr);
}

bool DeviceState::checkRange(const Allocation& allocation, VkDeviceSize offset, VkDeviceSize bytes,
                             std::string* error) const {
    if (stuck) {
        *error = info.name + " did not finish earlier work: open a new device";
        return false;
    }
    if (offset > allocation.size || bytes > allocation.size - offset) {
        *error = inBytes(bytes) + " from byte " + std::to_string(offset) + " do not lie in a buffer of " +
                 inBytes(allocation.size);
        return false;
    }
    return true;
}

bool Device::owns(const Buffer& buffer, std::string* error) const {
    if (!buffer || buffer.state_ != state_) {
        *error = "the buffer is empty or of another device: make it with makeBuffer of this one";
        return false;
    }
    return true;
}

bool Device::upload(const Buffer& buffer, VkDeviceSize offset, const void* data, VkDeviceSize bytes,
                    std::string* error) {
    const Allocation& target = buffer.allocation_;
    if (!owns(buffer, error) || !state_->checkRange(target, offset, bytes, error)) return false;
    if (bytes == 0) return true;
    if (target.mapped) return state_->writeMapped(target, offset, data, bytes, error);
    if (!state_->makeStaging(bytes, error)) return false;
    for (VkDeviceSize done = 0; done < bytes;) {
        const VkDeviceSize piece = std::min(bytes - done, state_->staging.size);
        const VkBufferCopy region = {0, offset + done, piece};
        if (!state_->writeMapped(state_->staging, 0, static_cast<const char*>(data) + done, piece, error) ||
            !state_->copy(state_->staging.buffer, target.buffer, region, error))
            return false;
        done += piece;
    }
    return true;
}

bool Device::download(const Buffer& buffer, VkDeviceSize offset, void* data, VkDeviceSize bytes, std::string* error) {
    const Allocation& source = buffer.allocation_;
    if (!owns(buffer, error) || !state_->checkRange(source, offset, bytes, error)) return false;
    if (bytes == 0) return true;
    if (source.mapped) return state_->readMapped(source, offset, data, bytes, error);
    if (!state_->makeStaging(bytes, error)) return false;
    for (VkDeviceSize done = 0; done < bytes;) {
        const VkDeviceSize piece = std::min(bytes - done, state_->staging.size);
        const VkBufferCopy region = {offset + done, 0, piece};
        if (!state_->copy(source.buffer, state_->staging.buffer, region, error) ||
            !state_->readMapped(state_->staging, 0, static_cast<char*>(data) + done, piece, error))
            return false;
        done += piece;
    }
    return true;
}

bool Device::fill(const Buffer& buffer, uint8_t value, std::string* error) {
    const Allocation& target = buffer.allocation_;
    if (!owns(buffer, error) || !state_->checkRange(target, 0, target.size, error)) return false;
    if (target.mapped) {
        std::memset(target.mapped, value, static_cast<size_t>(target.size));
        return state_->flush(target, 0, target.size, error);
    }
    const VkDeviceSize words = target.size / 4 * 4; // vkCmdFillBuffer writes whole words
    const uint8_t rest[3] = {value, value, value};
    if (words) {
        if (!state_->begin(false, error)) return false;
        state_->vk.CmdFillBuffer(state_->commands, target.buffer, 0, words, value * 0x01010101u);
        if (!state_->finish(error, nullptr)) return false;
    }
    return upload(buffer, words, rest, target.size - words, error);
}

// ---- Buffer --------------------------------------------------------------------------------------------------------

bool Device::makeBuffer(VkDeviceSize bytes, Buffer* buffer, std::string* error) {
    Buffer made;
    if (!isOpen(error) || !state_->allocate(bytes, false, &made.allocation_, error)) return false;
    made.state_ = state_;
    state_->sizes[made.allocation_.buffer] = bytes;
    *buffer = std::move(made);
    return true;
}

Buffer::Buffer() = default;

Buffer::~Buffer() { release(); }

Buffer::Buffer(Buffer&& other) noexcept
    : state_(std::move(other.state_)), allocation_(std::exchange(other.allocation_, Allocation())) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    if (this != &other) {
        release();
        state_ = std::move(other.state_);
        allocation_ = std::exchange(other.allocation_, Allocation());
    }
    return *this;
}

void Buffer::release() {
    if (state_) {
        state_->sizes.erase(allocation_.buffer);
        state_->release(&allocation_);
        state_.reset();
    }
}

} // namespace ROPE_NAMESPACE
} // namespace rope
