// Repeated work: many repetitions of the same plans in one submission, over buffer sets that are used in turns. A
// barrier stands between each two plans.
#pragma once

#include <vkrope/device.hpp>

#include <functional>
#include <string>
#include <vector>

namespace measure {

// The buffers of one plan in every set. Set i lies i strides behind the first; all sets share a slot whose stride is 0.
struct BufferSets {
    RopeBuffers first = {};
    uint64_t stride[ROPE_SLOT_COUNT] = {};

    RopeBuffers at(uint32_t set) const;
};

// What is repeated: some plans in their order, or the commands of a transfer.
struct Work {
    std::vector<RopePlan> plans;
    std::vector<BufferSets> buffers; // of each plan, or of the transfer
    uint32_t sets = 1;
    std::function<void(VkCommandBuffer, const RopeBuffers&, uint32_t set)> transfer; // in place of plans
    bool dispatches = false;                                                         // the transfer records dispatches
    // Is told before a submission how often the submission will use each set: plans that work in place may need the
    // first contents back. It may be null.
    std::function<void(uint32_t uses)> before_uses;
    uint32_t most_uses = 1u << 20; // of each set, in one submission
};

class RepeatedWork {
  public:
    RepeatedWork(rope::Device* device, Work work) : device_(device), work_(std::move(work)) {}
    RepeatedWork(RepeatedWork&& other) noexcept;
    RepeatedWork& operator=(RepeatedWork&&) = delete;
    ~RepeatedWork();

    // Makes pipelines, and descriptor sets where the device needs them. It is to be called once, before run().
    bool prepare(std::string* error);
    // Carries out `repeats` repetitions, beginning with the set after the last one, and waits. *gpu_seconds is the time
    // of all of them between two timestamps; null asks for none.
    bool run(uint32_t repeats, std::string* error, double* gpu_seconds);

    uint32_t mostRepeats() const;
    bool dispatches() const { return !work_.transfer || work_.dispatches; }

  private:
    uint32_t dispatchesOfSet() const;
    bool makeDescriptorSets(std::string* error);
    RopeResult recordPlans(VkCommandBuffer commands, uint32_t set, bool* first) const;
    void recordBarrier(VkCommandBuffer commands) const;

    rope::Device* device_;
    Work work_;
    uint32_t next_set_ = 0;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    std::vector<VkDescriptorSet> descriptor_sets_; // by set, then by plan, then by dispatch
};

} // namespace measure
