// This file plans one pass from projection to cache: ropePlanFused. Q, K and V take one dispatch, or Q one of its own.
#include "../shaders/modules.h"
#include "plan/enumerators.h"
#include "plan/fused_dispatch.h"
#include "plan/range.h"
#include "plan/rows.h"
#include "plan/tensor.h"

namespace rope {
namespace {

bool readsParameters(const FusedTensor& t) {
    return t.query_scaled || t.given_scale.count != 0 || (isNormed(t) && t.norm.weights != nullptr);
}

// True if a condition holds for any tensor of the dispatch.
template <typename Condition> bool anyOf(const FusedDispatch& dispatch, Condition condition) {
    for (const FusedTensor* t : dispatch.tensors) {
        if (t != nullptr && condition(*t)) return true;
    }
    return false;
}

uint32_t scaleConstant(const RopeCacheScale& scale, uint32_t at) {
    if (scale.count == 0) return 0;
    return ROPE_SCALE_GIVEN | at | (scale.count != 1 ? ROPE_SCALE_OF_HEADS : 0) |
           (scale.multiplies != 0 ? ROPE_SCALE_MULTIPLIES : 0);
}

// Sets the constants and the binding of the stages: the norms, the scale of queries and given scales.
void setStageConstants(const FusedDispatch& dispatch, RopePass* pass) {
    const ParameterLayout parameters = parameterLayout(dispatch.fused);
    uint32_t* constants = pass->constants;
    setNorms(dispatch, parameters, pass);
    constants[ROPE_ID_PARAMETERS] = 1;
    if (dispatch.has(kK)) {
        constants[ROPE_ID_K_SCALE] = scaleConstant(dispatch.tensors[kK]->given_scale, parameters.k_scales);
    }
    if (dispatch.has(kV)) {
        constants[ROPE_ID_V_SCALE] = scaleConstant(dispatch.tensors[kV]->given_scale, parameters.v_scales);
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

// Returns the shaders of a dispatch.
const ShaderPair& shadersOf(const FusedDispatch& dispatch) {
    static const ShaderPair kFloats[2][2] = {
        {{&rope_shader_fused_wide, &rope_shader_fused_odd}, {&rope_shader_fused_wide_weights, &rope_shader_fused_odd}},
        {{&rope_shader_fused_wide_parameters, &rope_shader_fused_odd_parameters},
         {&rope_shader_fused_wide_parameters_weights, &rope_shader_fused_odd_parameters}}};
    static const ShaderPair kIntegers[2][2] = {
        {{&rope_shader_fused_integers, &rope_shader_fused_integers_odd},
         {&rope_shader_fused_integers_weights, &rope_shader_fused_integers_odd}},
        {{&rope_shader_fused_integers_parameters, &rope_shader_fused_integers_odd_parameters},
         {&rope_shader_fused_integers_parameters_weights, &rope_shader_fused_integers_odd_parameters}}};
    static const ShaderPair kShifts[2] = {{&rope_shader_fused_shift, &rope_shader_fused_shift_odd},
                                          {&rope_shader_fused_shift_parameters, nullptr}};
    static const ShaderPair kGradients[2][2] = {
        {{&rope_shader_fused_gradient, nullptr}, {&rope_shader_fused_gradient_weights, nullptr}},
        {{&rope_shader_fused_gradient_parameters, nullptr}, {nullptr, nullptr}}};
    const bool parameters = anyOf(dispatch, readsParameters), weights = anyOf(dispatch, readsWeightsOrBiases);
    if (dispatch.first().gradient) return kGradients[parameters][weights];
    const bool integers = anyOf(dispatch, [](const FusedTensor& t) { return isForCaches(t); });
    if (!integers) return kFloats[parameters][weights];
    return anyOf(dispatch, isShifted) ? kShifts[parameters] : kIntegers[parameters][weights];
}

// Chooses the shader of a dispatch: the widest that fits all of its tensors. A tensor has the elements that it turns,
// and those that it copies. An odd shader fits tensors of any geometry.
ShaderVariant chooseFusedVariant(const FusedDispatch& dispatch, const RopeLimits& limits) {
    const bool vectors = anyOf(dispatch, needsVectors);
    ShaderPair shaders = shadersOf(dispatch);
    if (storedBytes(dispatch) == 2) shaders.wide = shaders.odd;
    const RopeShader* anywhere = hasOddHeads(dispatch) ? oddShader(shaders, limits) : shaders.wide;
    ShaderVariant chosen = {nullptr, UINT32_MAX, 0, false};
    for (const FusedTensor* t : dispatch.tensors) {
        if (t == nullptr) continue;
        RopeRotateDescription d = t->d;
        d.out_of_place = movesWholeHead(*t);
        const ShaderVariant variant = chooseRotationVariant(d, fusedSideBits(*t), shaders, limits);
        if (vectors && variant.by_words) return {anywhere, 4, 4, true};
        if (variant.shader != shaders.wide) return variant;
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
        if (role != kQ) constants[ROPE_ID_CACHE_FORMAT] = cacheFormatWord(d.element_out);
        if (takesNativeHalves(d, limits)) constants[ROPE_ID_NATIVE_HALVES] = 1;
    }
}

RopeResult addFusedDispatch(const FusedDispatch& dispatch, Planner* planner) {
    const FusedTensor& t = dispatch.first();
    for (const FusedTensor* tensor : dispatch.tensors) {
        const bool any_place = (planner->limits().enabled & ROPE_ENABLED_STORAGE_16) != 0;
        if (tensor == nullptr || any_place) continue;
        const RopeResult whole = checkWholeWords(*tensor, planner->reason());
        if (whole != ROPE_SUCCESS) return whole;
    }
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
    setCacheWords(cache, t.d, &push, pass);
    setTensorBindings(dispatch, &push, pass);
    setStageConstants(dispatch, pass);
    setWeights(dispatch, planner->limits(), &push, pass);
    setInputs(dispatch, planner->limits(), pass);
    RopeResult result = setFusedGroups(dispatch, variant, planner->limits(), pass, planner->reason());
    writeFusedPush(dispatch, tokens, push, pass);
    if (result == ROPE_SUCCESS) result = checkLists(*pass, planner->limits(), planner->reason());
    if (result == ROPE_SUCCESS) result = checkInputs(*pass, planner->limits(), planner->reason());
    if (result == ROPE_SUCCESS) result = checkCaches(*pass, planner->limits(), planner->reason());
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
    setCacheWords(cached != nullptr ? fused.filled.cache : RopeCache{}, t.d, &push, pass);
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
    const uint64_t bytes = uint64_t{parameterLayout(fused).end} * 4;
    if (bytes <= limits.uniform_range) return ROPE_SUCCESS;
    return refuse(
        reason, ROPE_ERROR_TOO_LARGE,
        "norm weights, query scale and given scales take %llu bytes, more than the %u of a uniform binding on "
        "this device",
        static_cast<unsigned long long>(bytes), limits.uniform_range);
}

} // namespace
} // namespace rope

using namespace rope;

namespace {

// True if Q takes one dispatch with K and V: its lanes and norm are theirs, and push words are left for scales.
bool canGoTogether(const FusedDispatch& q, const FusedDispatch& kv, const RopeLimits& limits) {
    if (!takesTensorsTogether(limits) || !q.has(kQ) || !kv.has(kK) || !hasWordsForScales(*kv.tensors[kK])) return false;
    for (const FusedTensor* t : kv.tensors) {
        if (t != nullptr && !canNormTogether(*q.tensors[kQ], *t)) return false;
    }
    const ShaderVariant x = chooseFusedVariant(q, limits), y = chooseFusedVariant(kv, limits);
    if (x.lane_pairs != y.lane_pairs || x.by_words != y.by_words || x.copy_step != y.copy_step) return false;
    if (relaysPairs(q, x) != relaysPairs(kv, y)) return false;
    return canShareRows({q.fused, {q.tensors[kQ], kv.tensors[kK], kv.tensors[kV]}}, x, limits);
}

// Plans the passes of a resolved description. Q goes with K and V if `together` says so and it can.
RopeResult addTensorPasses(const ResolvedFused& fused, bool together, Planner* planner) {
    FusedDispatch q = {fused, {}}, kv = {fused, {}}, v = {fused, {}};
    for (uint32_t i = 0; i < fused.count; ++i) {
        const FusedTensor& t = fused.tensors[i];
        if (isIdle(t)) continue;
        (t.role == kQ ? q : t.role == kV && !fused.v_with_k ? v : kv).tensors[t.role] = &t;
    }
    const bool is_placed = !kv.hasOwnV() || canPlaceVByK(kv, chooseFusedVariant(kv, planner->limits()));
    if (shareTooLargeCache(kv, planner->limits()) || !is_placed) {
        v.tensors[kV] = kv.tensors[kV];
        kv.tensors[kV] = nullptr;
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

// True if a pass binds its cache in windows, and one of its constants is not 0.
bool bindsWindows(const RopePlan& plan, uint32_t constant) {
    for (uint32_t i = 0; i < plan.pass_count; ++i) {
        const RopePass& pass = plan.passes[i];
        if (windowCount(pass) != 1 && pass.constants[constant] != 0) return true;
    }
    return false;
}

// True if a pass of Q beside scales that are stored apart has parts that begin at other sequences than the first. The
// words of these scales are not moved from part to part.
bool movesScalesBesideQ(const RopePlan& plan) {
    for (uint32_t i = 0; i < plan.pass_count; ++i) {
        const RopePass& pass = plan.passes[i];
        const uint32_t* constants = pass.constants;
        const bool is_given = (constants[ROPE_ID_K_SCALE] | constants[ROPE_ID_V_SCALE]) != 0;
        const uint32_t format = constants[ROPE_ID_CACHE_FORMAT];
        const bool apart = format != 0 && (format & ROPE_FORMAT_BLOCKS) == 0 && !is_given;
        if (constants[ROPE_ID_Q_HEADS] != 0 && apart && pass.parts[kBatch] != 1) return true;
    }
    return false;
}

// `stored` asks for weights of PARAMETERS in storage buffers. If there are too many buffers, the weights are uniforms.
RopeResult planFused(const RopeFusedDescription& description, bool together, bool stored, const RopeLimits* limits,
                     RopePlan* plan) {
    Planner planner(limits, plan);
    ResolvedFused fused;
    RopeResult result = resolveFused(description, &fused, planner.reason());
    const bool has_own_v = result == ROPE_SUCCESS && fused.v_unlike_k;
    if (result == ROPE_SUCCESS) result = checkTuning(fused.filled.rotate.tuning, planner.limits(), planner.reason());
    if (result == ROPE_SUCCESS) result = checkUniformRange(fused, planner.limits(), planner.reason());
    stored = stored && result == ROPE_SUCCESS && storeWeights(&fused);
    if (result == ROPE_SUCCESS) result = addTensorPasses(fused, together, &planner);
    if (result == ROPE_SUCCESS) {
        if (fused.filled.rotate.count_outside != 0) addFusedCountPass(fused, &planner);
        result = planner.finish();
    }
    if (result != ROPE_SUCCESS && stored) return planFused(description, together, false, limits, plan);
    if (result == ROPE_ERROR_TOO_LARGE && has_own_v) { // a dispatch of its own has windows
        RopeFusedDescription apart = description;
        apart.v_separate_dispatch = 1;
        return planFused(apart, together, true, limits, plan);
    }
    if (result != ROPE_SUCCESS) return planner.refused(result);
    if (!bindsWindows(*plan, ROPE_ID_MOVES)) return result;
    return planner.refused(refuse(planner.reason(), ROPE_ERROR_TOO_LARGE,
                                  "cache.moves is %u, and no binding spans the cache; keys move inside of one binding, "
                                  "of at most %llu bytes on this device",
                                  fused.filled.cache.moves,
                                  static_cast<unsigned long long>(planner.limits().storage_range)));
}

// Plans Q together with K and V, or apart.
RopeResult planWay(const RopeFusedDescription& d, bool together, const RopeLimits* limits, RopePlan* plan) {
    const RopeResult result = planFused(d, together, true, limits, plan);
    // The dispatch of each window would write Q again.
    const bool apart =
        together && result == ROPE_SUCCESS && (bindsWindows(*plan, ROPE_ID_Q_HEADS) || movesScalesBesideQ(*plan));
    return apart ? ROPE_ERROR_TOO_LARGE : result;
}

RopeResult planTokens(const TokenPlanner& planner, uint32_t tokens, bool together, RopePlan* plan) {
    RopeFusedDescription d = *static_cast<const RopeFusedDescription*>(planner.description);
    d.rotate.tokens = tokens;
    return planWay(d, together, planner.limits, plan);
}

} // namespace

RopeResult ropePlanFused(const RopeFusedDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    return planTogetherOrApart([&](bool together, RopePlan* to) { return planWay(*description, together, limits, to); },
                               plan);
}

RopeResult ropePlanFusedRange(const RopeFusedDescription* description, uint32_t least, uint32_t most,
                              const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS], uint32_t* plan_count) {
    const uint32_t sequences = description != nullptr ? description->rotate.batch : 0;
    return planRange({description, limits, planTokens, sequences, false}, least, most, plans, plan_count);
}
