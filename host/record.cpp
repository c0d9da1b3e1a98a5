// A plan into a command buffer: a few Vulkan calls for each of its dispatches.
#include "context.h"
#include "plan.h"

namespace rope {
namespace {

struct Writes {
    VkDescriptorBufferInfo buffers[ROPE_BINDING_COUNT];
    VkWriteDescriptorSet writes[ROPE_BINDING_COUNT];
};

// Returns how many bindings the dispatch has.
uint32_t describe(const RopeDispatch& dispatch, const RopeBuffers& buffers, VkDescriptorSet set, Writes* w) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        const RopeBinding& binding = dispatch.bindings[i];
        if (binding.range == 0) continue;
        const RopeBuffer& buffer = buffers.slots[binding.slot];
        VkWriteDescriptorSet& write = w->writes[count];
        w->buffers[count] = {buffer.buffer, buffer.offset + binding.offset, binding.range};
        write = {};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set;
        write.dstBinding = i;
        write.descriptorCount = 1;
        write.descriptorType = descriptorType(i);
        write.pBufferInfo = &w->buffers[count++];
    }
    return count;
}

bool lacksBuffer(const RopePlan& plan, const RopeBuffers& buffers) {
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan.bytes[slot] != 0 && buffers.slots[slot].buffer == VK_NULL_HANDLE) return true;
    }
    return false;
}

} // namespace

RopeResult checkRecording(const RopeContext& context, const RopePlan& plan, const RopeBuffers& buffers) {
    if (plan.pass_count == 0) return ROPE_ERROR_INVALID;
    if (lacksBuffer(plan, buffers)) return ROPE_ERROR_MISSING_BUFFER;
    for (uint32_t i = 0; i < plan.pass_count; ++i) {
        const RopePass& pass = plan.passes[i];
        if (findPipeline(context, pass.shader, pass.constants) == VK_NULL_HANDLE) return ROPE_ERROR_NOT_PREPARED;
    }
    return !context.pushes && buffers.sets == nullptr ? ROPE_ERROR_MISSING_SETS : ROPE_SUCCESS;
}

void bindDispatch(VkCommandBuffer command_buffer, const RopeContext& context, const RopeBuffers& buffers,
                  uint32_t index, const RopeDispatch& dispatch) {
    const Functions& vk = context.vk;
    const VkPipeline pipeline = findPipeline(context, dispatch.shader, dispatch.constants);
    vk.CmdBindPipeline(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    if (context.pushes) {
        Writes w;
        const uint32_t bound = describe(dispatch, buffers, VK_NULL_HANDLE, &w);
        vk.CmdPushDescriptorSetKHR(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, context.pipeline_layout, 0, bound,
                                   w.writes);
    } else {
        vk.CmdBindDescriptorSets(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, context.pipeline_layout, 0, 1,
                                 &buffers.sets[index], 0, nullptr);
    }
    vk.CmdPushConstants(command_buffer, context.pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof dispatch.push,
                        dispatch.push);
}

} // namespace rope

using namespace rope;

VkResult ropeAllocateSets(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers,
                          VkDescriptorPool pool, VkDescriptorSet* sets) {
    if (context->pushes) return VK_ERROR_FEATURE_NOT_PRESENT;
    if (lacksBuffer(*plan, *buffers)) return VK_ERROR_INITIALIZATION_FAILED;
    const uint32_t count = ropeDispatchCount(plan);
    for (uint32_t i = 0; i < count; ++i) {
        VkDescriptorSetAllocateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        info.descriptorPool = pool;
        info.descriptorSetCount = 1;
        info.pSetLayouts = &context->set_layout;
        const VkResult result = context->vk.AllocateDescriptorSets(context->device, &info, &sets[i]);
        if (result != VK_SUCCESS) return result;
        RopeDispatch dispatch;
        ropeGetDispatch(plan, i, &dispatch);
        Writes w;
        const uint32_t bound = describe(dispatch, *buffers, sets[i], &w);
        context->vk.UpdateDescriptorSets(context->device, bound, w.writes, 0, nullptr);
    }
    return VK_SUCCESS;
}

RopeResult ropeCmdExecute(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                          const RopeBuffers* buffers) {
    return recordPlan(command_buffer, *context, *plan, *buffers, [&](uint32_t, const RopeDispatch& dispatch) {
        context->vk.CmdDispatch(command_buffer, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
    });
}
