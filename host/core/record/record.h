// A plan becomes commands, whichever way they are launched.
#pragma once

#include "record/context.h"

namespace rope {

// Refuses plans and buffers that cannot be recorded, and finds the pipelines of the plan's passes. Descriptor sets are
// looked for only if `with_sets` is true: a caller that is about to make the sets has none yet.
RopeResult checkRecording(const RopeContext* context, const RopePlan* plan, const RopeBuffers* buffers, bool with_sets,
                          const PipelineNode* pipelines[ROPE_MAX_PASSES]);
// Records all of one dispatch but the dispatch itself.
void bindDispatch(VkCommandBuffer command_buffer, const RopeContext& context, const PipelineNode& pipeline,
                  const RopeBuffers& buffers, uint32_t index, const RopeDispatch& dispatch);

// Names a range of commands for the host's debugging tools. Null ends the range.
void labelRange(VkCommandBuffer command_buffer, const RopeContext& context, const char* what);

// Records every dispatch of a plan. Each dispatch is bound here and carried out by launch(index, dispatch).
template <typename Launch>
RopeResult recordPlan(VkCommandBuffer command_buffer, const RopeContext* context, const RopePlan* plan,
                      const RopeBuffers* buffers, Launch launch) {
    const PipelineNode* pipelines[ROPE_MAX_PASSES];
    const RopeResult result = checkRecording(context, plan, buffers, /* with_sets= */ true, pipelines);
    if (result != ROPE_SUCCESS) return result;
    labelRange(command_buffer, *context, plan->passes[0].shader->name);
    uint32_t index = 0;
    for (uint32_t pass = 0; pass < plan->pass_count; ++pass) {
        for (uint32_t part = 0; part < plan->passes[pass].dispatches; ++part, ++index) {
            RopeDispatch dispatch;
            fillDispatch(passAt(*plan, pass), part, plan->limits.storage_alignment, &dispatch);
            bindDispatch(command_buffer, *context, *pipelines[pass], *buffers, index, dispatch);
            launch(index, dispatch);
        }
    }
    labelRange(command_buffer, *context, nullptr);
    return result;
}

} // namespace rope
