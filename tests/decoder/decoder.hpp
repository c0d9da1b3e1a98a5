// The decoder on a device: prefill and decode over a paged cache, by any path and way of submitting.
#pragma once

#include "kernels.hpp"
#include "stages.hpp"
#include "support/recording.hpp"

#include <map>

namespace decoder {

// Behind the first page, which stays, two pages are dropped in a context shift.
constexpr uint32_t kKept = PAGE_SIZE;
constexpr uint32_t kDropped = 2 * PAGE_SIZE;

class Decoder {
  public:
    // The model outlives it.
    Decoder(rope::Device* device, const Model& model, const Options& options);

    // All of these fail the test where Vulkan or vkrope refuses.
    void make();
    void step(const std::vector<uint32_t>& tokens, std::vector<float>* logits); // up to MOST_TOKENS
    void shift();
    void expectRestUntouched(); // what lies behind the buffers' ends, and slots that no token was given

    uint32_t length() const { return length_; }

  private:
    // A plan of vkrope's, or a kernel of the decoder's own.
    struct Operation {
        RopePlan plan;
        RopeBuffers buffers;
        std::vector<VkDescriptorSet> sets;
        Call call;
        bool is_plan() const { return plan.pass_count != 0; }
    };
    using Program = std::vector<Operation>;

    rope::Buffer makeBuffer(size_t bytes);
    template <typename T> rope::Buffer send(const std::vector<T>& values);
    void makeBuffers();
    bool indirect() const { return options_.submission == Submission::kIndirect; }

    void addPlan(const Stage& stage, uint32_t layer, Program* program);
    void addCall(const Call& call, Program* program);
    void addMatmul(const rope::Buffer& input, const rope::Buffer& weights, const rope::Buffer& output, uint32_t inputs,
                   uint32_t outputs, bool add, Program* program);
    void addAttention(uint32_t layer, Program* program);
    void build(uint32_t tokens, Program* program);
    void record(VkCommandBuffer commands, const Program& program, uint32_t tokens) const;
    std::vector<VkDispatchIndirectCommand> groups(const Program& program, uint32_t tokens) const;
    void writeStep(uint32_t start, uint32_t count);
    void submit(uint32_t tokens);

    rope::Device* device_;
    const Model& model_;
    Options options_;
    std::string error_;
    Kernels kernels_;
    gpu::Recording recording_;
    rope::Buffer step_, hidden_, qkv_, q_, k_, attended_, logits_, groups_;
    rope::Buffer cache_; // [LAYERS]
    rope::Buffer frequencies_, attention_frequencies_;
    rope::Buffer qkv_weights_[LAYERS], out_weights_[LAYERS], logit_weights_;
    std::vector<rope::Buffer> parameters_; // one for each plan that has norms
    std::map<uint32_t, Program> programs_; // by the tokens that they are made for
    std::vector<int32_t> pages_;
    std::vector<bool> given_; // slots
    uint32_t length_ = 0;
};

} // namespace decoder
