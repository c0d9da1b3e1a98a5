// This file plans one pass from projection to cache: ropePlanFused.
#include "plan/cache_kinds.h"
#include "plan/fused/arrangement.h"
#include "plan/fused/bindings.h"
#include "plan/fused/cache.h"
#include "plan/fused/record.h"
#include "plan/left_out.h"
#include "plan/range.h"
#include "plan/rows.h"
#include "shaders/modules.h"

#ifndef VKROPE_NO_FUSED
namespace rope {
namespace {

// Sets the source of cos and sin. A shader asks for no position if cos and sin lie in rows. A pass that does not rotate
// is told of rows for that reason.
void setSource(const FusedGroup& group, RopePush* tokens, PlanPass* pass) {
    const FusedTensor* turned = group.turned();
    setRotationConstants(turned != nullptr ? turned->d : group.first().d, group.variant, pass);
    pass->constants[ROPE_ID_ELEMENT_OUT] = shaderElement(group.first().d.element_out);
    if (turned == nullptr) {
        pass->constants[ROPE_ID_COS_SIN] = ROPE_FROM_ROWS;
        return;
    }
    if (turned->d.rotation.source != ROPE_SOURCE_INLINE) setRowWords(turned->d.rotation.rows, tokens);
    setScaleOrTable(turned->d, tokens, pass);
}

// Sets the constants and push words that tell the shader where a token goes in the cache.
void setCacheWords(const RopeCache& cache, const RopeRotateDescription& d, RopeFusedPush* push, PlanPass* pass) {
    uint32_t* constants = pass->constants;
    if (cache.kind == ROPE_CACHE_NONE) return;
    const bool pages = cacheKind(cache).map == SlotMap::kPages;
    pass->facts.cache = cache.kind;
    constants[ROPE_ID_CACHE] = cacheKind(cache).number;
    constants[ROPE_ID_PAGE_SIZE] = pages || cache.page_size != cache.slots ? cache.page_size : 0;
    constants[ROPE_ID_PASS] |= (cache.map_element == ROPE_POSITION_INT64 ? ROPE_PASS_MAP_WIDE : 0) |
                               (cache.map_in_positions == 0 ? ROPE_PASS_MAP_APART : 0) |
                               (isLongRing(cache, d) ? ROPE_PASS_LONG_RING : 0) |
                               (isTurnedByDelta(cache) ? ROPE_PASS_BY_DELTA : 0);
    push->slots = cache.slots;
    push->slot_map_at = lowWord(cache.map_offset);
    push->slot_map_batch = sequencesOf(d) == 1 ? 0 : lowWord(cache.map_batch_stride);
    push->table_pages = cache.table_pages;
    push->delta = lowWord(static_cast<uint64_t>(cache.delta));
}

// Sets how the pass is cut into threads.
void setThreads(const FusedGroup& group, const RopeLimits& limits, PlanPass* pass) {
    const FusedTensor* turned = group.turned();
    uint32_t* constants = pass->constants;
    const uint32_t pairs = turned != nullptr ? turned->d.rotation.rotary_dim / 2 : 0;
    const uint32_t pair_lanes = turned != nullptr ? pairLanes(geometryOf(turned->d), group.variant) : 0;
    constants[ROPE_ID_PAIR_COUNTS] = pairs | pair_lanes << 16;
    constants[ROPE_ID_RELAYED] = group.stages.relayed;
    setGroupConstants(group.cut, group.variant, group.widest, group.heads, pass);
    constants[ROPE_ID_SHARES] = group.cut.shares && turned != nullptr;
    pass->blocks = group.rows;
    forEachTensor(group, [&](const FusedTensor& t) { setNativeHalves(limits, pass, t.d.element, t.d.element_out); });
}

// Binds the uniform buffer and sets the constants of the scale of queries.
void setParameters(const FusedGroup& group, PlanPass* pass) {
    const RopeQueryScale& scale = group.fused->filled.query_scale;
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_PARAMETERS] = 1;
    if (group.has(kQ) && group.tensors[kQ]->takes(ROPE_STAGE_SCALE)) {
        constants[ROPE_ID_QUERY_SCALE] = scale.interval;
        constants[ROPE_ID_QUERY_OFFSET] = scale.offset;
        constants[ROPE_ID_QUERY_COUNT] = scale.count;
    }
    const bool reads = anyOf(group, [](const FusedTensor& t) {
        return t.takes(ROPE_STAGE_SCALE) || t.given_scale.count != 0 || (isNormed(t) && t.norm.weights != nullptr);
    });
    if (!reads) return;
    const uint32_t end = parameterLayout(*group.fused).end;
    constants[ROPE_ID_PARAMETERS] = end / 4;
    pass->access[ROPE_BINDING_PARAMETERS] = {ROPE_SLOT_PARAMETERS, sizeof(float), 0, {0, 0, 0}, end};
}

// Sets which tensors are read where they are written, and which have buffers of their own.
void setBuffers(const FusedGroup& group, PlanPass* pass) {
    uint32_t in_place = 0, apart = 0;
    for (const FusedRole role : kFusedRoles) {
        if (!group.has(role)) continue;
        const bool first = group.tensors[role] == &group.first();
        if (group.tensors[role]->d.out_of_place == 0) in_place |= role == kQ ? 1u : group.has(kQ) ? 2u : 3u;
        if (group.tensors[role]->cached) pass->cache_bindings |= 1u << group.to[role];
        if (first || role == kQ) continue;
        if (group.from[role] == ROPE_BINDING_SOURCE + role) apart |= ROPE_APART_SOURCE_K << (role - kK);
        if (group.to[role] == ROPE_BINDING_DESTINATION + role) apart |= ROPE_APART_DESTINATION_K << (role - kK);
    }
    pass->constants[ROPE_ID_IN_PLACE] = in_place;
    pass->constants[ROPE_ID_APART] = apart;
}
static_assert(ROPE_APART_SOURCE_K << 1 == ROPE_APART_SOURCE_V &&
                  ROPE_APART_DESTINATION_K << 1 == ROPE_APART_DESTINATION_V,
              "V's bits follow K's");

// Names what the pass does beside its tensors, for a plan in words.
uint32_t stagesOf(const FusedGroup& group) {
    const auto norms = [&](uint32_t after) {
        return anyOf(group, [&](const FusedTensor& t) { return t.role != kV && isNormed(t) && t.norm.after == after; });
    };
    return kFused | (norms(0) ? kNormBefore : 0) | (group.turned() != nullptr ? kTurn : 0) |
           (norms(1) ? kNormAfter : 0) | (group.stages.transformed != 0 ? kHadamard : 0) |
           (group.has(kQ) && group.tensors[kQ]->takes(ROPE_STAGE_SCALE) ? kQueryScale : 0);
}

void addGroup(const FusedGroup& group, Planner* planner) {
    const RopeRotateDescription& d = group.first().d;
    const bool odd = storedBytes(group) == 2;
    PlanPass* pass = planner->addPass(odd ? rope_shader_fused_odd : rope_shader_fused_wide, d.batch, d.tokens, 1);
    memcpy(pass->access, group.access, sizeof pass->access);
    pass->facts.stages = stagesOf(group);
    RopePush tokens = {};
    RopeFusedPush push = {};
    setSource(group, &tokens, pass);
    setPositionBuffer(*group.fused, positionNeeds(group), group.first(), group.isCached(), &tokens, &push, pass);
    if (group.isCached()) setCacheWords(group.fused->filled.cache, d, &push, pass);
    setThreads(group, planner->limits(), pass);
    setBuffers(group, pass);
    setParameters(group, pass);
    setRecords(group, planner->limits(), &push, pass);
    setTokenWords(tokens, d.tokens, &push, pass);
    writePush(push, pass);
}

// Adds the pass that counts, once for all tensors, the tokens that lack a position or a slot.
void addFusedCountPass(const ResolvedFused& fused, Planner* planner) {
    const FusedTensor* turned = nullptr;
    const FusedTensor* cached = nullptr;
    for (const FusedTensor* t = fused.tensors; t != fused.tensors + fused.count; ++t) {
        if (t->takes(ROPE_STAGE_TURN) && t->d.rotation.source != ROPE_SOURCE_ROWS) turned = t;
        if (t->cached) cached = t;
    }
    if (cached == nullptr && (turned == nullptr || !canBeOutside(turned->d))) return;
    const FusedTensor& t = turned != nullptr ? *turned : *cached;
    const RopeSource source = turned != nullptr ? t.d.rotation.source : ROPE_SOURCE_ROWS;
    PlanPass* pass = addCounter(t.d.batch, t.d.tokens, source, planner);
    RopePush tokens = {};
    RopeFusedPush push = {};
    PositionNeeds needs = positionNeeds(fused, t);
    if (cached != nullptr) needs = needs | positionNeeds(fused, *cached);
    setPositionBuffer(fused, needs, t, cached != nullptr, &tokens, &push, pass);
    if (cached != nullptr) setCacheWords(fused.filled.cache, t.d, &push, pass);
    if (turned != nullptr) setScaleOrTable(t.d, &tokens, pass);
    setTokenWords(tokens, t.d.tokens, &push, pass);
    writePush(push, pass);
}

RopeResult addFusedPasses(const ResolvedFused& fused, Planner* planner) {
    FusedArrangement arrangement = {};
    RopeResult result = checkTuning(fused.filled.tuning, planner->limits(), planner->reason());
    if (result == ROPE_SUCCESS) result = arrange(fused, planner->limits(), &arrangement, planner->reason());
    for (uint32_t i = 0; i < arrangement.count; ++i) addGroup(arrangement.groups[i], planner);
    if (result == ROPE_SUCCESS && fused.filled.count_outside != 0) addFusedCountPass(fused, planner);
    return result;
}

} // namespace
} // namespace rope

using namespace rope;

RopeResult ropePlanFused(const RopeFusedDescription* description, const RopeLimits* limits, RopePlan* plan) {
    return planDescription(description, limits, plan, resolveFused, addFusedPasses);
}

RopeResult ropePlanFusedRange(const RopeFusedDescription* description, uint32_t least, uint32_t most,
                              const RopeLimits* limits, RopePlan plans[ROPE_MAX_RANGE_PLANS], uint32_t* plan_count) {
    return planRange<ropePlanFused>(description, limits, /* cuts_by_tokens= */ false, least, most, plans, plan_count);
}
#else

RopeResult ropePlanFused(const RopeFusedDescription*, const RopeLimits*, RopePlan* plan) {
    return rope::refuseLeftOut("fused passes", "FUSED", plan);
}
RopeResult ropePlanFusedRange(const RopeFusedDescription*, uint32_t, uint32_t, const RopeLimits*,
                              RopePlan plans[ROPE_MAX_RANGE_PLANS], uint32_t* plan_count) {
    if (plan_count == nullptr) return ROPE_ERROR_INVALID;
    *plan_count = 0;
    return rope::refuseLeftOut("fused passes", "FUSED", plans);
}

#endif
