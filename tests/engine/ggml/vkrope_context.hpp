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
    void begin(ggml_backend_vk_context* ctx) { // a graph; all sets are free if ggml has waited for those before
        if (ctx->submit_pending) return;
        ++round;
        if (forgotten < 256) return;
        for (auto& pool : pools) device->device.resetDescriptorPool(pool);
        kept.clear(), pool = forgotten = 0;
    }
    bool prepare(const vkrope_call& call) { // the call has a new plan, whose sets may have other layouts
        forgotten += std::exchange(kept[&call], {}).sets.size();
        return ropePrepare(context, &call.plan, 1, nullptr) == VK_SUCCESS;
    }
    void execute(ggml_backend_vk_context* ctx, const vkrope_call& call) {
        RopeBuffers buffers = {};
        for (uint32_t n = 0; n < ROPE_SLOT_COUNT; ++n)
            if (call.plan.bytes[n] != 0) buffers.slots[n] = {call.slots[n].buffer, call.slots[n].offset};
        kept_sets& own = kept[&call];
        if (own.round != round) own.round = round, own.used = 0;
        if (own.used == own.sets.size()) own.sets.push_back(allocate(call.plan, buffers));
        buffers.sets = own.sets[own.used++].data();
        GGML_ASSERT(!ropeUpdateSets(context, &call.plan, &buffers));
        GGML_ASSERT(!ropeCmdExecute(ggml_vk_get_compute_ctx(ctx)->s->buffer->buf, context, &call.plan, &buffers));
    }
    std::vector<VkDescriptorSet> allocate(const RopePlan& plan, const RopeBuffers& buffers) {
        std::vector<VkDescriptorSet> sets(ropeDispatchCount(&plan));
        for (;; ++pool) {
            if (pool == pools.size()) {
                const uint32_t count = std::max<uint32_t>(256, sets.size());
                const vk::DescriptorPoolSize size(vk::DescriptorType::eStorageBuffer, count * ROPE_BINDING_COUNT);
                pools.push_back(device->device.createDescriptorPool({{}, count, size}));
            }
            const VkResult result = ropeAllocateSets(context, &plan, &buffers, pools[pool], sets.data());
            if (result == VK_SUCCESS) return sets;
            GGML_ASSERT(result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL);
        }
    }
    vk_device device;
    RopeLimits limits;
    RopeContext* context = nullptr;
    std::vector<vk::DescriptorPool> pools;
    struct kept_sets {
        std::vector<std::vector<VkDescriptorSet>> sets;
        size_t used, round; // used since ggml waited last
    };
    std::unordered_map<const vkrope_call*, kept_sets> kept;
    size_t pool = 0, round = 1, forgotten = 0; // the first pool that has room; rounds of graphs; sets without a call
};
using vkrope_level = vkrope_context;
