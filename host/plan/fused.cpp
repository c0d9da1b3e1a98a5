// The plan of one pass from projection to cache: a dispatch for Q, and one for K and V together.
#include "plan/enumerators.h"
#include "plan/fused_dispatch.h"
#include "plan/rows.h"
#include "plan/shaders.h"
#include "plan/tensor.h"

#include <string.h>

namespace rope {
namespace {

uint32_t bitsOf(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

bool readsParameters(const FusedTensor& t) {
    return t.query_scaled || (t.norm.kind != ROPE_NORM_NONE && t.norm.weights != nullptr);
}

void setStages(const FusedDispatch& dispatch, RopePass* pass) {
    const FusedTensor& t = dispatch.tensor;
    const RopeNorm& norm = t.norm;
    const Parameters parameters = parametersOf(dispatch.fused);
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_WEIGHTS] = ROPE_NOWHERE;
    constants[ROPE_ID_NORM_HEADS] = 1;
    constants[ROPE_ID_PARAMETERS] = 1;
    if (norm.kind != ROPE_NORM_NONE) {
        constants[ROPE_ID_NORM] = norm.after != 0 ? ROPE_NORM_LAST : ROPE_NORM_FIRST;
        constants[ROPE_ID_NORM_HEADS] = norm.all_heads != 0 ? t.heads : 1;
        const uint32_t count = constants[ROPE_ID_NORM_HEADS] * t.d.head_dim;
        constants[ROPE_ID_NORM_SHARE] = bitsOf(norm.kind == ROPE_NORM_RMS ? 1.0f / static_cast<float>(count) : 1.0f);
        constants[ROPE_ID_EPSILON] = bitsOf(norm.epsilon);
        if (norm.weights != nullptr) {
            constants[ROPE_ID_WEIGHTS] = dispatch.is_q ? parameters.q_weights : parameters.k_weights;
            constants[ROPE_ID_WEIGHT_OFFSET] = bitsOf(norm.weight_offset);
        }
    }
    const RopeQueryScale& scale = dispatch.fused.given.query_scale;
    if (t.query_scaled) {
        constants[ROPE_ID_QUERY_SCALE] = scale.interval;
        constants[ROPE_ID_QUERY_OFFSET] = scale.offset;
        constants[ROPE_ID_QUERY_COUNT] = scale.count;
        constants[ROPE_ID_QUERY_VALUES] = parameters.values;
    }
    if (!readsParameters(t)) return;
    constants[ROPE_ID_PARAMETERS] = parameters.end / 4;
    pass->access[ROPE_BINDING_PARAMETERS] = {ROPE_SLOT_PARAMETERS, sizeof(float), 0, {0, 0, 0}, parameters.end};
}

// Also what does not rotate.
Build chooseFused(const FusedDispatch& dispatch, const RopeLimits& limits) {
    // Of the wide ones the second reads parameters; the narrow ones never do.
    static const Shaders kTogether[2] = {{&rope_shader_fused_wide, &rope_shader_fused_narrow, &rope_shader_fused_odd},
                                         {&rope_shader_fused_wide_parameters, nullptr, nullptr}};
    static const Shaders kApart[2] = {
        {&rope_shader_fused_apart_wide, &rope_shader_fused_apart_narrow, &rope_shader_fused_apart_odd},
        {&rope_shader_fused_apart_wide_parameters, nullptr, nullptr}};
    const Shaders& shaders = (dispatch.v_has_buffers ? kApart : kTogether)[readsParameters(dispatch.tensor)];
    RopeRotateDescription d = dispatch.tensor.d;
    d.out_of_place = movesWholeHead(dispatch.tensor);
    if (needsVectors(dispatch.tensor)) d.tuning.pairs = 0;
    const Build build = chooseBuild(d, sideBits(dispatch.tensor), shaders, limits);
    if (dispatch.v == nullptr || build.shader == nullptr) return build;
    RopeRotateDescription other = dispatch.v->d;
    other.tuning.pairs = d.tuning.pairs;
    const Build v = chooseBuild(other, sideBits(*dispatch.v), shaders, limits);
    return v.lane_pairs < build.lane_pairs ? v : build;
}

// By rows, or where nothing turns, a position is not asked for.
void setSource(const FusedTensor& t, const Build& build, RopePush* push, RopePass* pass) {
    setChoices(t.d, build, pass);
    if (!t.turned) {
        pass->constants[ROPE_ID_COS_SIN] = ROPE_FROM_ROWS;
        return;
    }
    pass->access[ROPE_BINDING_COS_SIN] = cosSinAccess(t.d);
    if (t.d.source != ROPE_SOURCE_INLINE) setRowPush(t.d.rows, push);
    setScaleOrTable(t.d, push, pass);
}

RopeResult addFusedDispatch(const FusedDispatch& dispatch, Planner* planner) {
    const FusedTensor& t = dispatch.tensor;
    const Build build = chooseFused(dispatch, planner->limits());
    if (build.shader == nullptr) return refuseBuild(t.name, planner->reason());
    RopePass* pass = planner->addPass(*build.shader, t.d.batch, t.d.tokens, 1);
    RopePush push = {};
    setSource(t, build, &push, pass);
    setSlotMap(dispatch.fused, t, t.cached, &push, pass);
    setCache(t.cached ? dispatch.fused.given.cache : RopeCache{}, sequencesOf(t.d), &push, pass);
    setBindings(dispatch, &push, pass);
    setStages(dispatch, pass);
    const RopeResult result = setTeams(dispatch, build, planner->limits(), pass, planner->reason());
    writePush(push, pass);
    return result != ROPE_SUCCESS || !t.cached ? result : checkCacheRange(*pass, planner->limits(), planner->reason());
}

bool asksPosition(const FusedTensor& t) { return t.turned && t.d.source != ROPE_SOURCE_ROWS; }

// Of all tensors together: whether a token has its position and its slot.
void addFusedCountPass(const Fused& fused, Planner* planner) {
    const FusedTensor* turned = nullptr;
    const FusedTensor* cached = nullptr;
    for (uint32_t i = 0; i < fused.count; ++i) {
        if (asksPosition(fused.tensors[i])) turned = &fused.tensors[i];
        if (fused.tensors[i].cached) cached = &fused.tensors[i];
    }
    if (cached == nullptr && (turned == nullptr || !canBeOutside(turned->d))) return;
    const FusedTensor& t = turned != nullptr ? *turned : *cached;
    RopePass* pass = planner->addPass(rope_shader_count_fused, t.d.batch, t.d.tokens, 1);
    RopePush push = {};
    setSlotMap(fused, t, cached != nullptr, &push, pass);
    setCache(cached != nullptr ? fused.given.cache : RopeCache{}, sequencesOf(t.d), &push, pass);
    pass->access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_COUNTER, sizeof(uint32_t), 0, {0, 0, 0}, 1};
    pass->constants[ROPE_ID_COS_SIN] = turned != nullptr ? shaderSource(t.d.source) : ROPE_FROM_ROWS;
    pass->constants[ROPE_ID_HEAD_LANES] = 1;
    if (turned != nullptr) setScaleOrTable(t.d, &push, pass);
    writePush(push, pass);
}

RopeResult checkDevice(const Fused& fused, const RopeLimits& limits, RopeReason* reason) {
    const uint32_t bytes = parametersOf(fused).end * 4;
    if (bytes > limits.uniform_range) {
        return refuse(
            reason, ROPE_ERROR_TOO_LARGE,
            "norm weights and query scale take %u bytes, more than the %u of a uniform binding on this device", bytes,
            limits.uniform_range);
    }
    if (!fused.v_with_k || limits.storage_buffers >= 6) return ROPE_SUCCESS;
    const FusedTensor& k = fused.tensors[fused.count - 2];
    const FusedTensor& v = fused.tensors[fused.count - 1];
    if (k.from == v.from && k.to == v.to) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID,
                  "K and V in buffers of their own take 6 storage buffers, and limits.storage_buffers is %u; set "
                  "v_separate_dispatch "
                  "to 1, or packed and cache.v_shares_buffer",
                  limits.storage_buffers);
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanFused(const RopeFusedDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkGiven(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    Planner planner(limits, plan);
    Fused fused;
    RopeResult result = resolveFused(*description, &fused, planner.reason());
    if (result == ROPE_SUCCESS) result = checkTuning(fused.given.rotate.tuning, planner.limits(), planner.reason());
    if (result == ROPE_SUCCESS) result = checkDevice(fused, planner.limits(), planner.reason());
    const uint32_t dispatches = fused.v_with_k ? fused.count - 1 : fused.count;
    for (uint32_t i = 0; i < dispatches && result == ROPE_SUCCESS; ++i) {
        const FusedTensor& t = fused.tensors[i];
        const FusedTensor* v = fused.v_with_k && i + 1 == dispatches ? &fused.tensors[i + 1] : nullptr;
        if (isIdle(t)) continue;
        const bool v_has_buffers = v != nullptr && (t.from != v->from || t.to != v->to);
        result = addFusedDispatch({fused, t, v, v_has_buffers, i == 0 && fused.given.rotate.q.heads != 0}, &planner);
    }
    if (result != ROPE_SUCCESS) return planner.refused(result);
    if (fused.given.rotate.count_outside != 0) addFusedCountPass(fused, &planner);
    return planner.finish();
}
