// A plan into a command buffer, its group counts in a buffer.
#include "context.h"

using namespace rope;

RopeResult ropeCmdExecuteIndirect(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                                  const RopeBuffers* buffers, VkBuffer groups, VkDeviceSize offset) {
    if (groups == VK_NULL_HANDLE) return ROPE_ERROR_MISSING_BUFFER;
    const RopeResult result = checkRecording(*context, *plan, *buffers);
    if (result != ROPE_SUCCESS) return result;
    const uint32_t count = ropeDispatchCount(plan);
    for (uint32_t i = 0; i < count; ++i) {
        RopeDispatch dispatch;
        ropeGetDispatch(plan, i, &dispatch);
        bindDispatch(command_buffer, *context, *buffers, i, dispatch);
        context->vk.CmdDispatchIndirect(command_buffer, groups, offset + i * sizeof(VkDispatchIndirectCommand));
    }
    return ROPE_SUCCESS;
}
