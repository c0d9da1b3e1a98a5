// This file records a plan into a command buffer, with a few Vulkan calls for each dispatch, and makes descriptor
// sets.
#include "record/record.h"
#include "plan/pass.h"

#include <stdio.h>

namespace rope {
namespace {

// Pushes the dispatch's buffers, or points the set at them.
void bindBuffers(const RopeContext& context, const RopeDispatch& dispatch, const RopeBuffers& buffers,
                 VkDescriptorSet set, VkCommandBuffer command_buffer, VkPipelineLayout layout) {
    VkDescriptorBufferInfo infos[ROPE_BINDING_COUNT];
    VkWriteDescriptorSet writes[ROPE_BINDING_COUNT];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        const RopeBinding& binding = dispatch.bindings[i];
        if (binding.range == 0) continue;
        const RopeBuffer& buffer = buffers.slots[binding.slot];
        VkDescriptorBufferInfo* info = &infos[count];
        *info = {buffer.buffer, buffer.offset + binding.offset, binding.range};
        writes[count++] = {
            VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, nullptr, set, i, 0, 1, descriptorType(i), nullptr, info, nullptr};
    }
    if (context.pushes_descriptors)
        context.vk.CmdPushDescriptorSetKHR(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, count, writes);
    else
        context.vk.UpdateDescriptorSets(context.device, count, writes, 0, nullptr);
}

void pointSet(const RopeContext& context, const RopePlan& plan, uint32_t index, const RopeBuffers& buffers,
              VkDescriptorSet set) {
    RopeDispatch dispatch;
    ropeGetDispatch(&plan, index, &dispatch);
    bindBuffers(context, dispatch, buffers, set, VK_NULL_HANDLE, VK_NULL_HANDLE);
}

constexpr uint32_t kSources = 3; // Q's or the one tensor's, K's, V's
static_assert(ROPE_BINDING_SOURCE_K == ROPE_BINDING_SOURCE + 1 && ROPE_BINDING_SOURCE_V == ROPE_BINDING_SOURCE + 2 &&
                  ROPE_BINDING_DESTINATION == ROPE_BINDING_SOURCE + kSources &&
                  ROPE_BINDING_DESTINATION_K == ROPE_BINDING_SOURCE_K + kSources &&
                  ROPE_BINDING_DESTINATION_V == ROPE_BINDING_SOURCE_V + kSources,
              "the destinations follow the sources in the same order");

// True if a source and its destination, in two slots, begin at one byte of one buffer. Tensors of a fused pass may
// share a binding, and each begins at another place in it. A cache is left out: its binding begins at its first slot,
// which the pass need not write.
bool sourceMeetsDestination(const PlanPass& pass, const RopeBuffers& buffers) {
    const PassFacts& f = pass.facts;
    const bool fused = f.words == kFusedWords;
    for (uint32_t i = 0; i < kSources; ++i) {
        const uint32_t source = fused ? f.from[i] : ROPE_BINDING_SOURCE + i;
        const uint32_t destination = fused ? f.to[i] : ROPE_BINDING_DESTINATION + i;
        if ((fused && f.heads[i] == 0) || !isBound(pass, source) || !isBound(pass, destination)) continue;
        const PassAccess &from = pass.access[source], &to = pass.access[destination];
        if (from.slot == to.slot || isCache(pass, destination)) continue;
        const RopeBuffer &in = buffers.slots[from.slot], &out = buffers.slots[to.slot];
        const uint64_t read = in.offset + (fused ? f.from_begin[i] : from.offset) * from.element_bytes;
        const uint64_t written = out.offset + (fused ? f.to_begin[i] : to.offset) * to.element_bytes;
        if (in.buffer == out.buffer && read == written) return true;
    }
    return false;
}

} // namespace

RopeResult checkRecording(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers, bool with_sets,
                          const PipelineNode* pipelines[ROPE_MAX_PASSES]) {
    if (context == nullptr || plan == nullptr || buffers == nullptr) return ROPE_ERROR_INVALID;
    const RopeResult result = checkPlan(*context, *plan, 0, nullptr);
    if (result != ROPE_SUCCESS) return result;
    const RopeLimits& limits = context->limits;
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan->bytes[slot] == 0) continue;
        if (buffers->slots[slot].buffer == VK_NULL_HANDLE) return ROPE_ERROR_MISSING_BUFFER;
        const uint32_t low_bits =
            (slot == ROPE_SLOT_PARAMETERS ? limits.uniform_alignment : limits.storage_alignment) - 1;
        if ((buffers->slots[slot].offset & low_bits) != 0) return ROPE_ERROR_MISALIGNED;
    }
    for (uint32_t i = 0; i < plan->pass_count; ++i) {
        const PlanPass& pass = passAt(*plan, i);
        if (sourceMeetsDestination(pass, *buffers)) return ROPE_ERROR_OVERLAP;
        pipelines[i] = findPipeline(*context, pass);
        if (pipelines[i] == nullptr) return ROPE_ERROR_NOT_PREPARED;
    }
    return with_sets && !context->pushes_descriptors && buffers->sets == nullptr ? ROPE_ERROR_MISSING_SETS
                                                                                 : ROPE_SUCCESS;
}

void labelRange(VkCommandBuffer command_buffer, const RopeContext& context, const char* what) {
    if (context.vk.CmdBeginDebugUtilsLabelEXT == nullptr || context.vk.CmdEndDebugUtilsLabelEXT == nullptr) return;
    if (what == nullptr) return context.vk.CmdEndDebugUtilsLabelEXT(command_buffer);
    char name[kNameBytes];
    snprintf(name, sizeof name, kName, what);
    const VkDebugUtilsLabelEXT label = {VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, nullptr, name, {}};
    context.vk.CmdBeginDebugUtilsLabelEXT(command_buffer, &label);
}

void bindDispatch(VkCommandBuffer command_buffer, const RopeContext& context, const PipelineNode& pipeline,
                  const RopeBuffers& buffers, uint32_t index, const RopeDispatch& dispatch) {
    const ContextFunctions& vk = context.vk;
    vk.CmdBindPipeline(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    const VkDescriptorSet* set = context.pushes_descriptors ? nullptr : &buffers.sets[index];
    if (set == nullptr)
        bindBuffers(context, dispatch, buffers, VK_NULL_HANDLE, command_buffer, pipeline.layout);
    else
        vk.CmdBindDescriptorSets(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, set, 0,
                                 nullptr);
    vk.CmdPushConstants(command_buffer, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof dispatch.push,
                        dispatch.push);
}

} // namespace rope

using namespace rope;

VkResult ropeAllocateSets(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers,
                          VkDescriptorPool pool, VkDescriptorSet* sets) {
    if (context == nullptr || sets == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
    if (context->pushes_descriptors) return VK_ERROR_FEATURE_NOT_PRESENT;
    const PipelineNode* pipelines[ROPE_MAX_PASSES];
    const RopeResult refused = checkRecording(context, plan, buffers, /* with_sets= */ false, pipelines);
    if (refused != ROPE_SUCCESS) return VK_ERROR_INITIALIZATION_FAILED;
    uint32_t index = 0;
    for (uint32_t pass = 0; pass < plan->pass_count; ++pass) {
        for (uint32_t part = 0; part < plan->passes[pass].dispatches; ++part, ++index) {
            VkDescriptorSetAllocateInfo info = {};
            info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
            info.descriptorPool = pool;
            info.descriptorSetCount = 1;
            info.pSetLayouts = &pipelines[pass]->set_layout;
            const VkResult result = context->vk.AllocateDescriptorSets(context->device, &info, &sets[index]);
            if (result != VK_SUCCESS) return result;
            pointSet(*context, *plan, index, *buffers, sets[index]);
        }
    }
    return VK_SUCCESS;
}

RopeResult ropeUpdateSets(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers) {
    if (context == nullptr || context->pushes_descriptors) return ROPE_ERROR_INVALID;
    const PipelineNode* pipelines[ROPE_MAX_PASSES];
    const RopeResult refused = checkRecording(context, plan, buffers, /* with_sets= */ true, pipelines);
    if (refused != ROPE_SUCCESS) return refused;
    const uint32_t count = ropeDispatchCount(plan);
    for (uint32_t index = 0; index < count; ++index) pointSet(*context, *plan, index, *buffers, buffers->sets[index]);
    return ROPE_SUCCESS;
}

RopeResult ropeCmdExecute(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                          const RopeBuffers* buffers) {
    return recordPlan(command_buffer, context, plan, buffers, [&](uint32_t, const RopeDispatch& dispatch) {
        context->vk.CmdDispatch(command_buffer, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
    });
}

RopeResult ropeCmdExecuteIndirect(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                                  const RopeBuffers* buffers, VkBuffer groups, VkDeviceSize offset) {
    if (groups == VK_NULL_HANDLE) return ROPE_ERROR_MISSING_BUFFER;
    return recordPlan(command_buffer, context, plan, buffers, [&](uint32_t index, const RopeDispatch&) {
        context->vk.CmdDispatchIndirect(command_buffer, groups, offset + index * sizeof(VkDispatchIndirectCommand));
    });
}
