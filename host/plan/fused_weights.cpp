// This file owns weights of norms that are read from storage buffers, their own or PARAMETERS: their defaults and
// refusals, and their bindings.
#include "plan/fused_dispatch.h"
#include "plan/planner.h"

#include <stdio.h>

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
    return dispatch.has(place.role) && readsWeights(*dispatch.tensors[place.role]);
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

// Returns what makes the buffers of a dispatch fewer, null if no buffer of its own does. The slot map goes into
// POSITIONS, so that is one buffer fewer only where POSITIONS is bound for something else.
const char* adviseFewerBuffers(const RopePass& pass) {
    constexpr uint32_t kMapAndPositions = 1u << ROPE_BINDING_SLOT_MAP | 1u << ROPE_BINDING_POSITIONS;
    const uint32_t bound = boundBindings(pass);
    if ((bound & kMapAndPositions) == kMapAndPositions) return "cache.slot_map_apart to 0";
    return (bound & kWeightBindings) != 0 ? "weights_on_device of its norms to 0" : nullptr;
}

// Returns what lets V share the buffers of K, null if nothing does: without a cache V's result lies apart.
const char* adviseSharedV(bool from, bool to, bool cached) {
    if (from && !to) return "packed";
    if (to && !cached) return from ? "packed" : nullptr;
    return from ? "packed and cache.v_shares_buffer" : to ? "cache.v_shares_buffer" : nullptr;
}

// Refuses more buffers than the device binds together, and says what makes them fewer.
RopeResult checkFusedBuffers(const RopePass& pass, const RopeLimits& limits, RopeReason* reason) {
    const bool from = pass.access[ROPE_BINDING_SOURCE_V].extent != 0; // V's buffers apart from K's
    const bool to = pass.access[ROPE_BINDING_DESTINATION_V].extent != 0;
    const char* fewer = adviseFewerBuffers(pass);
    if (fewer == nullptr) fewer = adviseSharedV(from, to, pass.cache_bindings != 0);
    if (!from && !to && fewer == nullptr) return ROPE_SUCCESS; // the planner refuses it
    const bool is_enough = countStorageBuffers(pass) - from - to <= limits.storage_buffers;
    char advice[112];
    snprintf(advice, sizeof advice, "set %s%s%s", from || to ? "v_separate_dispatch to 1" : "",
             (!from && !to) || fewer == nullptr ? ""
             : is_enough                        ? ", or "
                                                : " and ",
             fewer != nullptr ? fewer : "");
    return checkStorageBuffers(pass, limits, advice, reason);
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

bool storeWeights(ResolvedFused* fused) {
    const ParameterLayout parameters = parameterLayout(*fused);
    bool any = false;
    for (uint32_t i = 0; i < fused->count; ++i) {
        FusedTensor& t = fused->tensors[i];
        RopeNorm& norm = t.norm;
        if (t.role == kV || !isNormed(t) || norm.weights == nullptr || norm.biases != nullptr) continue;
        const bool per_head = norm.all_heads != 0 || norm.weights_per_head != 0;
        norm.weights = nullptr;
        norm.weights_on_device = 1;
        norm.weights_element = ROPE_ELEMENT_F32;
        norm.weights_offset = t.role == kQ ? parameters.q_weights : parameters.k_weights;
        norm.weights_token_stride = 0;
        norm.weights_head_stride = per_head ? norm.dim : 0;
        t.weights_stored = any = true;
    }
    return any;
}

// Binds Q's and K's weights in PARAMETERS as one, if they lie near enough: no thread then has a branch of its tensor.
static void bindTogether(const FusedDispatch& dispatch, const RopeLimits& limits, RopeFusedPush* push, RopePass* pass) {
    const FusedTensor *q = dispatch.tensors[kQ], *k = dispatch.tensors[kK];
    if (q == nullptr || k == nullptr || !q->weights_stored || !k->weights_stored) return;
    const uint64_t distance = k->norm.weights_offset - q->norm.weights_offset;
    const uint64_t k_at = elementsBefore(q->norm, limits) + distance;
    if (k_at > ROPE_MOST_WEIGHTS_AT) return;
    push->ROPE_WEIGHTS_AT = (push->ROPE_WEIGHTS_AT & 0xFFFF) | lowWord(k_at << 16);
    pass->access[ROPE_BINDING_Q_WEIGHTS].extent = distance + pass->access[ROPE_BINDING_K_WEIGHTS].extent;
    pass->access[ROPE_BINDING_K_WEIGHTS] = {};
    pass->whole_bindings &= ~(1u << ROPE_BINDING_K_WEIGHTS);
    pass->constants[ROPE_ID_WEIGHT_BITS] |= ROPE_WEIGHTS_TOGETHER;
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
        const RopeSlot slot = t.weights_stored ? ROPE_SLOT_PARAMETERS : place.slot;
        pass->access[place.binding] = {static_cast<uint32_t>(slot),
                                       ropeElementBytes(norm.weights_element),
                                       norm.weights_offset,
                                       {0, 0, 0},
                                       weightElements(norm, t.d.tokens, t.heads)};
        pass->whole_bindings |= 1u << place.binding;
    }
    const bool any = (boundBindings(*pass) & kWeightBindings) != 0;
    pass->constants[ROPE_ID_WEIGHT_BITS] = any && places % 4 == 0 ? ROPE_WEIGHTS_BY_FOUR : 0;
    bindTogether(dispatch, limits, push, pass);
}

RopeResult checkWeights(const FusedDispatch& dispatch, const RopePass& pass, const RopeLimits& limits,
                        RopeReason* reason) {
    for (const WeightPlace& place : kWeightPlaces) {
        if (!readsWeightsOf(dispatch, place)) continue;
        const RopeNorm& norm = dispatch.tensors[place.role]->norm;
        const uint64_t before = elementsBefore(norm, limits);
        if (before > ROPE_MOST_WEIGHTS_AT) {
            return refuse(reason, ROPE_ERROR_TOO_LARGE,
                          "%s_norm.weights_offset lies %llu elements behind a multiple of limits.storage_alignment; it "
                          "may be at most %u",
                          place.name, static_cast<unsigned long long>(before), ROPE_MOST_WEIGHTS_AT);
        }
        const RopeAccess& access = pass.access[place.binding];
        if (access.extent == 0) continue; // K's, bound with Q's
        const uint64_t bytes = inWholeWords(access, (before + access.extent) * access.element_bytes);
        if (bytes <= limits.storage_range) continue;
        return refuse(reason, ROPE_ERROR_TOO_LARGE,
                      "%s_norm's weights on the device span %llu bytes, more than the %llu that a binding may; use "
                      "smaller strides or fewer tokens",
                      place.name, static_cast<unsigned long long>(bytes),
                      static_cast<unsigned long long>(limits.storage_range));
    }
    return checkFusedBuffers(pass, limits, reason);
}

} // namespace rope
