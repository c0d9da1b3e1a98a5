#include "device/state.hpp"

#include <cmath>
#include <cstdio>

namespace rope {
inline namespace ROPE_NAMESPACE {
namespace {

// The stages and accesses on one side of a barrier.
struct PipelineAccess {
    VkPipelineStageFlags stages;
    VkAccessFlags accesses;
};

void recordBarrier(const DeviceState& state, const PipelineAccess& before, const PipelineAccess& after) {
    VkMemoryBarrier memory = {};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = before.accesses;
    memory.dstAccessMask = after.accesses;
    state.vk.CmdPipelineBarrier(state.commands, before.stages, after.stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

constexpr VkPipelineStageFlags kEverywhere = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;
constexpr PipelineAccess kAllWrites = {kEverywhere, VK_ACCESS_MEMORY_WRITE_BIT};
constexpr PipelineAccess kAllUses = {kEverywhere, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};

// rope.h asks for these around ropeCmdExecute.
constexpr PipelineAccess kPlanWrites = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT};
constexpr PipelineAccess kPlanUses = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_UNIFORM_READ_BIT |
                                                                                VK_ACCESS_SHADER_READ_BIT |
                                                                                VK_ACCESS_SHADER_WRITE_BIT};

uint64_t nanoseconds(double seconds) {
    return seconds >= 1e9 ? UINT64_MAX : static_cast<uint64_t>(std::fmax(seconds, 0) * 1e9);
}

// The descriptor sets of some plans, freed together.
class DescriptorSets {
  public:
    explicit DescriptorSets(const DeviceState& state) : state_(state) {}
    ~DescriptorSets() {
        if (pool_ && !state_.stuck) state_.vk.DestroyDescriptorPool(state_.device, pool_, nullptr);
    }
    DescriptorSets(const DescriptorSets&) = delete;
    DescriptorSets& operator=(const DescriptorSets&) = delete;

    // Points each element of `buffers` that has no `sets` at sets of its own.
    VkResult make(const RopePlan* plans, std::vector<RopeBuffers>* buffers);

  private:
    VkResult makePool(uint32_t count);

    const DeviceState& state_;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    std::vector<VkDescriptorSet> sets_;
};

VkResult DescriptorSets::makePool(uint32_t count) {
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * (ROPE_BINDING_COUNT - 1)},
                                          {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count}};
    VkDescriptorPoolCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = count;
    info.poolSizeCount = 2;
    info.pPoolSizes = sizes;
    return madeOrNull(state_.vk.CreateDescriptorPool(state_.device, &info, nullptr, &pool_), &pool_);
}

VkResult DescriptorSets::make(const RopePlan* plans, std::vector<RopeBuffers>* buffers) {
    uint32_t count = 0;
    for (size_t i = 0; i < buffers->size(); ++i) count += (*buffers)[i].sets ? 0 : ropeDispatchCount(&plans[i]);
    if (count == 0) return VK_SUCCESS;
    sets_.resize(count);
    VkResult result = makePool(count);
    uint32_t used = 0;
    for (size_t i = 0; i < buffers->size() && result == VK_SUCCESS; ++i) {
        RopeBuffers& of_plan = (*buffers)[i];
        if (!of_plan.sets) {
            VkDescriptorSet* sets = sets_.data() + used;
            result = ropeAllocateSets(state_.context, &plans[i], &of_plan, pool_, sets);
            of_plan.sets = sets;
            used += ropeDispatchCount(&plans[i]);
        }
    }
    return result;
}

// However a recording ends, the next one may begin.
class EndOfRecording {
  public:
    explicit EndOfRecording(DeviceState* state) : state_(state) {}
    ~EndOfRecording() { state_->recording = false; }
    EndOfRecording(const EndOfRecording&) = delete;
    EndOfRecording& operator=(const EndOfRecording&) = delete;

  private:
    DeviceState* state_;
};

bool checkPlanBuffers(const DeviceState& state, const RopePlan& plan, const RopeBuffers& buffers, std::string* error) {
    if (plan.reason.text[0]) {
        *error = std::string("was refused: ") + plan.reason.text;
        return false;
    }
    for (uint32_t slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        const RopeBuffer& buffer = buffers.slots[slot];
        const std::string wanted =
            std::to_string(plan.bytes[slot]) + " bytes of " + ropeSlotName(static_cast<RopeSlot>(slot));
        if (plan.bytes[slot] && !buffer.buffer) {
            *error = "has no buffer for the " + wanted + " that it takes";
            return false;
        }
        const auto known = state.sizes.find(buffer.buffer);
        if (plan.bytes[slot] && known != state.sizes.end() &&
            (buffer.offset > known->second || known->second - buffer.offset < plan.bytes[slot])) {
            *error = "takes " + wanted + ", but the buffer has " + std::to_string(known->second) + " with " +
                     std::to_string(buffer.offset) + " before the slot";
            return false;
        }
    }
    return true;
}

} // namespace

bool DeviceState::begin(bool timed, std::string* error) {
    if (stuck) {
        *error = info.name + " did not finish earlier work: open a new device";
        return false;
    }
    if (recording) {
        *error = "a submission to " + info.name + " is being recorded: make other calls before it or behind it";
        return false;
    }
    VkCommandBufferBeginInfo begin_info = {};
    begin_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin_info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    VkResult result = vk.ResetCommandPool(device, pool, 0);
    if (result == VK_SUCCESS) result = vk.BeginCommandBuffer(commands, &begin_info);
    if (result != VK_SUCCESS) {
        *error = "recording could not begin on " + info.name + ": " + resultName(result);
        return false;
    }
    recording = true;
    recordBarrier(*this, kAllWrites, kAllUses);
    if (timed && queries) {
        vk.CmdResetQueryPool(commands, queries, 0, 2);
        vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
    }
    return true;
}

bool DeviceState::finish(std::string* error, double* gpu_seconds) {
    recording = false;
    const bool timed = gpu_seconds && queries;
    if (timed) vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1);
    recordBarrier(*this, kAllWrites, kAllUses);
    VkSubmitInfo submit_info = {};
    submit_info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit_info.commandBufferCount = 1;
    submit_info.pCommandBuffers = &commands;
    VkResult result = vk.EndCommandBuffer(commands);
    if (result == VK_SUCCESS) result = vk.ResetFences(device, 1, &fence);
    if (result == VK_SUCCESS) result = vk.QueueSubmit(queue, 1, &submit_info, fence);
    if (result == VK_SUCCESS) {
        result = vk.WaitForFences(device, 1, &fence, VK_TRUE, nanoseconds(timeout_seconds));
        stuck = result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST;
    }
    if (result == VK_TIMEOUT) {
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%g", timeout_seconds);
        *error = info.name + " did not finish within " + seconds + " s: submit less at once or allow more time";
        return false;
    }
    if (result == VK_ERROR_DEVICE_LOST) {
        *error = info.name + " was lost (its driver reset or crashed): open a new device";
        return false;
    }
    if (result != VK_SUCCESS) {
        *error = "work could not be submitted to " + info.name + ": " + resultName(result);
        return false;
    }
    if (gpu_seconds) *gpu_seconds = timed ? readSeconds() : -1;
    return true;
}

double DeviceState::readSeconds() const {
    uint64_t ticks[2] = {};
    const VkResult result =
        vk.GetQueryPoolResults(device, queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0], VK_QUERY_RESULT_64_BIT);
    const uint64_t mask = timestamp_bits < 64 ? (uint64_t{1} << timestamp_bits) - 1 : UINT64_MAX;
    const uint64_t elapsed = (ticks[1] - ticks[0]) & mask;
    return result == VK_SUCCESS ? static_cast<double>(elapsed) * info.properties.limits.timestampPeriod * 1e-9 : -1;
}

bool Device::isOpen(std::string* error) const {
    if (!state_) *error = "the device is empty: open one";
    return state_ != nullptr;
}

bool Device::submit(const std::function<void(VkCommandBuffer)>& record, std::string* error, double* gpu_seconds) {
    if (!isOpen(error)) return false;
    if (!record) {
        *error = "nothing records the submission: give a function";
        return false;
    }
    if (!state_->begin(gpu_seconds != nullptr, error)) return false;
    const EndOfRecording end(state_.get()); // `record` may throw
    record(state_->commands);
    return state_->finish(error, gpu_seconds);
}

bool Device::run(const RopePlan* plans, uint32_t count, const RopeBuffers* buffers, std::string* error,
                 double* gpu_seconds) {
    if (!isOpen(error)) return false;
    for (uint32_t i = 0; i < count; ++i) {
        if (!checkPlanBuffers(*state_, plans[i], buffers[i], error)) {
            *error = "plan " + std::to_string(i) + " " + *error;
            return false;
        }
    }
    RopeReason reason;
    VkResult result = ropePrepare(state_->context, plans, count, &reason);
    if (result != VK_SUCCESS) {
        *error = "ropePrepare returned " + resultName(result) + " on " + state_->info.name + ": " + reason.text;
        return false;
    }
    std::vector<RopeBuffers> bound(buffers, buffers + count);
    DescriptorSets descriptor_sets(*state_);
    result = (state_->limits.enabled & ROPE_ENABLED_PUSH_DESCRIPTORS) != 0 ? VK_SUCCESS
                                                                           : descriptor_sets.make(plans, &bound);
    if (result != VK_SUCCESS) {
        *error = "no descriptor sets on " + state_->info.name + ": " + resultName(result);
        return false;
    }
    if (!state_->begin(gpu_seconds != nullptr, error)) return false;
    const EndOfRecording end(state_.get());
    for (uint32_t i = 0; i < count; ++i) {
        if (i > 0) recordBarrier(*state_, kPlanWrites, kPlanUses);
        const RopeResult recorded = ropeCmdExecute(state_->commands, state_->context, &plans[i], &bound[i]);
        if (recorded != ROPE_SUCCESS) {
            *error = "plan " + std::to_string(i) + " could not be recorded: " + ropeResultName(recorded);
            return false; // the next begin() resets the command buffer
        }
    }
    return state_->finish(error, gpu_seconds);
}

} // namespace ROPE_NAMESPACE
} // namespace rope
