// Two stages of fused passes: the projection's biases are added to elements as they are loaded, and a clip limits them.
//
// To change elements as they are loaded: shaders/fused/biases.glsl, this file, and biases.h and clip.h of
// host/core/reference/fused/.
#include "plan/fused/biases.h"
#include "plan/fused/record.h"
#include "rules/fixed.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

bool hasBias(const RopeFusedTensor& t) { return t.heads != 0 && t.bias != 0; }

} // namespace

RopeResult resolveBiases(RopeFusedDescription* filled, RopeReason* reason) {
    const bool biases = hasBias(filled->q) || hasBias(filled->k) || hasBias(filled->v);
    const RopeOperation operation = filled->rotation.operation;
    RopeElement& element = filled->bias_element;
    if (biases && element == ROPE_ELEMENT_DEFAULT) element = ROPE_ELEMENT_F32;
    const RefusalRow refusals[] = {
        invalid(magnitudeBits(filled->clip) != 0 && !isFromTo(filled->clip, 0, 0x1.fffffep127),
                "clip is %g; it must be more than 0 and finite, or 0", filled->clip),
        invalid(operation != ROPE_OPERATION_FORWARD && (biases || filled->clip != 0),
                "operation is %d with %s; that goes with the forward operation, %d", operation, ROPE_OPERATION_FORWARD),
        invalid(biases && (element < ROPE_ELEMENT_F32 || element > kLastTensorElement),
                "bias_element is %d; biases are floats, %d to %d", element, ROPE_ELEMENT_F32, kLastTensorElement),
    };
    RopeResult result = refuseByFirst(refusals, reason, biases ? "biases" : "a clip");
    for (const FusedRole role : kFusedRoles) {
        const RopeFusedTensor& t = tensorOf(*filled, role);
        const uint64_t elements = uint64_t{t.heads} * t.head_dim;
        const RefusalRow too_far[] = {
            tooLarge(hasBias(t) && (elements > UINT32_MAX || t.bias_offset > UINT32_MAX - elements),
                     "%s.bias_offset is %u; its biases lie beyond what 32 bits count", t.bias_offset),
        };
        if (result == ROPE_SUCCESS) result = refuseByFirst(too_far, reason, kRoleNames[role]);
    }
    return result;
}

void setBiases(const FusedGroup& group, const RopeLimits& limits, PlanPass* pass) {
    pass->constants[ROPE_ID_CLIP] = floatConstant(group.fused->filled.clip);
    uint64_t end = 0;
    forEachTensor(group, [&](const FusedTensor& t) {
        if (!t.takes(ROPE_STAGE_BIASES)) return;
        record(pass->constants, t.role)[field::bias_at] = lowWord(t.bias_offset);
        end = larger(end, t.bias_offset + uint64_t{t.heads} * t.d.head_dim);
    });
    if (end == 0) return;
    const RopeElement element = group.fused->filled.bias_element;
    pass->constants[ROPE_ID_BIAS_ELEMENT] = 1 + shaderElement(element);
    setNativeHalves(limits, pass, element);
    pass->access[ROPE_BINDING_BIASES] = {ROPE_SLOT_BIASES, ropeElementBytes(element), 0, {0, 0, 0}, end};
    pass->whole_bindings |= 1u << ROPE_BINDING_BIASES;
}

} // namespace rope
#endif
