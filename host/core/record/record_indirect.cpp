// This file records a plan whose group counts lie in a buffer: ropeCmdExecuteIndirect.
#include "record/record.h"

using namespace rope;

RopeResult ropeCmdExecuteIndirect(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                                  const RopeBuffers* buffers, VkBuffer groups, VkDeviceSize offset) {
    if (groups == VK_NULL_HANDLE) return ROPE_ERROR_MISSING_BUFFER;
    return recordPlan(command_buffer, context, plan, buffers, [&](uint32_t index, const RopeDispatch&) {
        context->vk.CmdDispatchIndirect(command_buffer, groups, offset + index * sizeof(VkDispatchIndirectCommand));
    });
}
