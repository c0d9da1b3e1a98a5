// This file finds the plans of a range of token counts: one plan for each set of pipelines.
#include "plan/range.h"
#include "plan/planner.h"
#include "plan/tuning.h"

#include <string.h>

namespace rope {
namespace {

// Returns the most tokens, from `least` to `most`, whose plan takes the pipelines of `like`, a plan of `least` tokens.
uint32_t lastTokensAlike(const TokenPlanner& planner, uint32_t least, uint32_t most, const RopePlan& like) {
    while (least < most) {
        const uint32_t tokens = least + (most - least + 1) / 2;
        RopePlan plan;
        if (planner.plan(planner, tokens, &plan) == ROPE_SUCCESS && haveSamePipelines(like, plan))
            least = tokens;
        else
            most = tokens - 1;
    }
    return least;
}

// Adds the plan of `least` tokens, unless another takes the same pipelines, and lowers *last to the most tokens that it
// serves.
RopeResult addKindOf(const TokenPlanner& planner, uint32_t least, uint32_t* last, RopePlan* plans, uint32_t* count) {
    const uint32_t cut_alike = planner.cuts_by_tokens ? lastTokensCutAlike(planner.sequences, least) : UINT32_MAX;
    if (*last > cut_alike) *last = cut_alike;
    RopePlan plan;
    const RopeResult result = planner.plan(planner, least, &plan);
    if (result != ROPE_SUCCESS) {
        plans[0] = plan;
        return result;
    }
    uint32_t like = 0;
    while (like < *count && !haveSamePipelines(plans[like], plan)) ++like;
    if (like == ROPE_MAX_RANGE_PLANS) {
        memset(plans, 0, sizeof *plans);
        return refuse(&plans->reason, ROPE_ERROR_TOO_LARGE,
                      "the tensors take more than %u kinds of plans; ask for shorter ranges", ROPE_MAX_RANGE_PLANS);
    }
    if (like == *count) plans[(*count)++] = plan;
    *last = lastTokensAlike(planner, least, *last, plan);
    return ROPE_SUCCESS;
}

} // namespace

RopeResult planRange(const TokenPlanner& planner, uint32_t least, uint32_t most, RopePlan* plans,
                     uint32_t* plan_count) {
    if (plans == nullptr || plan_count == nullptr) return ROPE_ERROR_INVALID;
    *plan_count = 0;
    if (checkArguments(planner.description, plans) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    if (least > most) {
        memset(plans, 0, sizeof *plans);
        return refuse(&plans->reason, ROPE_ERROR_INVALID,
                      "the range is from %u to %u tokens; its end lies before its start", least, most);
    }
    // A range is refused before it is looked through.
    RopeResult result = planner.plan(planner, most, plans);
    uint32_t count = 0;
    for (uint32_t last = most; result == ROPE_SUCCESS; last = most) {
        result = addKindOf(planner, least, &last, plans, &count);
        if (last == most) break;
        least = last + 1;
    }
    if (result == ROPE_SUCCESS) *plan_count = count;
    return result;
}

} // namespace rope
