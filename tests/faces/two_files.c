/* A program that has copied two files: it rotates one head of four elements on the first Vulkan device, and compares
 * the bits with the reference. cc two_files.c vkrope.o -lvulkan -lm */
#include "vkrope.h"
#include <vulkan/vulkan.h>

#include <stdio.h>
#include <string.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        const VkResult result_ = (VkResult)(call);                                                                     \
        if (result_ != VK_SUCCESS) return fprintf(stderr, "%s: %d\n", #call, (int)result_), 1;                         \
    } while (0)

enum { kTokens = 3, kDim = 4, kHead = kTokens * kDim, kSlotBytes = 4096 };

static uint32_t memoryType(VkPhysicalDevice device, uint32_t allowed) {
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    uint32_t i;
    vkGetPhysicalDeviceMemoryProperties(device, &memory);
    for (i = 0; i < memory.memoryTypeCount; ++i)
        if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
    return 0;
}

int main(void) {
    const VkApplicationInfo app = {VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, NULL, 0, NULL, 0, VK_API_VERSION_1_1};
    const VkInstanceCreateInfo instance_info = {
        VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, &app, 0, NULL, 0, NULL};
    const int32_t positions[kTokens] = {0, 1, 1000000};
    float q[kHead], wanted[kHead];
    const float priority = 1;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkPhysicalDeviceProperties properties;
    VkDevice device;
    VkQueue queue;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkMemoryRequirements needs;
    VkCommandPool commands;
    VkCommandBuffer cmd;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    char* mapped;
    uint32_t count = 1, family = 0, i;

    /* What to rotate: frequencies once a model, a plan for each shape. */
    double frequencies[kDim / 2], scale;
    RopeRule rule = {0};
    RopeRotateDescription d = {0};
    RopeLimits limits;
    RopePlan plan;
    RopeContext* context;
    RopeBuffers buffers = {0};
    RopeHostRotate reference = {0};
    rule.rotary_dim = kDim;
    rule.base = 10000;
    CHECK(ropeMakeFrequencies(&rule, frequencies, &scale, NULL));
    d.tokens = kTokens;
    d.head_dim = kDim;
    d.rotation.frequencies.values = frequencies;
    d.rotation.frequencies.count = kDim / 2;
    d.q.heads = 1;

    /* Vulkan as any program has it. */
    CHECK(vkCreateInstance(&instance_info, NULL, &instance));
    if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || count == 0) return puts("no device"), 77;
    vkGetPhysicalDeviceProperties(physical, &properties);
    VkQueueFamilyProperties families[16];
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    while (family + 1 < count && (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family;
    const VkDeviceQueueCreateInfo queue_info = {
        VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, family, 1, &priority};
    const VkDeviceCreateInfo device_info = {
        VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, NULL, 0, 1, &queue_info, 0, NULL, 0, NULL, NULL};
    CHECK(vkCreateDevice(physical, &device_info, NULL, &device));
    vkGetDeviceQueue(device, family, 0, &queue);
    const VkBufferCreateInfo buffer_info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                            NULL,
                                            0,
                                            3 * kSlotBytes,
                                            VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                            VK_SHARING_MODE_EXCLUSIVE,
                                            0,
                                            NULL};
    VkMemoryAllocateInfo allocation = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, 0, 0};
    CHECK(vkCreateBuffer(device, &buffer_info, NULL, &buffer));
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = memoryType(physical, needs.memoryTypeBits);
    CHECK(vkAllocateMemory(device, &allocation, NULL, &memory));
    CHECK(vkBindBufferMemory(device, buffer, memory, 0));
    CHECK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void**)&mapped));

    /* vkrope: a context once a device, prepare once a plan, execute in a frame. */
    ropeLimitsFromDevice(&properties, 0, &limits);
    CHECK(ropePlanRotate(&d, &limits, &plan));
    for (i = 0; i < kHead; ++i) q[i] = (float)(i % 5) - 1.5f;
    reference.positions = positions;
    reference.q = q;
    reference.q_out = wanted;
    CHECK(ropeHostRunRotate(&d, &reference, NULL));
    memcpy(mapped, positions, sizeof positions);
    CHECK(ropeWriteFrequencies(&d.rotation.frequencies, ROPE_ANGLE_EXACT, mapped + kSlotBytes, NULL));
    memcpy(mapped + 2 * kSlotBytes, q, sizeof q);
    buffers.slots[ROPE_SLOT_POSITIONS] = (RopeBuffer){buffer, 0};
    buffers.slots[ROPE_SLOT_FREQUENCIES] = (RopeBuffer){buffer, kSlotBytes};
    buffers.slots[ROPE_SLOT_Q] = (RopeBuffer){buffer, 2 * kSlotBytes};
    const RopeContextInfo info = {device, vkGetDeviceProcAddr, VK_NULL_HANDLE, NULL, limits};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 8};
    const VkDescriptorPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, NULL, 0, 1, 1, &size};
    const VkCommandPoolCreateInfo command_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL, 0, family};
    VkCommandBufferAllocateInfo cmd_info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, VK_NULL_HANDLE,
                                            VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    const VkMemoryBarrier to_host = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_SHADER_WRITE_BIT,
                                     VK_ACCESS_HOST_READ_BIT};
    const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, NULL, 0, NULL};
    VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, NULL, 0, NULL, NULL, 1, &cmd, 0, NULL};
    CHECK(ropeCreateContext(&info, &context));
    CHECK(ropePrepare(context, &plan, 1, NULL));
    CHECK(vkCreateDescriptorPool(device, &pool_info, NULL, &pool));
    CHECK(ropeAllocateSets(context, &plan, &buffers, pool, &set));
    buffers.sets = &set;
    CHECK(vkCreateCommandPool(device, &command_info, NULL, &commands));
    cmd_info.commandPool = commands;
    CHECK(vkAllocateCommandBuffers(device, &cmd_info, &cmd));
    CHECK(vkBeginCommandBuffer(cmd, &begin));
    CHECK(ropeCmdExecute(cmd, context, &plan, &buffers));
    vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, NULL,
                         0, NULL);
    CHECK(vkEndCommandBuffer(cmd));
    CHECK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(queue));
    for (i = 0; i < kHead; ++i) printf("%g ", ((float*)(mapped + 2 * kSlotBytes))[i]);
    printf("on %s\n", properties.deviceName);
    i = memcmp(mapped + 2 * kSlotBytes, wanted, sizeof wanted) != 0;
    ropeDestroyContext(context);
    vkDestroyDescriptorPool(device, pool, NULL);
    vkDestroyCommandPool(device, commands, NULL);
    vkDestroyBuffer(device, buffer, NULL);
    vkFreeMemory(device, memory, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return (int)i;
}
