// A few plans as models ask for them, which take every shader there is: for compilers that are to be watched.
#pragma once

#include "rope.h"

#include <string>
#include <vector>

namespace measure {

// One pass of a plan.
struct Typical {
    std::string name;
    RopePlan plan;
};

// Throws where a row of shaders/list.def is in none of them.
std::vector<Typical> typicalPasses(const RopeLimits& limits);

} // namespace measure
