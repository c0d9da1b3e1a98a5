// This file owns weights of norms that lie in buffers of the engine's own: their defaults and refusals, and their
// bindings.
#include "plan/fused/weights.h"
#include "plan/fused/dispatch.h"
#include "plan/fused/resolve.h"
#include "plan/planner.h"

namespace rope {
namespace {

// The binding, the slot and the ids of one tensor's weights.
struct WeightPlace {
    FusedRole role;
    const char* name;
    uint32_t binding;
    RopeSlot slot;
    uint32_t element_id, token_id, head_id;
    uint32_t shift; // of its half of the push word
};
constexpr WeightPlace kWeightPlaces[] = {{kQ, "q", ROPE_BINDING_Q_WEIGHTS, ROPE_SLOT_Q_WEIGHTS,
                                          ROPE_ID_Q_WEIGHT_ELEMENT, ROPE_ID_Q_WEIGHT_TOKEN, ROPE_ID_Q_WEIGHT_HEAD, 0},
                                         {kK, "k", ROPE_BINDING_K_WEIGHTS, ROPE_SLOT_K_WEIGHTS,
                                          ROPE_ID_K_WEIGHT_ELEMENT, ROPE_ID_K_WEIGHT_TOKEN, ROPE_ID_K_WEIGHT_HEAD, 16}};

constexpr uint32_t kWeightBindings = 1u << ROPE_BINDING_Q_WEIGHTS | 1u << ROPE_BINDING_K_WEIGHTS;

bool readsWeightsOf(const FusedDispatch& dispatch, const WeightPlace& place) {
    return dispatch.has(place.role) && hasWeightsOnDevice(dispatch.tensors[place.role]->norm);
}

// Returns the elements from the first weight to behind the last that any token and head reads.
uint64_t weightElements(const RopeNorm& norm, uint32_t tokens, uint32_t heads) {
    return (tokens - 1ull) * norm.weights_token_stride + (heads - 1ull) * norm.weights_head_stride + norm.dim;
}

// Returns the elements before the first weight in its binding, which begins at the alignment.
uint64_t elementsBefore(const RopeNorm& norm, const RopeLimits& limits) {
    const uint32_t bytes = ropeElementBytes(norm.weights_element);
    return norm.weights_offset * bytes % limits.storage_alignment / bytes;
}

} // namespace

RopeResult resolveNormWeights(const char* name, uint32_t tokens, const RopeTensor& tensor, RopeNorm* norm,
                              RopeReason* reason) {
    if (!hasWeightsOnDevice(*norm)) {
        norm->weights_on_device = 0;
        return ROPE_SUCCESS;
    }
    if (norm->weights != nullptr) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "%s_norm.weights is an address, and %s_norm.weights_on_device is %u; leave one of them 0", name,
                      name, norm->weights_on_device);
    }
    if (norm->weights_element == ROPE_ELEMENT_DEFAULT) norm->weights_element = ROPE_ELEMENT_F32;
    if (norm->weights_element < ROPE_ELEMENT_F32 || norm->weights_element > kLastTensorElement) {
        return refuse(reason, ROPE_ERROR_INVALID, "%s_norm.weights_element is %d; weights are floats, %d to %d", name,
                      static_cast<int>(norm->weights_element), ROPE_ELEMENT_F32, kLastTensorElement);
    }
    if (norm->all_heads != 0 && norm->weights_head_stride == 0) norm->weights_head_stride = norm->dim;
    const struct {
        const char* names[2]; // of Q's norm and of K's
        uint64_t value;
    } distances[] = {
        {{"q_norm.weights_offset", "k_norm.weights_offset"}, norm->weights_offset},
        {{"q_norm.weights_token_stride", "k_norm.weights_token_stride"}, norm->weights_token_stride},
        {{"q_norm.weights_head_stride", "k_norm.weights_head_stride"}, norm->weights_head_stride},
    };
    for (const auto& distance : distances) {
        const RopeResult result = checkStrideLimit(distance.names[name[0] != 'q'], distance.value, reason);
        if (result != ROPE_SUCCESS) return result;
    }
    const uint64_t elements = weightElements(*norm, tokens, tensor.heads);
    if (elements <= UINT32_MAX - ROPE_MOST_WEIGHTS_AT) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "%s_norm's weights on the device span %llu elements, more than 32 bits count; use smaller strides",
                  name, static_cast<unsigned long long>(elements));
}

void setWeights(const FusedDispatch& dispatch, const RopeLimits& limits, RopeFusedPush* push, RopePass* pass) {
    uint64_t places = 0;
    for (const WeightPlace& place : kWeightPlaces) {
        if (!readsWeightsOf(dispatch, place)) continue;
        const FusedTensor& t = *dispatch.tensors[place.role];
        const RopeNorm& norm = t.norm;
        uint32_t* constants = pass->constants;
        constants[place.element_id] = 1 + shaderElement(norm.weights_element);
        constants[place.token_id] = lowWord(norm.weights_token_stride);
        constants[place.head_id] = lowWord(norm.weights_head_stride);
        const bool halves = norm.weights_element == ROPE_ELEMENT_F16;
        if (halves && (limits.enabled & ROPE_ENABLED_NATIVE_HALVES) != 0) constants[ROPE_ID_NATIVE_HALVES] = 1;
        places |= norm.weights_offset | norm.weights_token_stride | norm.weights_head_stride;
        push->ROPE_WEIGHTS_AT |= lowWord(elementsBefore(norm, limits) << place.shift);
        pass->access[place.binding] = {static_cast<uint32_t>(place.slot),
                                       ropeElementBytes(norm.weights_element),
                                       norm.weights_offset,
                                       {0, 0, 0},
                                       weightElements(norm, t.d.tokens, t.heads)};
        pass->whole_bindings |= 1u << place.binding;
    }
    const bool any = (boundBindings(*pass) & kWeightBindings) != 0;
    pass->constants[ROPE_ID_WEIGHT_BITS] = any && places % 4 == 0 ? ROPE_WEIGHTS_BY_FOUR : 0;
}

// The slot map goes into POSITIONS, so that is one buffer fewer only where POSITIONS is bound for something else.
RopeResult checkBuffers(const RopePass& pass, const RopeLimits& limits, RopeReason* reason) {
    constexpr uint32_t kMapAndPositions = 1u << ROPE_BINDING_SLOT_MAP | 1u << ROPE_BINDING_POSITIONS;
    const uint32_t bound = boundBindings(pass);
    const char* advice = (bound & kMapAndPositions) == kMapAndPositions ? "set cache.slot_map_apart to 0"
                         : (bound & kWeightBindings) != 0
                             ? "set weights_on_device of its norms to 0, and give `weights`"
                             : "ropeLimitsFromDevice fills it in";
    return checkStorageBuffers(pass, limits, advice, reason);
}

} // namespace rope
