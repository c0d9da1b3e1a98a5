// Host allocations that vkrope's own code makes: what the program is linked from, not the driver nor the C library.
#pragma once

#include <cstdint>

namespace measure {

bool countsAllocations();    // whether this linker can redirect them
uint64_t allocationsSoFar(); // by malloc and its like and by operator new

} // namespace measure
