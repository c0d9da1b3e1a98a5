// Names for the host's debugging tools.
#pragma once

#include "record/context.h"

namespace rope {

// Name an object or a range of commands for the host's debugging tools. "vkrope " goes before the name.
void nameObject(const RopeContext& context, VkObjectType type, uint64_t handle, const char* what);
void labelRange(VkCommandBuffer command_buffer, const RopeContext& context, const char* what); // null ends the range

} // namespace rope
