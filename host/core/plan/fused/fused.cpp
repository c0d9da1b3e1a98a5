// This file plans one pass from projection to cache: ropePlanFused. Q, K and V take one dispatch, or Q or V has
// another.
#include "plan/enumerators.h"
#include "plan/fused/bindings.h"
#include "plan/fused/dispatch.h"
#include "plan/fused/geometry.h"
#include "plan/fused/groups.h"
#include "plan/fused/inputs.h"
#include "plan/fused/norms.h"
#include "plan/fused/parameters.h"
#include "plan/fused/resolve.h"
#include "plan/fused/weights.h"
#include "plan/range.h"
#include "plan/rows.h"
#include "plan/tensor.h"
#include "plan/tuning.h"
#include "shaders/modules.h"

namespace rope {
namespace {

bool readsParameters(const FusedTensor& t) {
    return t.query_scaled || t.given_scale.count != 0 || (isNormed(t) && t.norm.weights != nullptr);
}

// True if a condition holds for any tensor of the dispatch.
template <typename Condition> bool anyOf(const FusedDispatch& dispatch, Condition condition) {
    for (const FusedTensor* t : dispatch.tensors)
        if (t != nullptr && condition(*t)) return true;
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
    if (dispatch.has(kK))
        constants[ROPE_ID_K_SCALE] = scaleConstant(dispatch.tensors[kK]->given_scale, parameters.k_scales);
    if (dispatch.has(kV))
        constants[ROPE_ID_V_SCALE] = scaleConstant(dispatch.tensors[kV]->given_scale, parameters.v_scales);
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

// Returns the shader of a dispatch.
const RopeShader& shaderOf(const FusedDispatch& dispatch) {
    static const RopeShader* const kFloats[] = {&rope_shader_fused_wide, &rope_shader_fused_wide_parameters};
    static const RopeShader* const kIntegers[2][2] = {
        {&rope_shader_fused_integers, &rope_shader_fused_integers_odd},
        {&rope_shader_fused_integers_parameters, &rope_shader_fused_integers_odd_parameters}};
    static const RopeShader* const kShifts[] = {&rope_shader_fused_shift, &rope_shader_fused_shift_odd};
    const bool parameters = anyOf(dispatch, readsParameters), odd = storedBytes(dispatch) == 2;
    if (!anyOf(dispatch, [](const FusedTensor& t) { return isForCaches(t); })) return *kFloats[parameters];
    if (!anyOf(dispatch, isShifted)) return *kIntegers[parameters][odd];
    return parameters ? rope_shader_fused_shift_parameters : *kShifts[odd];
}

// A tensor has the elements that it turns, and those that it copies. With vectors it holds quads, whose pairs may lie
// anywhere, but heads of 16-bit elements may not.
ShaderVariant variantOf(const FusedTensor& t, bool vectors, const RopeLimits& limits) {
    RopeRotateDescription d = t.d;
    d.out_of_place = movesWholeHead(t);
    const SideBits sides = fusedSideBits(t);
    const ShaderVariant variant = chooseVariant(d, sides, limits);
    if (!vectors || !variant.by_words) return variant;
    const bool odd = (ropeElementBytes(d.element_in) == 2 && sides.source % 2 != 0) ||
                     (ropeElementBytes(d.element_out) == 2 && sides.destination % 2 != 0);
    return {4, 4, true, !odd};
}

// Chooses the lanes of a dispatch: the widest that fit all of its tensors.
ShaderVariant chooseFusedVariant(const FusedDispatch& dispatch, const RopeLimits& limits) {
    const bool vectors = anyOf(dispatch, needsVectors);
    ShaderVariant chosen = {UINT32_MAX, 0, false, true};
    for (const FusedTensor* t : dispatch.tensors) {
        if (t == nullptr) continue;
        const ShaderVariant variant = variantOf(*t, vectors, limits);
        if (variant.lane_pairs < chosen.lane_pairs || (variant.lane_pairs == chosen.lane_pairs && variant.by_words))
            chosen = variant;
    }
    return chosen;
}

// Refuses tensors whose 16-bit elements lie at odd places.
RopeResult checkPlaces(const FusedDispatch& dispatch, const RopeLimits& limits, RopeReason* reason) {
    const bool vectors = anyOf(dispatch, needsVectors);
    for (const FusedTensor* t : dispatch.tensors) {
        if (t == nullptr || variantOf(*t, vectors, limits).fits) continue;
        return refuseOddPlaces(t->name, vectors ? 0 : oddHalves(t->d), reason);
    }
    return ROPE_SUCCESS;
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

// Fills in the buffers of a dispatch, its constants and its push words, but for its groups.
void fillPass(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits, RopePass* pass) {
    const FusedTensor& t = dispatch.first();
    RopePush tokens = {};
    RopeFusedPush push = {};
    PositionNeeds needs = {};
    for (const FusedTensor* tensor : dispatch.tensors)
        if (tensor != nullptr) needs = needs | positionNeeds(dispatch.fused, *tensor);
    const RopeCache cache = dispatch.isCached() ? dispatch.fused.filled.cache : RopeCache{};
    pass->address_unit = variant.by_words ? 1 : variant.lane_pairs;
    setSource(t, variant, &tokens, pass);
    setElements(dispatch, limits, pass);
    setPositionBuffer(dispatch.fused, needs, t, dispatch.isCached(), &tokens, &push, pass);
    setCacheWords(cache, t.d, &push, pass);
    setTensorBindings(dispatch, &push, pass);
    setStageConstants(dispatch, pass);
    setWeights(dispatch, limits, &push, pass);
    setInputs(dispatch, limits, pass);
    writeFusedPush(dispatch, tokens, push, pass);
}

// True if the device binds the buffers of a dispatch together.
bool fitsBuffers(const FusedDispatch& dispatch, const RopeLimits& limits) {
    RopePass pass = {};
    fillPass(dispatch, chooseFusedVariant(dispatch, limits), limits, &pass);
    return countStorageBuffers(pass) <= limits.storage_buffers;
}

RopeResult addFusedDispatch(const FusedDispatch& dispatch, Planner* planner) {
    const FusedTensor& t = dispatch.first();
    for (const FusedTensor* tensor : dispatch.tensors) {
        const bool any_place = (planner->limits().enabled & ROPE_ENABLED_STORAGE_16) != 0;
        if (tensor == nullptr || any_place) continue;
        const RopeResult whole = checkWholeWords(*tensor, planner->reason());
        if (whole != ROPE_SUCCESS) return whole;
    }
    RopeResult result = checkPlaces(dispatch, planner->limits(), planner->reason());
    if (result != ROPE_SUCCESS) return result;
    const ShaderVariant variant = chooseFusedVariant(dispatch, planner->limits());
    RopePass* pass = planner->addPass(shaderOf(dispatch), t.d.batch, t.d.tokens, 1);
    fillPass(dispatch, variant, planner->limits(), pass);
    result = setFusedGroups(dispatch, variant, planner->limits(), pass, planner->reason());
    if (result == ROPE_SUCCESS) result = checkSharedCache(dispatch, *pass, planner->limits(), planner->reason());
    return result != ROPE_SUCCESS ? result : checkBuffers(*pass, planner->limits(), planner->reason());
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
    const RopeSource source = turned != nullptr ? t.d.source : ROPE_SOURCE_ROWS;
    RopePass* pass = addCounter(t.d.batch, t.d.tokens, source, planner);
    RopePush tokens = {};
    RopeFusedPush push = {};
    PositionNeeds needs = positionNeeds(fused, t);
    if (cached != nullptr) needs = needs | positionNeeds(fused, *cached);
    setPositionBuffer(fused, needs, t, cached != nullptr, &tokens, &push, pass);
    setCacheWords(cached != nullptr ? fused.filled.cache : RopeCache{}, t.d, &push, pass);
    if (turned != nullptr) setScaleOrTable(t.d, &tokens, pass);
    writeTokenWords(tokens, &push);
    writePush(push, pass);
}

} // namespace
} // namespace rope

using namespace rope;

namespace {

// True if Q takes one dispatch with K and V: its lanes and norm are theirs, and push words are left for scales.
bool canGoTogether(const FusedDispatch& q, const FusedDispatch& kv, const RopeLimits& limits) {
    if (!takesTensorsTogether(limits) || !q.has(kQ) || !kv.has(kK) || !hasWordsForScales(*kv.tensors[kK])) return false;
    for (const FusedTensor* t : kv.tensors)
        if (t != nullptr && !canNormTogether(*q.tensors[kQ], *t)) return false;
    const ShaderVariant x = chooseFusedVariant(q, limits), y = chooseFusedVariant(kv, limits);
    if (x.lane_pairs != y.lane_pairs || x.by_words != y.by_words || x.copy_step != y.copy_step) return false;
    if (relaysPairs(q, x) != relaysPairs(kv, y)) return false;
    const FusedDispatch all = {q.fused, {q.tensors[kQ], kv.tensors[kK], kv.tensors[kV]}};
    return canShareRows(all, x, limits) && fitsBuffers(all, limits);
}

// Plans the passes of a resolved description. Q goes with K and V if `together` says so and it can.
RopeResult addTensorPasses(const ResolvedFused& fused, bool together, Planner* planner) {
    FusedDispatch q = {fused, {}}, kv = {fused, {}}, v = {fused, {}};
    for (uint32_t i = 0; i < fused.count; ++i) {
        const FusedTensor& t = fused.tensors[i];
        if (!isIdle(t)) (t.role == kQ ? q : t.role == kV && !fused.v_with_k ? v : kv).tensors[t.role] = &t;
    }
    if (kv.has(kK) && kv.has(kV) && !fitsBuffers(kv, planner->limits())) {
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

RopeResult planFused(const RopeFusedDescription& description, bool together, const RopeLimits* limits, RopePlan* plan) {
    Planner planner(limits, plan);
    ResolvedFused fused;
    RopeResult result = resolveFused(description, &fused, planner.reason());
    if (result == ROPE_SUCCESS) result = checkTuning(fused.filled.rotate.tuning, planner.limits(), planner.reason());
    if (result == ROPE_SUCCESS) result = addTensorPasses(fused, together, &planner);
    if (result == ROPE_SUCCESS) {
        if (fused.filled.rotate.count_outside != 0) addFusedCountPass(fused, &planner);
        result = planner.finish();
    }
    return result == ROPE_SUCCESS ? result : planner.refused(result);
}

RopeResult planTokens(const TokenPlanner& planner, uint32_t tokens, bool together, RopePlan* plan) {
    RopeFusedDescription d = *static_cast<const RopeFusedDescription*>(planner.description);
    d.rotate.tokens = tokens;
    return planFused(d, together, planner.limits, plan);
}

} // namespace

RopeResult ropePlanFused(const RopeFusedDescription* description, const RopeLimits* limits, RopePlan* plan) {
    if (checkArguments(description, plan) != ROPE_SUCCESS) return ROPE_ERROR_INVALID;
    return planTogetherOrApart(
        [&](bool together, RopePlan* to) { return planFused(*description, together, limits, to); }, plan);
}

RopeResult ropePlanFusedRange(const RopeFusedDescription* description, uint32_t least, uint32_t most,
                              const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS], uint32_t* plan_count) {
    const uint32_t sequences = description != nullptr ? description->rotate.batch : 0;
    return planRange({description, limits, planTokens, sequences, false}, least, most, plans, plan_count);
}
