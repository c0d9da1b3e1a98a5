// The decoder's own shaders: one matrix product, one attention.
#pragma once

#include <vkrope/device.hpp>

#include <gtest/gtest.h>

namespace decoder {

enum class Kernel { kMatmul, kAttention, kTurningAttention };
constexpr uint32_t kKernelCount = 3;
constexpr uint32_t kKernelBindings = 5;
constexpr uint32_t kUniformBinding = 3; // the others are storage buffers

// One kernel with its buffers.
struct Call {
    Kernel kernel;
    VkDescriptorSet set;
    uint32_t push[3];
    uint32_t groups; // for each token
};

class Kernels {
  public:
    explicit Kernels(rope::Device* device) : device_(device) {}
    ~Kernels();
    Kernels(const Kernels&) = delete;
    Kernels& operator=(const Kernels&) = delete;

    void make();
    // A null buffer is one that the kernel does not have.
    VkDescriptorSet bind(const RopeBuffer (&buffers)[kKernelBindings]);
    void begin(VkCommandBuffer commands, const Call& call) const; // all but the dispatch
    VkDescriptorPool pool() const { return pool_; }               // with room for vkrope's sets

  private:
    void makeLayouts();
    void makePipeline(Kernel kernel);

    rope::Device* device_;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    VkPipeline pipelines_[kKernelCount] = {};
};

} // namespace decoder
