// A build may leave out families of calls: VKROPE_NO_ADDITIONS, _BIASES, _RELATIVE, _FUSED and _REFERENCE. The calls
// stay, and refuse in a sentence that names the macro. CMake's options VKROPE_WITH_... define these macros.
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
