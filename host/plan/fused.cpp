// This file plans one pass from projection to cache: ropePlanFused. Q takes a dispatch, and K and V take one together.
#include "../shaders/modules.h"
#include "plan/enumerators.h"
#include "plan/fused_dispatch.h"
#include "plan/rows.h"
#include "plan/tensor.h"

#include <string.h>

namespace rope {
namespace {

// Specialization constants are words, so a float32 goes in as its bits.
uint32_t floatConstant(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

bool readsParameters(const FusedTensor& t) {
    return t.query_scaled || (t.norm.kind != ROPE_NORM_NONE && t.norm.weights != nullptr);
}

// Sets the constants and the binding of the stages: the norm and the scale of queries.
void setStageConstants(const FusedDispatch& dispatch, RopePass* pass) {
    const FusedTensor& t = dispatch.tensor;
    const RopeNorm& norm = t.norm;
    const ParameterLayout parameters = parameterLayout(dispatch.fused);
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_WEIGHTS] = ROPE_NOWHERE;
    constants[ROPE_ID_NORM_HEADS] = 1;
    constants[ROPE_ID_PARAMETERS] = 1;
    if (norm.kind != ROPE_NORM_NONE) {
        constants[ROPE_ID_NORM] = norm.after != 0 ? ROPE_NORM_LAST : ROPE_NORM_FIRST;
        constants[ROPE_ID_NORM_HEADS] = norm.all_heads != 0 ? t.heads : 1;
        const uint32_t count = constants[ROPE_ID_NORM_HEADS] * t.d.head_dim;
        constants[ROPE_ID_NORM_SHARE] =
            floatConstant(norm.kind == ROPE_NORM_RMS ? 1.0f / static_cast<float>(count) : 1.0f);
        constants[ROPE_ID_EPSILON] = floatConstant(norm.epsilon);
        if (norm.weights != nullptr) {
            constants[ROPE_ID_WEIGHTS] = dispatch.is_q ? parameters.q_weights : parameters.k_weights;
            constants[ROPE_ID_WEIGHT_OFFSET] = floatConstant(norm.weight_offset);
        }
    }
    const RopeQueryScale& scale = dispatch.fused.filled.query_scale;
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

// Chooses the shader of a dispatch by the elements that it turns and those that it copies. If the dispatch takes K and
// V, the shader with the fewer pairs of a lane serves both.
ShaderVariant chooseFusedVariant(const FusedDispatch& dispatch, const RopeLimits& limits) {
    // The second wide shader of each pair reads PARAMETERS; the narrow shaders never do.
    static const ShaderVariants kSharedBufferShaders[2] = {
        {&rope_shader_fused_wide, &rope_shader_fused_narrow, &rope_shader_fused_odd},
        {&rope_shader_fused_wide_parameters, nullptr, nullptr}};
    static const ShaderVariants kApartShaders[2] = {
        {&rope_shader_fused_apart_wide, &rope_shader_fused_apart_narrow, &rope_shader_fused_apart_odd},
        {&rope_shader_fused_apart_wide_parameters, nullptr, nullptr}};
    const ShaderVariants& shaders =
        (dispatch.v_has_buffers ? kApartShaders : kSharedBufferShaders)[readsParameters(dispatch.tensor)];
    RopeRotateDescription d = dispatch.tensor.d;
    d.out_of_place = movesWholeHead(dispatch.tensor);
    if (needsVectors(dispatch.tensor)) d.tuning.pairs = 0;
    const ShaderVariant variant = chooseVariant(d, fusedSideBits(dispatch.tensor), shaders, limits);
    if (dispatch.v == nullptr || variant.shader == nullptr) return variant;
    RopeRotateDescription v_description = dispatch.v->d;
    v_description.tuning.pairs = d.tuning.pairs;
    const ShaderVariant v = chooseVariant(v_description, fusedSideBits(*dispatch.v), shaders, limits);
    return v.lane_pairs < variant.lane_pairs ? v : variant;
}

// Sets the source of cos and sin. A shader asks for no position if cos and sin lie in rows. A pass that does not turn
// is told of rows for that reason.
void setSource(const FusedTensor& t, const ShaderVariant& variant, RopePush* push, RopePass* pass) {
    setRotationConstants(t.d, variant, pass);
    if (!t.turned) {
        pass->constants[ROPE_ID_COS_SIN] = ROPE_FROM_ROWS;
        return;
    }
    pass->access[ROPE_BINDING_COS_SIN] = cosSinAccess(t.d);
    if (t.d.source != ROPE_SOURCE_INLINE) setRowWords(t.d.rows, push);
    setScaleOrTable(t.d, push, pass);
}

RopeResult addFusedDispatch(const FusedDispatch& dispatch, Planner* planner) {
    const FusedTensor& t = dispatch.tensor;
    const ShaderVariant variant = chooseFusedVariant(dispatch, planner->limits());
    if (variant.shader == nullptr) return refuseVariant(t.name, planner->reason());
    RopePass* pass = planner->addPass(*variant.shader, t.d.batch, t.d.tokens, 1);
    RopePush push = {};
    setSource(t, variant, &push, pass);
    setPositionBuffer(dispatch.fused, t, t.cached, &push, pass);
    setCacheWords(t.cached ? dispatch.fused.filled.cache : RopeCache{}, sequencesOf(t.d), &push, pass);
    setTensorBindings(dispatch, &push, pass);
    setStageConstants(dispatch, pass);
    const RopeResult result = setTeams(dispatch, variant, planner->limits(), pass, planner->reason());
    writePush(push, pass);
    return result != ROPE_SUCCESS || !t.cached ? result : checkCacheRange(*pass, planner->limits(), planner->reason());
}

bool needsPosition(const FusedTensor& t) { return t.turned && t.d.source != ROPE_SOURCE_ROWS; }

// Adds the pass that counts, once for all tensors, the tokens that lack a position or a slot.
void addFusedCountPass(const ResolvedFused& fused, Planner* planner) {
    const FusedTensor* turned = nullptr;
    const FusedTensor* cached = nullptr;
    for (uint32_t i = 0; i < fused.count; ++i) {
        if (needsPosition(fused.tensors[i])) turned = &fused.tensors[i];
        if (fused.tensors[i].cached) cached = &fused.tensors[i];
    }
    if (cached == nullptr && (turned == nullptr || !canBeOutside(turned->d))) return;
    const FusedTensor& t = turned != nullptr ? *turned : *cached;
    RopePass* pass = planner->addPass(rope_shader_count_fused, t.d.batch, t.d.tokens, 1);
    RopePush push = {};
    setPositionBuffer(fused, t, cached != nullptr, &push, pass);
    setCacheWords(cached != nullptr ? fused.filled.cache : RopeCache{}, sequencesOf(t.d), &push, pass);
    pass->access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_COUNTER, sizeof(uint32_t), 0, {0, 0, 0}, 1};
    pass->constants[ROPE_ID_COS_SIN] = turned != nullptr ? shaderSource(t.d.source) : ROPE_FROM_ROWS;
    pass->constants[ROPE_ID_HEAD_LANES] = 1;
    if (turned != nullptr) setScaleOrTable(t.d, &push, pass);
    writePush(push, pass);
}

// Refuses parameters that one uniform binding cannot span.
RopeResult checkUniformRange(const ResolvedFused& fused, const RopeLimits& limits, RopeReason* reason) {
    const uint32_t bytes = parameterLayout(fused).end * 4;
    if (bytes <= limits.uniform_range) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "norm weights and query scale take %u bytes, more than the %u of a uniform binding on this device",
                  bytes, limits.uniform_range);
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanFused(const RopeFusedDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    Planner planner(limits, plan);
    ResolvedFused fused;
    RopeResult result = resolveFused(*description, &fused, planner.reason());
    if (result == ROPE_SUCCESS) result = checkTuning(fused.filled.rotate.tuning, planner.limits(), planner.reason());
    if (result == ROPE_SUCCESS) result = checkUniformRange(fused, planner.limits(), planner.reason());
    const uint32_t dispatches = fused.v_with_k ? fused.count - 1 : fused.count;
    for (uint32_t i = 0; i < dispatches && result == ROPE_SUCCESS; ++i) {
        const FusedTensor& t = fused.tensors[i];
        const FusedTensor* v = fused.v_with_k && i + 1 == dispatches ? &fused.tensors[i + 1] : nullptr;
        if (isIdle(t)) continue;
        const bool v_has_buffers = v != nullptr && (t.from_slot != v->from_slot || t.to_slot != v->to_slot);
        result = addFusedDispatch({fused, t, v, v_has_buffers, i == 0 && fused.filled.rotate.q.heads != 0}, &planner);
    }
    if (result != ROPE_SUCCESS) return planner.refused(result);
    if (fused.filled.rotate.count_outside != 0) addFusedCountPass(fused, &planner);
    return planner.finish();
}
