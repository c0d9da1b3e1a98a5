// vkrope's own pipelines, layouts and descriptor sets, on ggml's device. vkrope.hpp includes this file.
struct vkrope_context {
    vkrope_context(ggml_backend_vk_context* ctx) : device(ctx->device) {
        const VkPhysicalDeviceProperties properties = device->properties;
        ropeLimitsFromDevice(&properties, ROPE_ENABLED_STORAGE_16, &limits);
        const RopeContextInfo info = {device->device, VULKAN_HPP_DEFAULT_DISPATCHER.vkGetDeviceProcAddr, nullptr,
                                      nullptr, limits};
        GGML_ASSERT(ropeCreateContext(&info, &context) == VK_SUCCESS);
    }
    ~vkrope_context() {
        for (auto& pool : pools) device->device.destroyDescriptorPool(pool);
        ropeDestroyContext(context);
    }
    void begin(ggml_backend_vk_context* ctx) { // a graph; the sets of those before are free if ggml has waited for them
        if (ctx->submit_pending) return;
        for (auto& pool : pools) device->device.resetDescriptorPool(pool);
        pool = 0;
    }
    bool prepare(const vkrope_call& call) { return ropePrepare(context, &call.plan, 1, nullptr) == VK_SUCCESS; }
    void execute(ggml_backend_vk_context* ctx, const vkrope_call& call) {
        RopeBuffers buffers = {};
        for (uint32_t n = 0; n < ROPE_SLOT_COUNT; ++n) {
            if (call.plan.bytes[n] != 0) buffers.slots[n] = {call.slots[n].buffer, call.slots[n].offset};
        }
        std::vector<VkDescriptorSet> sets(ropeDispatchCount(&call.plan));
        buffers.sets = sets.data();
        VkResult result = VK_ERROR_OUT_OF_POOL_MEMORY;
        while (result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL) {
            if (pool == pools.size()) {
                const uint32_t sets_of_pool = std::max<uint32_t>(256, sets.size());
                const vk::DescriptorPoolSize size(vk::DescriptorType::eStorageBuffer,
                                                  sets_of_pool * ROPE_BINDING_COUNT);
                pools.push_back(device->device.createDescriptorPool({{}, sets_of_pool, size}));
            }
            result = ropeAllocateSets(context, &call.plan, &buffers, pools[pool], sets.data());
            if (result != VK_SUCCESS) ++pool;
        }
        GGML_ASSERT(result == VK_SUCCESS);
        const vk::CommandBuffer& commands = ggml_vk_get_compute_ctx(ctx)->s->buffer->buf;
        GGML_ASSERT(ropeCmdExecute(commands, context, &call.plan, &buffers) == ROPE_SUCCESS);
    }
    vk_device device;
    RopeLimits limits;
    RopeContext* context = nullptr;
    std::vector<vk::DescriptorPool> pools;
    size_t pool = 0; // the first that has room
};
using vkrope_level = vkrope_context;
