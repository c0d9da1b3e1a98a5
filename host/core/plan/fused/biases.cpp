// Two stages of fused passes: the projection's biases are added to elements as they are loaded, and a clip limits them.
#include "plan/fused/biases.h"
#include "plan/fused/record.h"
#include "rules/fixed.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

bool hasBias(const RopeFusedTensor& t) { return t.heads != 0 && t.bias != 0; }
bool hasBiases(const RopeFusedDescription& d) { return hasBias(d.q) || hasBias(d.k) || hasBias(d.v); }

RopeResult resolveOffsets(RopeFusedDescription* filled, RopeReason* reason) {
    if (!hasBiases(*filled)) return ROPE_SUCCESS;
    RopeElement& element = filled->bias_element;
    if (element == ROPE_ELEMENT_DEFAULT) element = ROPE_ELEMENT_F32;
    if (element < ROPE_ELEMENT_F32 || element > kLastTensorElement) {
        return refuse(reason, ROPE_ERROR_INVALID, "bias_element is %d; biases are floats, %d to %d",
                      static_cast<int>(element), ROPE_ELEMENT_F32, kLastTensorElement);
    }
    const struct {
        const char* name;
        const RopeFusedTensor& tensor;
    } tensors[] = {{"q.bias_offset", filled->q}, {"k.bias_offset", filled->k}, {"v.bias_offset", filled->v}};
    for (const auto& t : tensors) {
        const uint64_t elements = static_cast<uint64_t>(t.tensor.heads) * t.tensor.head_dim;
        if (!hasBias(t.tensor)) continue;
        if (elements <= UINT32_MAX && t.tensor.bias_offset <= UINT32_MAX - elements) continue;
        return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s is %llu; its biases lie beyond what 32 bits count", t.name,
                      static_cast<unsigned long long>(t.tensor.bias_offset));
    }
    return ROPE_SUCCESS;
}

} // namespace

RopeResult resolveBiases(RopeFusedDescription* filled, RopeReason* reason) {
    const double clip = filled->clip;
    if (magnitudeBits(clip) != 0 && !isFromTo(clip, 0, 0x1.fffffep127))
        return refuse(reason, ROPE_ERROR_INVALID, "clip is %.9g; it must be more than 0 and finite, or 0", clip);
    const RopeOperation operation = filled->rotation.operation;
    if (operation != ROPE_OPERATION_FORWARD && (hasBiases(*filled) || clip != 0)) {
        return refuse(reason, ROPE_ERROR_INVALID, "operation is %d with %s; that goes with the forward operation, %d",
                      static_cast<int>(operation), hasBiases(*filled) ? "biases" : "a clip", ROPE_OPERATION_FORWARD);
    }
    return resolveOffsets(filled, reason);
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
    if (element == ROPE_ELEMENT_F16 && (limits.enabled & ROPE_ENABLED_NATIVE_HALVES) != 0)
        pass->constants[ROPE_ID_NATIVE_HALVES] = 1;
    pass->access[ROPE_BINDING_BIASES] = {ROPE_SLOT_BIASES, ropeElementBytes(element), 0, {0, 0, 0}, end};
    pass->whole_bindings |= 1u << ROPE_BINDING_BIASES;
}

} // namespace rope
#endif
