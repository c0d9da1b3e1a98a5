// A Planner makes a plan. The plan begins with memory cleared, passes are added, and then the plan is finished or
// refused.
#pragma once

#include "plan/pass.h"
#include "rules/refuse.h"

#include "shaders/interface.h"

namespace rope {

// Refuses a plan or a description that is null. A plan that is not null holds the sentence.
RopeResult checkArguments(const void* description, RopePlan* plan);

uint32_t countStorageBuffers(const RopePass& pass);
// Refuses a pass that takes more storage buffers than the device binds together. `advice` ends the sentence.
RopeResult checkStorageBuffers(const RopePass& pass, const RopeLimits& limits, const char* advice, RopeReason* reason);

class Planner {
  public:
    Planner(const RopeLimits* limits, RopePlan* plan);
    const RopeLimits& limits() const { return limits_; }
    RopeReason* reason() { return &plan_->reason; }

    // Adds a pass of the default group size, cleared. The caller fills in its facts, constants and push words.
    RopePass* addPass(const RopeShader& shader, uint32_t batch, uint32_t tokens, uint32_t heads);
    // Splits every pass to the limits and sums up the bytes of every slot.
    RopeResult finish();
    // Clears the plan but for the reason, and returns the result.
    RopeResult refused(RopeResult result);

  private:
    RopeResult sumBytes(const RopePass& pass);
    RopeResult refuseSplit(const RopePass& pass);

    RopeLimits limits_;
    RopePlan* plan_;
};

// Plans tensors together, unless that is refused or takes more dispatches: tensors that go together are not split along
// heads, so those whose heads lie far apart would be cut into slivers of tokens.
template <typename PlanTensors> RopeResult planTogetherOrApart(PlanTensors plan_tensors, RopePlan* plan) {
    const RopeResult result = plan_tensors(true, plan);
    if (result == ROPE_SUCCESS && plan->passes[0].dispatches == 1) return result;
    RopePlan apart;
    const RopeResult apart_result = plan_tensors(false, &apart);
    if (result == ROPE_SUCCESS &&
        (apart_result != ROPE_SUCCESS || ropeDispatchCount(plan) <= ropeDispatchCount(&apart)))
        return result;
    *plan = apart;
    return apart_result;
}

} // namespace rope
