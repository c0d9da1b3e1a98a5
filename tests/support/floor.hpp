// Any device cut down to what Vulkan 1.1 promises everywhere: it shows the least limits, no extension and no feature,
// and what goes beyond them becomes a message, whether or not the device below would have borne it.
#pragma once

#include "loader.hpp"

namespace gpu {

// Whether VKROPE_TEST_FLOOR is set, so that every test's device is to be cut down.
bool floorAsked();

// For DeviceOptions::get_instance_proc_addr; null where there is no loader.
PFN_vkGetInstanceProcAddr floorLoader();

// What has gone beyond the floor since the program began.
const rope::Messages& beyondFloor();

} // namespace gpu
