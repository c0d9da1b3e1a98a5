// This file plans one pass from projection to cache: ropePlanFused. Q, K and V take one dispatch, or Q one of its own.
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

// True if a condition holds for any tensor of the dispatch.
template <typename Condition> bool anyOf(const FusedDispatch& dispatch, Condition condition) {
    for (const FusedTensor* t : dispatch.tensors) {
        if (t != nullptr && condition(*t)) return true;
    }
    return false;
}

// The ids of one tensor's norm.
struct NormIds {
    uint32_t share, epsilon, weights, offset;
};

void setNormConstants(const FusedTensor& t, const NormIds& ids, uint32_t weights, uint32_t* constants) {
    const RopeNorm& norm = t.norm;
    if (norm.kind == ROPE_NORM_NONE) return;
    const uint32_t count = (norm.all_heads != 0 ? t.heads : 1) * t.d.head_dim;
    constants[ROPE_ID_NORM] = norm.after != 0 ? ROPE_NORM_LAST : ROPE_NORM_FIRST;
    constants[ROPE_ID_NORM_ALL_HEADS] = norm.all_heads != 0;
    constants[ids.share] = floatConstant(norm.kind == ROPE_NORM_RMS ? 1.0f / static_cast<float>(count) : 1.0f);
    constants[ids.epsilon] = floatConstant(norm.epsilon);
    if (norm.weights == nullptr && norm.weights_on_device == 0) return;
    if (norm.weights != nullptr) constants[ids.weights] = weights;
    constants[ids.offset] = floatConstant(norm.weight_offset);
}

// Sets the constants and the binding of the stages: the norms and the scale of queries.
void setStageConstants(const FusedDispatch& dispatch, RopePass* pass) {
    const ParameterLayout parameters = parameterLayout(dispatch.fused);
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_Q_WEIGHTS] = constants[ROPE_ID_K_WEIGHTS] = ROPE_NOWHERE;
    constants[ROPE_ID_PARAMETERS] = 1;
    if (dispatch.has(kQ)) {
        setNormConstants(*dispatch.tensors[kQ],
                         {ROPE_ID_Q_NORM_SHARE, ROPE_ID_Q_EPSILON, ROPE_ID_Q_WEIGHTS, ROPE_ID_Q_WEIGHT_OFFSET},
                         parameters.q_weights, constants);
    }
    if (dispatch.has(kK)) {
        setNormConstants(*dispatch.tensors[kK],
                         {ROPE_ID_K_NORM_SHARE, ROPE_ID_K_EPSILON, ROPE_ID_K_WEIGHTS, ROPE_ID_K_WEIGHT_OFFSET},
                         parameters.k_weights, constants);
    }
    const RopeQueryScale& scale = dispatch.fused.filled.query_scale;
    if (dispatch.has(kQ) && dispatch.tensors[kQ]->query_scaled) {
        constants[ROPE_ID_QUERY_SCALE] = scale.interval;
        constants[ROPE_ID_QUERY_OFFSET] = scale.offset;
        constants[ROPE_ID_QUERY_COUNT] = scale.count;
        constants[ROPE_ID_QUERY_VALUES] = parameters.values;
    }
    if (!anyOf(dispatch, readsParameters)) return;
    constants[ROPE_ID_PARAMETERS] = parameters.end / 4;
    pass->access[ROPE_BINDING_PARAMETERS] = {ROPE_SLOT_PARAMETERS, sizeof(float), 0, {0, 0, 0}, parameters.end};
}

// Chooses the shader of a tensor by the elements that it turns and those that it copies.
ShaderVariant chooseFusedVariant(const FusedTensor& t, bool vectors, const RotationShaders& shaders,
                                 const RopeLimits& limits) {
    RopeRotateDescription d = t.d;
    d.out_of_place = movesWholeHead(t);
    if (vectors) d.tuning.pairs = 0;
    return chooseRotationVariant(d, fusedSideBits(t), shaders, limits);
}

// Chooses the shader of a dispatch: the widest that fits all of its tensors.
ShaderVariant chooseFusedVariant(const FusedDispatch& dispatch, const RopeLimits& limits) {
    // Integers are K's and V's, of which K alone has weights: they lie in one place.
    static const RotationShaders kShaders[2][2][2] = {
        {{{&rope_shader_fused_wide, &rope_shader_fused_odd}, {&rope_shader_fused_wide_weights, nullptr}},
         {{&rope_shader_fused_wide_parameters, nullptr}, {&rope_shader_fused_wide_parameters_weights, nullptr}}},
        {{{&rope_shader_fused_integers, nullptr}, {&rope_shader_fused_integers_weights, nullptr}},
         {{&rope_shader_fused_integers_parameters, nullptr}, {nullptr, nullptr}}}};
    const bool integers = anyOf(dispatch, [](const FusedTensor& t) { return isForCaches(t); });
    const RotationShaders& shaders =
        kShaders[integers][anyOf(dispatch, readsParameters)][anyOf(dispatch, readsWeights)];
    const bool vectors = anyOf(dispatch, needsVectors);
    ShaderVariant chosen = {nullptr, UINT32_MAX, 0, false};
    for (const FusedTensor* t : dispatch.tensors) {
        if (t == nullptr) continue;
        const ShaderVariant variant = chooseFusedVariant(*t, vectors, shaders, limits);
        if (variant.shader == nullptr) return variant;
        const bool narrower =
            variant.lane_pairs < chosen.lane_pairs || (variant.lane_pairs == chosen.lane_pairs && variant.by_words);
        if (narrower) chosen = variant;
    }
    return chosen;
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

// Sets what Q, K and V become, and where they are read and written.
void setElements(const FusedDispatch& dispatch, const RopeLimits& limits, RopePass* pass) {
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_IN_PLACE] = 0;
    constants[ROPE_ID_ELEMENT_OUT] = shaderElement(dispatch.first().d.element_out);
    for (const FusedRole role : kFusedRoles) {
        if (!dispatch.has(role)) continue;
        const RopeRotateDescription& d = dispatch.tensors[role]->d;
        if (role != kQ) constants[ROPE_ID_ELEMENT_CACHE] = shaderElement(d.element_out);
        if (takesNativeHalves(d, limits)) constants[ROPE_ID_NATIVE_HALVES] = 1;
    }
}

RopeResult addFusedDispatch(const FusedDispatch& dispatch, Planner* planner) {
    const FusedTensor& t = dispatch.first();
    const ShaderVariant variant = chooseFusedVariant(dispatch, planner->limits());
    if (variant.shader == nullptr) return refuseVariant(t.name, planner->reason());
    RopePass* pass = planner->addPass(*variant.shader, t.d.batch, t.d.tokens, 1);
    RopePush tokens = {};
    RopeFusedPush push = {};
    PositionNeeds needs = {};
    for (const FusedTensor* tensor : dispatch.tensors) {
        if (tensor != nullptr) needs = needs | positionNeeds(dispatch.fused, *tensor);
    }
    const RopeCache cache = dispatch.isCached() ? dispatch.fused.filled.cache : RopeCache{};
    pass->address_unit = variant.by_words ? 1 : variant.lane_pairs;
    setSource(t, variant, &tokens, pass);
    setElements(dispatch, planner->limits(), pass);
    setPositionBuffer(dispatch.fused, needs, t, dispatch.isCached(), &tokens, &push, pass);
    setCacheWords(cache, sequencesOf(t.d), &push, pass);
    setTensorBindings(dispatch, &push, pass);
    setStageConstants(dispatch, pass);
    setWeights(dispatch, planner->limits(), &push, pass);
    RopeResult result = setFusedGroups(dispatch, variant, planner->limits(), pass, planner->reason());
    writeFusedPush(dispatch, tokens, push, pass);
    if (result == ROPE_SUCCESS) result = checkWholeRanges(*pass, planner->limits(), planner->reason());
    return result != ROPE_SUCCESS ? result : checkWeights(dispatch, *pass, planner->limits(), planner->reason());
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
    RopePush tokens = {};
    RopeFusedPush push = {};
    PositionNeeds needs = positionNeeds(fused, t);
    if (cached != nullptr) needs = needs | positionNeeds(fused, *cached);
    setPositionBuffer(fused, needs, t, cached != nullptr, &tokens, &push, pass);
    setCacheWords(cached != nullptr ? fused.filled.cache : RopeCache{}, sequencesOf(t.d), &push, pass);
    pass->access[ROPE_BINDING_DESTINATION] = {ROPE_SLOT_COUNTER, sizeof(uint32_t), 0, {0, 0, 0}, 1};
    pass->constants[ROPE_ID_COS_SIN] = turned != nullptr ? shaderSource(t.d.source) : ROPE_FROM_ROWS;
    pass->constants[ROPE_ID_GROUP_SIZE] = pass->constants[ROPE_ID_GROUP_BLOCKS] = 1;
    pass->constants[ROPE_ID_GROUP_TOKENS] = pass->group[2] = pass->group_size;
    pass->group[0] = pass->group[1] = pass->lane_parts = 1;
    if (turned != nullptr) setScaleOrTable(t.d, &tokens, pass);
    writeTokenWords(tokens, &push);
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

namespace {

// True if Q takes one dispatch with K and V: its lanes and norm are theirs, and nothing becomes integers.
bool canGoTogether(const FusedDispatch& q, const FusedDispatch& kv, const RopeLimits& limits) {
    if (!takesTensorsTogether(limits) || !q.has(kQ) || !kv.has(kK) || isForCaches(*kv.tensors[kK])) return false;
    const RopeNorm &a = q.tensors[kQ]->norm, &b = kv.tensors[kK]->norm;
    const bool none = a.kind == ROPE_NORM_NONE;
    if (none != (b.kind == ROPE_NORM_NONE)) return false;
    if (!none && (a.after != b.after || a.all_heads != b.all_heads)) return false;
    const ShaderVariant x = chooseFusedVariant(q, limits), y = chooseFusedVariant(kv, limits);
    return x.lane_pairs == y.lane_pairs && x.by_words == y.by_words && x.copy_step == y.copy_step;
}

// Plans the passes of a resolved description. Q goes with K and V if `together` says so and it can.
RopeResult addTensorPasses(const ResolvedFused& fused, bool together, Planner* planner) {
    FusedDispatch q = {fused, {}}, kv = {fused, {}}, v = {fused, {}};
    for (uint32_t i = 0; i < fused.count; ++i) {
        const FusedTensor& t = fused.tensors[i];
        if (isIdle(t)) continue;
        (t.role == kQ ? q : t.role == kV && !fused.v_with_k ? v : kv).tensors[t.role] = &t;
    }
    if (together && canGoTogether(q, kv, planner->limits())) {
        kv.tensors[kQ] = q.tensors[kQ];
        q.tensors[kQ] = nullptr;
    }
    RopeResult result = ROPE_SUCCESS;
    const FusedDispatch* const dispatches[] = {&q, &kv, &v};
    for (const FusedDispatch* dispatch : dispatches) {
        const bool takes_any = dispatch->has(kQ) || dispatch->has(kK) || dispatch->has(kV);
        if (takes_any && result == ROPE_SUCCESS) result = addFusedDispatch(*dispatch, planner);
    }
    return result;
}

RopeResult planFused(const RopeFusedDescription& description, bool together, const RopeLimits* limits, RopePlan* plan) {
    Planner planner(limits, plan);
    ResolvedFused fused;
    RopeResult result = resolveFused(description, &fused, planner.reason());
    if (result == ROPE_SUCCESS) result = checkTuning(fused.filled.rotate.tuning, planner.limits(), planner.reason());
    if (result == ROPE_SUCCESS) result = checkUniformRange(fused, planner.limits(), planner.reason());
    if (result == ROPE_SUCCESS) result = addTensorPasses(fused, together, &planner);
    if (result != ROPE_SUCCESS) return planner.refused(result);
    if (fused.filled.rotate.count_outside != 0) addFusedCountPass(fused, &planner);
    return planner.finish();
}

} // namespace

RopeResult ropePlanFused(const RopeFusedDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    return planTogetherOrApart(
        [&](bool together, RopePlan* to) { return planFused(*description, together, limits, to); }, plan);
}
