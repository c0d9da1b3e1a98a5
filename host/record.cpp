// A plan into a command buffer: a few Vulkan calls for each of its dispatches.
#include "context.h"
#include "plan.h"

namespace rope {
namespace {

struct Writes {
    VkDescriptorBufferInfo buffers[ROPE_BINDING_COUNT];
    VkWriteDescriptorSet writes[ROPE_BINDING_COUNT];
};

void describe(const RopeDispatch& dispatch, const RopeBuffers& buffers, VkDescriptorSet set, Writes* w) {
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        const RopeBinding& binding = dispatch.bindings[i];
        const RopeBuffer& buffer = buffers.slots[binding.slot];
        w->buffers[i] = {buffer.buffer, buffer.offset + binding.offset, binding.range};
        w->writes[i] = {};
        w->writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        w->writes[i].dstSet = set;
        w->writes[i].dstBinding = i;
        w->writes[i].descriptorCount = 1;
        w->writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        w->writes[i].pBufferInfo = &w->buffers[i];
    }
}

bool lacksBuffer(const RopePlan& plan, const RopeBuffers& buffers) {
    for (int slot = 0; slot < ROPE_SLOT_COUNT; ++slot) {
        if (plan.bytes[slot] != 0 && buffers.slots[slot].buffer == VK_NULL_HANDLE) return true;
    }
    return false;
}

RopeResult check(const RopeContext& context, const RopePlan& plan, const RopeBuffers& buffers) {
    if (plan.pass_count == 0) return ROPE_ERROR_INVALID;
    if (lacksBuffer(plan, buffers)) return ROPE_ERROR_MISSING_BUFFER;
    for (uint32_t i = 0; i < plan.pass_count; ++i) {
        const RopePass& pass = plan.passes[i];
        if (findPipeline(context, pass.shader, pass.constants) == VK_NULL_HANDLE) return ROPE_ERROR_NOT_PREPARED;
    }
    return !context.pushes && buffers.sets == nullptr ? ROPE_ERROR_MISSING_SETS : ROPE_SUCCESS;
}

} // namespace
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
        describe(dispatch, *buffers, sets[i], &w);
        context->vk.UpdateDescriptorSets(context->device, ROPE_BINDING_COUNT, w.writes, 0, nullptr);
    }
    return VK_SUCCESS;
}

RopeResult ropeCmdExecute(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                          const RopeBuffers* buffers) {
    const RopeResult result = check(*context, *plan, *buffers);
    if (result != ROPE_SUCCESS) return result;
    const Functions& vk = context->vk;
    const uint32_t count = ropeDispatchCount(plan);
    for (uint32_t i = 0; i < count; ++i) {
        RopeDispatch dispatch;
        ropeGetDispatch(plan, i, &dispatch);
        const VkPipeline pipeline = findPipeline(*context, dispatch.shader, dispatch.constants);
        vk.CmdBindPipeline(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
        if (context->pushes) {
            Writes w;
            describe(dispatch, *buffers, VK_NULL_HANDLE, &w);
            vk.CmdPushDescriptorSetKHR(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, context->pipeline_layout, 0,
                                       ROPE_BINDING_COUNT, w.writes);
        } else {
            vk.CmdBindDescriptorSets(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, context->pipeline_layout, 0, 1,
                                     &buffers->sets[i], 0, nullptr);
        }
        vk.CmdPushConstants(command_buffer, context->pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                            sizeof dispatch.push, dispatch.push);
        vk.CmdDispatch(command_buffer, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
    }
    return ROPE_SUCCESS;
}
