// Two stages of fused passes: the projection's biases are added to elements as they are loaded, and a clip limits them.
#include "plan/fused/biases.h"
#include "plan/fused/record.h"
#include "rules/fixed.h"

namespace rope {
namespace {

RopeResult resolveOffsets(RopeFusedDescription* filled, RopeReason* reason) {
    RopeProjectionBiases* biases = &filled->biases;
    if (biases->given == 0) {
        *biases = {};
        return ROPE_SUCCESS;
    }
    if (biases->element == ROPE_ELEMENT_DEFAULT) biases->element = ROPE_ELEMENT_F32;
    if (biases->element < ROPE_ELEMENT_F32 || biases->element > kLastTensorElement) {
        return refuse(reason, ROPE_ERROR_INVALID, "biases.element is %d; biases are floats, %d to %d",
                      static_cast<int>(biases->element), ROPE_ELEMENT_F32, kLastTensorElement);
    }
    const struct {
        const char* name;
        const RopeTensor& tensor;
        uint64_t offset;
    } tensors[] = {{"biases.q_offset", filled->q, biases->q_offset},
                   {"biases.k_offset", filled->k, biases->k_offset},
                   {"biases.v_offset", filled->v, biases->v_offset}};
    for (const auto& t : tensors) {
        const uint64_t elements = static_cast<uint64_t>(t.tensor.heads) * t.tensor.head_dim;
        if (elements <= UINT32_MAX && t.offset <= UINT32_MAX - elements) continue;
        return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s is %llu; its biases lie beyond what 32 bits count", t.name,
                      static_cast<unsigned long long>(t.offset));
    }
    return ROPE_SUCCESS;
}

} // namespace

RopeResult resolveBiases(RopeFusedDescription* filled, RopeReason* reason) {
    const double clip = filled->clip;
    if (magnitudeBits(clip) != 0 && !isFromTo(clip, 0, 0x1.fffffep127))
        return refuse(reason, ROPE_ERROR_INVALID, "clip is %.9g; it must be more than 0 and finite, or 0", clip);
    const RopeOperation operation = filled->rotation.operation;
    if (operation != ROPE_OPERATION_FORWARD && (filled->biases.given != 0 || clip != 0)) {
        return refuse(reason, ROPE_ERROR_INVALID, "operation is %d with %s; that goes with the forward operation, %d",
                      static_cast<int>(operation), filled->biases.given != 0 ? "biases" : "a clip",
                      ROPE_OPERATION_FORWARD);
    }
    return resolveOffsets(filled, reason);
}

void setBiases(const FusedGroup& group, const RopeLimits& limits, RopePass* pass) {
    pass->constants[ROPE_ID_CLIP] = floatConstant(group.fused->filled.clip);
    uint64_t end = 0;
    forEachTensor(group, [&](const FusedTensor& t) {
        if (!t.biased) return;
        record(pass->constants, t.role)[field::bias_at] = lowWord(t.biases_offset);
        end = larger(end, t.biases_offset + uint64_t{t.heads} * t.d.head_dim);
    });
    if (end == 0) return;
    const RopeElement element = group.fused->filled.biases.element;
    pass->constants[ROPE_ID_BIAS_ELEMENT] = 1 + shaderElement(element);
    if (element == ROPE_ELEMENT_F16 && (limits.enabled & ROPE_ENABLED_NATIVE_HALVES) != 0)
        pass->constants[ROPE_ID_NATIVE_HALVES] = 1;
    pass->access[ROPE_BINDING_BIASES] = {ROPE_SLOT_BIASES, ropeElementBytes(element), 0, {0, 0, 0}, end};
    pass->whole_bindings |= 1u << ROPE_BINDING_BIASES;
}

} // namespace rope
