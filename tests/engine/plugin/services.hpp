// A host of native plugins gives them functions for these: memory, buffers, pipelines and dispatches. They are counted.
#pragma once

#include "arena.hpp"
#include "rope_plugin.h"

class Services {
  public:
    Services(const engine::Gpu& gpu, engine::Arena* arena);
    ~Services();
    Services(const Services&) = delete;
    Services& operator=(const Services&) = delete;

    RopePluginHost functions();
    static RopePluginBuffer handle(const engine::Slice& slice);
    VkCommandBuffer begin();
    void submit(VkCommandBuffer commands);

    uint32_t held = 0;       // memory, buffers and pipelines that the plugin has
    uint32_t made = 0;       // of these, ever
    uint32_t dispatches = 0; // recorded

  private:
    struct Pipeline {
        VkDescriptorSetLayout set_layout;
        VkPipelineLayout layout;
        VkPipeline pipeline;
        uint32_t push_bytes;
    };
    void* allocate(size_t bytes);
    RopePluginBuffer makeBuffer(const void* contents, size_t bytes);
    Pipeline* makePipeline(const RopePluginShader& shader);
    void destroyPipeline(Pipeline* pipeline);
    VkDescriptorSet makeSet(VkDescriptorSetLayout layout, const RopePluginDispatch& call);
    void dispatch(VkCommandBuffer commands, const RopePluginDispatch& call);

    const engine::Gpu& gpu_;
    engine::Arena* arena_;
    VkDescriptorPool sets_ = VK_NULL_HANDLE;
    VkCommandPool commands_ = VK_NULL_HANDLE;
};
