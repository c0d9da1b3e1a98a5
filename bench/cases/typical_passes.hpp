// A few plans as models ask for them, which together take every shader: compilers are watched by them.
#pragma once

#include <vkrope/rope.h>

#include <string>
#include <vector>

namespace measure {

// One pass of a plan.
struct TypicalPass {
    std::string name;
    RopePlan plan;
};

// Throws if no plan takes some row of shaders/list.def.
std::vector<TypicalPass> typicalPasses(const RopeLimits& limits);

} // namespace measure
