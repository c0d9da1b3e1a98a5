// This file is linked into the program with --wrap=ropePlanRotate, and turns interleaved bfloat16 the wrong way.
#include <vkrope/rope.h>

constexpr uint32_t kBackward = 7; // ROPE_ID_BACKWARD in shaders/interface.h

extern "C" RopeResult __real_ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits,
                                            RopePlan* plan);

extern "C" RopeResult __wrap_ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits,
                                            RopePlan* plan) {
    const RopeResult result = __real_ropePlanRotate(description, limits, plan);
    if (description->element_out == ROPE_ELEMENT_BF16 &&
        description->rotation.pairing_out == ROPE_PAIRING_INTERLEAVED) {
        for (uint32_t i = 0; i < plan->pass_count; ++i) plan->passes[i].constants[kBackward] ^= 1;
    }
    return result;
}
