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
            const vk_subbuffer& at = call.slots[n];
            if (call.plan.bytes[n] != 0) buffers.slots[n] = {at.buffer->buffer, at.offset};
        }
        std::vector<VkDescriptorSet> sets(ropeDispatchCount(&call.plan));
        buffers.sets = sets.data();
        const auto allocate = [&] { return ropeAllocateSets(context, &call.plan, &buffers, pools[pool], sets.data()); };
        while (pool == pools.size() || allocate() != VK_SUCCESS) {
            const vk::DescriptorPoolSize size(vk::DescriptorType::eStorageBuffer, 256 * 6);
            if (pool < pools.size()) ++pool;
            if (pool == pools.size()) pools.push_back(device->device.createDescriptorPool({{}, 256, size}));
        }
        ropeCmdExecute(ggml_vk_get_compute_ctx(ctx)->s->buffer->buf, context, &call.plan, &buffers);
    }
    vk_device device;
    RopeLimits limits;
    RopeContext* context = nullptr;
    std::vector<vk::DescriptorPool> pools;
    size_t pool = 0; // that has room
};
using vkrope_level = vkrope_context;
