// vkrope's plain dispatches, by ggml's own pipelines and descriptor sets. vkrope.hpp includes this file.
struct vkrope_raw {
    vkrope_raw(ggml_backend_vk_context* ctx) : device(ctx->device) {
        const VkPhysicalDeviceProperties properties = device->properties;
        ropeLimitsFromDevice(&properties, ROPE_ENABLED_STORAGE_16, &limits);
    }
    ~vkrope_raw() {
        for (auto& p : pipelines) ggml_vk_destroy_pipeline(device->device, p.second);
    }
    void begin(ggml_backend_vk_context*) {}
    bool prepare(vkrope_call& call) {
        RopeDispatch d;
        call.dispatches.clear();
        for (uint32_t i = 0; i < ropeDispatchCount(&call.plan); ++i) {
            ropeGetDispatch(&call.plan, i, &d);
            std::string key = d.shader->name + std::string((const char*)d.constants, sizeof d.constants);
            for (const RopeBinding& b : d.bindings) key += b.range != 0 ? 'b' : '-';
            vk_pipeline& p = pipelines[key];
            if (!p) make(p, d);
            call.dispatches.push_back({d, p});
        }
        return true;
    }
    void make(vk_pipeline& p, const RopeDispatch& d) {
        std::vector<uint32_t> spirv(d.shader->bytes / sizeof(uint32_t));
        const size_t bytes = ropeSpecialize(&d, spirv.data());
        p = std::make_shared<vk_pipeline_struct>();
        p->name = d.shader->name;
        p->push_constant_size = sizeof d.push;
        ggml_vk_create_pipeline_func(device, p, bytes, spirv.data(), "main", MAX_PARAMETER_COUNT, {1, 1, 1}, {}, true,
                                     false, 0);
    }
    void execute(ggml_backend_vk_context* ctx, vkrope_call& call) {
        for (auto& [d, p] : call.dispatches) {
            ggml_pipeline_request_descriptor_sets(ctx, p, 1);
            const vk::DescriptorSet set = ctx->descriptor_sets[ctx->descriptor_set_idx++];
            vk::DescriptorBufferInfo buffers[ROPE_BINDING_COUNT];
            vk::WriteDescriptorSet writes[ROPE_BINDING_COUNT];
            uint32_t count = 0;
            for (uint32_t n = 0; n < ROPE_BINDING_COUNT; ++n) {
                const auto& [slot, offset, range] = d.bindings[n];
                if (range == 0) continue;
                const vk::DescriptorBufferInfo& at = call.slots[slot];
                GGML_ASSERT(offset + range <= ((at.range + 3) & ~size_t{3}));
                buffers[count] = vk::DescriptorBufferInfo(at.buffer, at.offset + offset, range);
                writes[count] = {set, n, 0, 1, vk::DescriptorType::eStorageBuffer, nullptr, buffers + count};
                ++count;
            }
            const vk::CommandBuffer& commands = ggml_vk_get_compute_ctx(ctx)->s->buffer->buf;
            device->device.updateDescriptorSets(count, writes, 0, nullptr);
            commands.pushConstants(p->layout, vk::ShaderStageFlagBits::eCompute, 0, sizeof d.push, d.push);
            commands.bindPipeline(vk::PipelineBindPoint::eCompute, p->pipeline);
            commands.bindDescriptorSets(vk::PipelineBindPoint::eCompute, p->layout, 0, {set}, {});
            commands.dispatch(d.groups[0], d.groups[1], d.groups[2]);
        }
    }
    vk_device device;
    RopeLimits limits;
    std::map<std::string, vk_pipeline> pipelines; // by shader, constants and bindings
};
using vkrope_level = vkrope_raw;
