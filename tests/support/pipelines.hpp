// The pipelines that plans take, and those of a range's plans beside those of a plan for each number of tokens.
#pragma once

#include "plan/pass.h"
#include <vkrope/rope.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace pipelines {

// Returns what a pipeline is made of.
inline std::string keyOf(const rope::PlanPass& pass) {
    std::string key = pass.shader->name;
    key.append(reinterpret_cast<const char*>(pass.constants), sizeof pass.constants);
    for (const rope::PassAccess& access : pass.access) key += access.extent != 0 ? '1' : '0';
    return key;
}

inline void gather(const RopePlan& plan, std::set<std::string>* keys) {
    for (uint32_t i = 0; i < plan.pass_count; ++i) keys->insert(keyOf(rope::passAt(plan, i)));
}

struct Range {
    std::set<std::string> found;  // of the range's plans
    std::set<std::string> wanted; // of the plans of each number of tokens
    uint32_t plans = 7;
    RopeResult result = ROPE_SUCCESS;
    std::string reason;
    bool hasAll() const { return std::includes(found.begin(), found.end(), wanted.begin(), wanted.end()); }
};

// `plan_range` is called with plans and their count, and `plan_tokens` with a number of tokens and a plan.
template <typename PlanRange, typename PlanTokens>
Range gatherRange(uint32_t least, uint32_t most, PlanRange plan_range, PlanTokens plan_tokens) {
    RopePlan plans[ROPE_MAX_RANGE_PLANS];
    Range range;
    range.result = plan_range(plans, &range.plans);
    if (range.result != ROPE_SUCCESS) range.reason = plans[0].reason.text;
    for (uint32_t i = 0; i < range.plans; ++i) gather(plans[i], &range.found);
    for (uint32_t tokens = least; range.result == ROPE_SUCCESS && tokens <= most; ++tokens) {
        RopePlan plan;
        EXPECT_EQ(plan_tokens(tokens, &plan), ROPE_SUCCESS) << tokens << " tokens: " << plan.reason.text;
        gather(plan, &range.wanted);
    }
    return range;
}

} // namespace pipelines
