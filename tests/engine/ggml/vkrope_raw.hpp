// vkrope's plain dispatches, by ggml's own pipelines and descriptor sets: another vkrope_level, which vkrope.hpp takes
// if VKROPE_RAW is defined.
struct vkrope_pipelines {
    using dispatch = std::pair<RopeDispatch, vk_pipeline>;

    ~vkrope_pipelines() {
        for (auto& p : made) ggml_vk_destroy_pipeline(device->device, p.second);
    }
    VkResult prepare(const RopePlan& plan) {
        RopeDispatch d;
        std::vector<dispatch>& of_plan = dispatches[&plan];
        of_plan.clear();
        for (uint32_t i = 0; i < ropeDispatchCount(&plan); ++i) {
            ropeGetDispatch(&plan, i, &d);
            std::string key = d.shader->name + std::string((const char*)d.constants, sizeof d.constants);
            for (const RopeBinding& b : d.bindings) key += b.range != 0 ? 'b' : '-';
            vk_pipeline& p = made[key];
            if (!p) make(p, d);
            of_plan.push_back({d, p});
        }
        return VK_SUCCESS;
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
    vk_device device;
    std::map<std::string, vk_pipeline> made;                               // by shader, constants and bindings
    std::unordered_map<const RopePlan*, std::vector<dispatch>> dispatches; // of the plan that lies there
};

struct vkrope_raw {
    vkrope_raw(ggml_backend_vk_context* ctx) : context{ctx->device, {}, {}} {
        const VkPhysicalDeviceProperties properties = ctx->device->properties;
        ropeLimitsFromDevice(&properties, ROPE_ENABLED_STORAGE_16, &limits);
    }
    void execute(ggml_backend_vk_context* ctx, vk::CommandBuffer commands, const RopePlan& plan,
                 const RopeBuffers& slots) {
        for (auto& [d, p] : context.dispatches[&plan]) {
            ggml_pipeline_request_descriptor_sets(ctx, p, 1);
            const vk::DescriptorSet set = ctx->descriptor_sets[ctx->descriptor_set_idx++];
            // A binding that the pass leaves free gets a buffer too. ggml keeps its sets, and lavapipe 22.3.6 corrupts
            // the heap where a set still names a buffer that is gone, also in a binding that no shader reads.
            vk::DescriptorBufferInfo buffers[MAX_PARAMETER_COUNT], bound;
            for (uint32_t n = 0; n < MAX_PARAMETER_COUNT; ++n) {
                const auto& [slot, offset, range] = d.bindings[n];
                if (range == 0) continue;
                bound = vk::DescriptorBufferInfo(slots.slots[slot].buffer, slots.slots[slot].offset + offset, range);
                buffers[n] = bound;
            }
            for (vk::DescriptorBufferInfo& b : buffers)
                if (!b.buffer) b = bound;
            const vk::WriteDescriptorSet write(set, 0, 0, MAX_PARAMETER_COUNT, vk::DescriptorType::eStorageBuffer,
                                               nullptr, buffers);
            context.device->device.updateDescriptorSets({write}, {});
            commands.pushConstants(p->layout, vk::ShaderStageFlagBits::eCompute, 0, sizeof d.push, d.push);
            commands.bindPipeline(vk::PipelineBindPoint::eCompute, p->pipeline);
            commands.bindDescriptorSets(vk::PipelineBindPoint::eCompute, p->layout, 0, {set}, {});
            commands.dispatch(d.groups[0], d.groups[1], d.groups[2]);
        }
    }
    RopeLimits limits;
    vkrope_pipelines context;
    struct {
        void reuse(bool) {} // ggml does so with its sets
    } sets;
};
using vkrope_level = vkrope_raw;
