// A plan's dispatches, one after the other.
#pragma once

#include <vkrope/rope.h>

namespace rope {

// Fills in a pass's dispatch.
void fillDispatch(const RopePass& pass, uint32_t index, uint32_t alignment, RopeDispatch* dispatch);

} // namespace rope
