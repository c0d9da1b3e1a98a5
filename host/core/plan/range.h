// A range of plans has every pipeline that plans of any number of tokens between two take.
#pragma once

#include "plan/pass.h"

namespace rope {

// A TokenPlanner plans any number of tokens.
struct TokenPlanner {
    const void* description;
    const RopeLimits* limits;
    RopeResult (*plan)(const TokenPlanner& planner, uint32_t tokens, RopePlan* plan);
    uint32_t sequences;
    bool cuts_by_tokens; // few tokens are cut into groups in other ways than many
};

// Writes up to ROPE_MAX_RANGE_PLANS plans and their number, or refuses in plans[0]. As tokens grow, a planner's plans
// of one way of cutting may change their pipelines, but never go back to those that fewer had.
RopeResult planRange(const TokenPlanner& planner, uint32_t least, uint32_t most, RopePlan* plans, uint32_t* plan_count);

// The same by a plan function, with the description's own tokens left out of account.
template <auto kPlan, typename Description>
RopeResult planRange(const Description* description, const RopeLimits* limits, bool cuts_by_tokens, uint32_t least,
                     uint32_t most, RopePlan* plans, uint32_t* plan_count) {
    const auto plan = [](const TokenPlanner& planner, uint32_t tokens, RopePlan* made) {
        Description d = *static_cast<const Description*>(planner.description);
        d.tokens = tokens;
        return kPlan(&d, planner.limits, made);
    };
    const uint32_t sequences = description != nullptr ? description->batch : 0;
    return planRange({description, limits, plan, sequences, cuts_by_tokens}, least, most, plans, plan_count);
}

} // namespace rope
