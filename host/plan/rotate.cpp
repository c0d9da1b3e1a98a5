// This file plans a rotation of Q and K: ropePlanRotate.
#include "../shaders/modules.h"
#include "plan/resolve.h"
#include "plan/tensor.h"

namespace rope {
namespace {

const ShaderVariants kRotateShaders = {&rope_shader_rotate_wide, &rope_shader_rotate_narrow, &rope_shader_rotate_odd};

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanRotate(const RopeRotateDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    Planner planner(limits, plan);
    RopeRotateDescription d;
    RopeResult result = resolveRotate(*description, &d, planner.reason());
    if (result == ROPE_SUCCESS) result = checkTuning(d.tuning, planner.limits(), planner.reason());
    if (result != ROPE_SUCCESS) return planner.refused(result);
    const bool out_of_place = d.out_of_place != 0;
    const TensorPass tensors[] = {
        {"q", d.q, ROPE_SLOT_Q, out_of_place ? ROPE_SLOT_Q_OUT : ROPE_SLOT_Q, kRotateShaders, true},
        {"k", d.k, ROPE_SLOT_K, out_of_place ? ROPE_SLOT_K_OUT : ROPE_SLOT_K, kRotateShaders, true},
    };
    for (const TensorPass& tensor : tensors) {
        if (tensor.tensor.heads != 0 && result == ROPE_SUCCESS) result = addTensorPass(d, tensor, &planner);
    }
    if (result != ROPE_SUCCESS) return planner.refused(result);
    addCountPass(d, &planner);
    return planner.finish();
}
