#include "bench/harness/repeats.hpp"

#include <algorithm>

namespace measure {

RopeBuffers BufferSets::at(uint32_t set) const {
    RopeBuffers buffers = first;
    for (uint32_t slot = 0; slot < ROPE_SLOT_COUNT; ++slot) buffers.slots[slot].offset += set * stride[slot];
    return buffers;
}

RepeatedWork::RepeatedWork(RepeatedWork&& other) noexcept
    : device_(other.device_), work_(std::move(other.work_)), next_set_(other.next_set_), pool_(other.pool_),
      descriptor_sets_(std::move(other.descriptor_sets_)) {
    other.pool_ = VK_NULL_HANDLE;
}

RepeatedWork::~RepeatedWork() {
    if (pool_ != VK_NULL_HANDLE) device_->vk().DestroyDescriptorPool(device_->handle(), pool_, nullptr);
}

uint32_t RepeatedWork::mostRepeats() const {
    constexpr uint64_t kMost = 4096; // recording more takes longer than it makes the time surer
    return static_cast<uint32_t>(std::min(kMost, uint64_t{work_.most_uses} * work_.sets));
}

uint32_t RepeatedWork::dispatchesOfSet() const {
    uint32_t count = 0;
    for (const RopePlan& plan : work_.plans) count += ropeDispatchCount(&plan);
    return count;
}

bool RepeatedWork::prepare(std::string* error) {
    RopeReason reason;
    const auto count = static_cast<uint32_t>(work_.plans.size());
    if (ropePrepare(device_->context(), work_.plans.data(), count, &reason) != VK_SUCCESS) {
        *error = std::string("the pipelines were refused: ") + reason.text;
        return false;
    }
    const bool pushes = (device_->limits().enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) != 0;
    return pushes || dispatchesOfSet() == 0 || makeDescriptorSets(error);
}

bool RepeatedWork::makeDescriptorSets(std::string* error) {
    const uint32_t count = work_.sets * dispatchesOfSet();
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * (ROPE_BINDING_COUNT - 1)},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count}};
    VkDescriptorPoolCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = count;
    info.poolSizeCount = 2;
    info.pPoolSizes = sizes;
    VkResult result = device_->vk().CreateDescriptorPool(device_->handle(), &info, nullptr, &pool_);
    descriptor_sets_.resize(count);
    VkDescriptorSet* next = descriptor_sets_.data();
    for (uint32_t set = 0; set < work_.sets; ++set) {
        for (size_t i = 0; i < work_.plans.size() && result == VK_SUCCESS; ++i) {
            const RopeBuffers buffers = work_.buffers[i].at(set);
            result = ropeAllocateSets(device_->context(), &work_.plans[i], &buffers, pool_, next);
            next += ropeDispatchCount(&work_.plans[i]);
        }
    }
    if (result != VK_SUCCESS) *error = "no descriptor sets: Vulkan's result is " + std::to_string(result);
    return result == VK_SUCCESS;
}

// A transfer is followed by a transfer, and a plan by a plan.
void RepeatedWork::recordBarrier(VkCommandBuffer commands) const {
    VkMemoryBarrier memory = {};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = dispatches() ? VK_ACCESS_SHADER_WRITE_BIT : VK_ACCESS_TRANSFER_WRITE_BIT;
    memory.dstAccessMask = dispatches()
                               ? VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT
                               : VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkPipelineStageFlags stage =
        dispatches() ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : VK_PIPELINE_STAGE_TRANSFER_BIT;
    device_->vk().CmdPipelineBarrier(commands, stage, stage, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

RopeResult RepeatedWork::recordPlans(VkCommandBuffer commands, uint32_t set, bool* first) const {
    const VkDescriptorSet* sets = descriptor_sets_.data() + size_t{set} * dispatchesOfSet();
    for (size_t i = 0; i < work_.plans.size(); ++i) {
        if (!*first) recordBarrier(commands);
        *first = false;
        RopeBuffers buffers = work_.buffers[i].at(set);
        if (!descriptor_sets_.empty()) buffers.sets = sets;
        sets += ropeDispatchCount(&work_.plans[i]);
        const RopeResult result = ropeCmdExecute(commands, device_->context(), &work_.plans[i], &buffers);
        if (result != ROPE_SUCCESS) return result;
    }
    return ROPE_SUCCESS;
}

bool RepeatedWork::run(uint32_t repeats, std::string* error, double* gpu_seconds) {
    RopeResult result = ROPE_SUCCESS;
    bool first = true;
    const auto record = [&](VkCommandBuffer commands) {
        for (uint32_t i = 0; i < repeats && result == ROPE_SUCCESS; ++i) {
            const uint32_t set = next_set_;
            next_set_ = (set + 1) % work_.sets;
            if (!work_.transfer) {
                result = recordPlans(commands, set, &first);
                continue;
            }
            if (!first) recordBarrier(commands);
            first = false;
            work_.transfer(commands, work_.buffers[0].at(set), set);
        }
    };
    if (work_.before_uses) work_.before_uses((repeats + work_.sets - 1) / work_.sets);
    if (!device_->submit(record, error, gpu_seconds)) return false;
    if (result != ROPE_SUCCESS) *error = std::string("recording returned ") + ropeResultName(result);
    return result == ROPE_SUCCESS;
}

} // namespace measure
