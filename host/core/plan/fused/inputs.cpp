// This file owns what becomes of elements as a fused pass loads them: the projection's biases, and the clip.
#include "plan/fused/inputs.h"
#include "plan/fused/dispatch.h"
#include "plan/fused/resolve.h"
#include "rules/fixed.h"

#include <string.h>

namespace rope {
namespace {

RopeResult resolveBiases(RopeFusedDescription* filled, RopeReason* reason) {
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
    } tensors[] = {{"biases.q_offset", filled->rotate.q, biases->q_offset},
                   {"biases.k_offset", filled->rotate.k, biases->k_offset},
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

RopeResult resolveInputs(RopeFusedDescription* filled, RopeReason* reason) {
    const double clip = filled->clip;
    if (magnitudeBits(clip) != 0 && !isFromTo(clip, 0, 0x1.fffffep127))
        return refuse(reason, ROPE_ERROR_INVALID, "clip is %.9g; it must be more than 0 and finite, or 0", clip);
    const RopeOperation operation = filled->rotate.operation;
    if (operation != ROPE_OPERATION_FORWARD && (filled->biases.given != 0 || clip != 0)) {
        return refuse(reason, ROPE_ERROR_INVALID, "operation is %d with %s; that goes with the forward operation, %d",
                      static_cast<int>(operation), filled->biases.given != 0 ? "biases" : "a clip",
                      ROPE_OPERATION_FORWARD);
    }
    return resolveBiases(filled, reason);
}

void setInputs(const FusedDispatch& dispatch, const RopeLimits& limits, RopePass* pass) {
    static constexpr uint32_t kOffsetIds[] = {ROPE_ID_Q_BIASES, ROPE_ID_K_BIASES, ROPE_ID_V_BIASES};
    static constexpr uint32_t kHeadIds[] = {ROPE_ID_Q_BIAS_HEAD, ROPE_ID_K_BIAS_HEAD, ROPE_ID_V_BIAS_HEAD};
    uint32_t* constants = pass->constants;
    memcpy(&constants[ROPE_ID_CLIP], &dispatch.first().clip, sizeof(float));
    if (!dispatch.first().biased) return;
    const RopeElement element = dispatch.fused.filled.biases.element;
    uint64_t places = 0, end = 0;
    for (const FusedRole role : kFusedRoles) {
        if (!dispatch.has(role)) continue;
        const FusedTensor& t = *dispatch.tensors[role];
        constants[kOffsetIds[role]] = lowWord(t.biases_offset);
        constants[kHeadIds[role]] = t.d.head_dim;
        places |= t.biases_offset;
        const uint64_t behind = t.biases_offset + static_cast<uint64_t>(t.heads) * t.d.head_dim;
        if (behind > end) end = behind;
    }
    constants[ROPE_ID_BIAS_ELEMENT] = 1 + shaderElement(element);
    constants[ROPE_ID_BIAS_VECTORS] = places % 4 == 0;
    const bool halves = element == ROPE_ELEMENT_F16;
    if (halves && (limits.enabled & ROPE_ENABLED_NATIVE_HALVES) != 0) constants[ROPE_ID_NATIVE_HALVES] = 1;
    pass->access[ROPE_BINDING_BIASES] = {ROPE_SLOT_BIASES, ropeElementBytes(element), 0, {0, 0, 0}, end};
    pass->whole_bindings |= 1u << ROPE_BINDING_BIASES;
}

} // namespace rope
