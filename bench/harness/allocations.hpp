// Counts host allocations of vkrope's own code: all that the program is linked from, but not the driver and the C
// library.
#pragma once

#include <cstdint>

namespace measure {

bool countsAllocations();    // this linker can redirect them
uint64_t allocationsSoFar(); // by malloc, its like, and operator new

} // namespace measure
