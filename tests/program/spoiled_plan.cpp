// This file is linked into the program with --wrap of two functions. It turns interleaved bfloat16 the wrong way, and
// leaves `check --quick` every fourth rotation, of which some are spoiled.
#include "plan/pass.h"
#include "program/check/matrix.hpp"

#include <vkrope/rope.h>

constexpr uint32_t kBackward = 7; // ROPE_ID_BACKWARD in shaders/interface.h

extern "C" RopeResult __real_ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits,
                                            RopePlan* plan);

extern "C" RopeResult __wrap_ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits,
                                            RopePlan* plan) {
    const RopeResult result = __real_ropePlanRotate(description, limits, plan);
    if (description->element_out == ROPE_ELEMENT_BF16 &&
        description->rotation.pairing_out == ROPE_PAIRING_INTERLEAVED) {
        for (uint32_t i = 0; i < plan->pass_count; ++i) rope::passAt(*plan, i).constants[kBackward] ^= 1;
    }
    return result;
}

// tool::quickChoices, by the name that the linker knows.
extern "C" std::vector<tool::Choices>
__real__ZN4tool12quickChoicesERKSt6vectorIS0_IhSaIhEESaIS2_EE(const std::vector<tool::Choices>& all);

extern "C" std::vector<tool::Choices>
__wrap__ZN4tool12quickChoicesERKSt6vectorIS0_IhSaIhEESaIS2_EE(const std::vector<tool::Choices>& all) {
    const std::vector<tool::Choices> quick = __real__ZN4tool12quickChoicesERKSt6vectorIS0_IhSaIhEESaIS2_EE(all);
    std::vector<tool::Choices> few;
    for (size_t i = 0; i < quick.size(); i += 4) few.push_back(quick[i]);
    return few;
}
