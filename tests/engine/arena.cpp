#include "arena.hpp"

namespace engine {
namespace {

// The specification promises a type that is visible and coherent, and that buffers may lie in it.
uint32_t chooseType(const Gpu& gpu, uint32_t allowed) {
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(gpu.physical_device, &memory);
    uint32_t type = 0;
    while ((allowed >> type & 1) == 0 || (memory.memoryTypes[type].propertyFlags & wanted) != wanted) ++type;
    return type;
}

} // namespace

VkBuffer Arena::makeBuffer(VkDeviceSize bytes) const {
    VkBufferCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkBuffer buffer = VK_NULL_HANDLE;
    require(vkCreateBuffer(gpu_.device, &info, nullptr, &buffer), "vkCreateBuffer");
    return buffer;
}

Arena::Arena(const Gpu& gpu, VkDeviceSize bytes) : gpu_(gpu), bytes_(bytes) {
    const VkBuffer like_all = makeBuffer(16);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(gpu.device, like_all, &needs);
    vkDestroyBuffer(gpu.device, like_all, nullptr);
    const VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, bytes,
                                       chooseType(gpu, needs.memoryTypeBits)};
    require(vkAllocateMemory(gpu.device, &info, nullptr, &memory_), "vkAllocateMemory");
    void* mapped = nullptr;
    require(vkMapMemory(gpu.device, memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
    mapped_ = static_cast<char*>(mapped);
}

Arena::~Arena() {
    for (VkBuffer buffer : buffers_) vkDestroyBuffer(gpu_.device, buffer, nullptr);
    vkFreeMemory(gpu_.device, memory_, nullptr);
}

Slice Arena::cut(VkDeviceSize bytes) {
    const VkBuffer buffer = makeBuffer(bytes);
    buffers_.push_back(buffer);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(gpu_.device, buffer, &needs);
    const VkDeviceSize offset = (used_ + needs.alignment - 1) / needs.alignment * needs.alignment;
    require(offset + needs.size <= bytes_, "the arena is full");
    require(vkBindBufferMemory(gpu_.device, buffer, memory_, offset), "vkBindBufferMemory");
    used_ = offset + needs.size;
    return {buffer, mapped_ + offset};
}

} // namespace engine
