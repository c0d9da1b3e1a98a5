// A device cut down to what Vulkan 1.1 promises everywhere, the floor: it shows the least limits, no extension and no
// feature. A call that goes beyond them becomes a message, even if the device below would have borne it.
#pragma once

#include <vkrope/loader.hpp>

namespace gpu {

// Returns true if VKROPE_TEST_FLOOR is set, so that every test's device is to be cut down.
bool floorAsked();

// Returns a function for DeviceOptions::get_instance_proc_addr; null where there is no loader.
PFN_vkGetInstanceProcAddr floorLoader();

// Returns the messages about calls beyond the floor since the program began.
const rope::Messages& beyondFloor();

} // namespace gpu
