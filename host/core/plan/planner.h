// A Planner makes a plan. The plan begins with memory cleared, passes are added, and then the plan is finished or
// refused.
#pragma once

#include "plan/pass.h"
#include "rules/refuse.h"

#include "shaders/interface.h"

namespace rope {

// Refuses a plan or a description that is null. A plan that is not null holds the sentence.
RopeResult checkArguments(const void* description, RopePlan* plan);

constexpr uint32_t kMaxGroupsZ = 65535; // what every device has

uint32_t countStorageBuffers(const PlanPass& pass);

class Planner {
  public:
    Planner(const RopeLimits* limits, RopePlan* plan);
    const RopeLimits& limits() const { return limits_; }
    RopeReason* reason() { return &plan_->reason; }

    // Adds a pass of the default group size, cleared. The caller fills in its facts, constants and push words.
    PlanPass* addPass(const RopeShader& shader, uint32_t batch, uint32_t tokens, uint32_t heads);
    // Splits every pass to the limits and sums up the bytes of every slot.
    RopeResult finish();
    // Clears the plan but for the reason, and returns the result.
    RopeResult refused(RopeResult result);

  private:
    RopeResult sumBytes(const PlanPass& pass);
    RopeResult refuseSplit(const PlanPass& pass);

    RopeLimits limits_;
    RopePlan* plan_;
};

// Plans a description: resolves it, adds its passes, and finishes the plan or refuses.
template <typename Resolved, typename Description>
RopeResult planDescription(const Description* description, const RopeLimits* limits, RopePlan* plan,
                           RopeResult (*resolve)(const Description&, Resolved*, RopeReason*),
                           RopeResult (*addPasses)(const Resolved&, Planner*)) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    Planner planner(limits, plan);
    Resolved resolved;
    RopeResult result = resolve(*description, &resolved, planner.reason());
    if (result == ROPE_SUCCESS) result = addPasses(resolved, &planner);
    return result == ROPE_SUCCESS ? planner.finish() : planner.refused(result);
}

} // namespace rope
