// A device whose buffers end where a page begins that nothing may touch: a shader that reads or writes behind a buffer,
// whatever becomes of the value, ends the process. Only drivers whose memory is the process' own have such a page.
#pragma once

#include <vkrope/loader.hpp>

namespace gpu {

// Returns true if VKROPE_TEST_FENCES is set, so that every test's device is to have fences.
bool fencesAsked();

// Returns a function for DeviceOptions::get_instance_proc_addr; null where there is no loader.
PFN_vkGetInstanceProcAddr fencesLoader();

} // namespace gpu
