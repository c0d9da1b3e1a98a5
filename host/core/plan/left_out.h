// To let a build leave out a family: VKROPE_NO_... around its sources, refusals behind #else, CMakeLists.txt's option,
// its column in shaders/list.def, and vcpkg.json, portfile.cmake and conanfile.py of host/package.
#pragma once

#include "rules/refuse.h"

#include <string.h>

namespace rope {

inline RopeResult refuseLeftOut(const char* what, const char* family, RopeReason* reason) {
    return refuse(reason, ROPE_ERROR_INVALID,
                  "this build of vkrope leaves out %s; build it without VKROPE_NO_%s (CMake: -DVKROPE_WITH_%s=ON)",
                  what, family, family);
}
inline RopeResult refuseLeftOut(const char* what, const char* family, RopePlan* plan) {
    if (plan == nullptr) return ROPE_ERROR_INVALID;
    memset(plan, 0, sizeof *plan);
    return refuseLeftOut(what, family, &plan->reason);
}

} // namespace rope
