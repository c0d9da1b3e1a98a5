// The plan of one pass from projection to cache: a dispatch for Q, and one for K and V together.
#include "plan/fused.h"
#include "plan/axes.h"
#include "plan/enumerators.h"
#include "plan/rows.h"
#include "plan/shaders.h"
#include "plan/tensor.h"

#include <string.h>

namespace rope {
namespace {

constexpr uint32_t kMostMeeting = 8; // heads of a team that share memory: more gain nothing

// What one dispatch does: one tensor, or K and V beside it.
struct Job {
    const Fused& fused;
    const FusedTensor& tensor;
    const FusedTensor* v; // null where the tensor is alone
    bool own_buffers;     // K and V have each their own
    bool is_q;
};

uint32_t lowWord(uint64_t value) { return static_cast<uint32_t>(value); }

uint32_t bitsOf(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

bool readsParameters(const FusedTensor& t) {
    return t.scaled || (t.norm.kind != ROPE_NORM_NONE && t.norm.weights != nullptr);
}

uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint32_t sequencesOf(const RopeRotateDescription& d) { return isPacked(d.positions) ? d.positions.sequences : d.batch; }

// What lies beyond any binding; sums of a few of them stay within 64 bits.
constexpr uint64_t kTooFar = 1ull << 56;

uint64_t times(uint64_t a, uint64_t b) { return a != 0 && b > kTooFar / a ? kTooFar : a * b; }

// Elements of one list that the shader reads from the beginning of POSITIONS on, in bytes.
uint64_t reach(uint64_t offset, uint64_t rows, uint64_t row_stride, uint64_t entries, uint64_t stride, uint32_t bytes) {
    return times(least(offset, kTooFar) + times(rows - 1, row_stride) + times(entries - 1, stride) + 1, bytes);
}

uint64_t slotMapBytes(const RopeFusedDescription& given, const RopeRotateDescription& d) {
    const RopeCache& cache = given.cache;
    const uint32_t bytes = ropePositionBytes(cache.slot_map_element);
    switch (cacheKind(cache).map) {
    case SlotMap::kSlots:
        return reach(cache.slot_map_offset, d.batch, cache.slot_map_batch_stride, d.tokens, cache.slot_map_token_stride,
                     bytes);
    case SlotMap::kPages:
        return reach(cache.slot_map_offset, sequencesOf(d), cache.slot_map_batch_stride, cache.table_pages, 1, bytes);
    default:
        return 0;
    }
}

// Positions, slots or table and the count lie in one buffer, bound from its beginning.
void setSlotMap(const Fused& fused, const FusedTensor& t, bool cached, RopePush* push, RopePass* pass) {
    const RopeFusedDescription& given = fused.given;
    const RopeRotateDescription& d = t.d;
    RopePositions positions;
    RopeFrequencies frequencies;
    positionsRead(fused, t, &positions, &frequencies);
    setPositions(positions, frequencies, push, pass);
    setWindow(d, push, pass);
    uint64_t bytes = cached ? slotMapBytes(given, d) : 0;
    if (readsPositions(positions)) {
        const RopeAccess access = positionAccess(positions, frequencies);
        bytes = most(bytes, reach(access.offset + access.extent - 1, d.batch, access.stride[0], d.tokens,
                                  access.stride[1], access.element_bytes));
        push->position_offset = lowWord(positions.offset);
        push->position_token = lowWord(access.stride[1]);
        if (!isPacked(positions)) push->position_batch = lowWord(access.stride[0]);
    } else {
        pass->constants[ROPE_ID_POSITION_ELEMENT] = shaderPositionElement(fused.count_element);
    }
    if (given.tokens_counted != 0) {
        pass->constants[ROPE_ID_COUNTED] = 1;
        push->ROPE_COUNT_AT = lowWord(given.tokens_offset);
        bytes = most(bytes, (given.tokens_offset + 1) * ropePositionBytes(fused.count_element));
    }
    pass->family = kFusedFamily;
    pass->joinable = 0;
    pass->whole |= 1u << ROPE_BINDING_POSITIONS;
    if (bytes == 0) return;
    pass->access[ROPE_BINDING_POSITIONS] = {ROPE_SLOT_POSITIONS, sizeof(uint32_t), 0, {0, 0, 0}, (bytes + 3) / 4};
}

void setCache(const RopeCache& cache, uint32_t sequences, RopePush* push, RopePass* pass) {
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_PAGE_SIZE] = 1; // divided by, also where there is no cache
    if (cache.kind == ROPE_CACHE_NONE) return;
    constants[ROPE_ID_CACHE] = cacheKind(cache).number;
    constants[ROPE_ID_STEPS_WIDE] = cache.slot_map_element == ROPE_POSITION_INT64;
    constants[ROPE_ID_STEPS_BATCH] =
        sequences == 1 ? 0 : lowWord(cache.slot_map_batch_stride); // as few pipelines as do
    constants[ROPE_ID_STEPS_TOKEN] =
        cacheKind(cache).map == SlotMap::kPages ? cache.table_pages : lowWord(cache.slot_map_token_stride);
    constants[ROPE_ID_SLOTS] = cache.slots;
    constants[ROPE_ID_PAGE_SIZE] = cache.page_size;
    push->ROPE_STEPS_AT = lowWord(cache.slot_map_offset);
    if (cache.shift == 0 || cache.delta == 0) return;
    constants[ROPE_ID_SHIFT] = 1;
    memcpy(&push->ROPE_DELTA, &cache.delta, sizeof cache.delta);
}

// From a cache's first element to behind its last one.
uint64_t cacheElements(const RopeCache& cache, const FusedTensor& tensor, const RopeCacheLayout& layout, uint32_t dim) {
    const uint32_t batches = layout.batch_stride != 0 ? sequencesOf(tensor.d) : 1;
    return (batches - 1) * layout.batch_stride + (cache.slots / cache.page_size - 1ull) * layout.page_stride +
           (cache.page_size - 1ull) * layout.slot_stride + (tensor.heads - 1ull) * layout.head_stride + dim;
}

// Elements as the shader counts them: of integers, 32-bit words.
uint64_t destinationUnits(RopeElement element, uint64_t elements) {
    return isQuantized(element) ? elementBytes(element, elements) / sizeof(uint32_t) : elements;
}

struct Reach {
    uint64_t begin, end;
};

Reach cacheReach(const Job& job, const FusedTensor& tensor) {
    const RopeCache& cache = job.fused.given.cache;
    const RopeElement element = tensor.d.element_out;
    Reach r;
    r.begin = destinationUnits(element, tensor.cache.offset);
    r.end = r.begin + destinationUnits(element, cacheElements(cache, tensor, tensor.cache, tensor.d.head_dim));
    if (formatOf(element).scale != ElementScale::kApart) return r;
    const uint64_t scales = cacheElements(cache, tensor, tensor.scales, 1);
    return {least(r.begin, tensor.scales.offset), most(r.end, tensor.scales.offset + scales)};
}

RopeAccess wholeCache(const FusedTensor& tensor, const Reach& r) {
    const uint32_t bytes = isQuantized(tensor) ? sizeof(uint32_t) : ropeElementBytes(tensor.d.element_out);
    return {static_cast<uint32_t>(tensor.to), bytes, r.begin, {0, 0, 0}, r.end - r.begin};
}

uint64_t cacheUnits(const FusedTensor& tensor) { return destinationUnits(tensor.d.element_out, tensor.cache.offset); }

void setCachePlaces(const Job& job, RopePush* push, RopePass* pass) {
    const FusedTensor& k = job.tensor;
    Reach r = cacheReach(job, k);
    uint64_t first = cacheUnits(k);
    uint32_t* constants = pass->constants;
    const bool scales = formatOf(k.d.element_out).scale == ElementScale::kApart;
    if (scales) constants[ROPE_ID_SCALE_AT] = lowWord(k.scales.offset - cacheUnits(k));
    if (job.v != nullptr) {
        const Reach v = cacheReach(job, *job.v);
        if (scales) constants[ROPE_ID_SCALE_V] = lowWord(job.v->scales.offset - cacheUnits(*job.v));
        if (job.own_buffers) {
            pass->access[ROPE_BINDING_DESTINATION_V] = wholeCache(*job.v, v);
            push->ROPE_DESTINATION_V_AT = lowWord(cacheUnits(*job.v) - v.begin);
        } else {
            r = {least(r.begin, v.begin), most(r.end, v.end)};
            first = least(first, cacheUnits(*job.v));
            constants[ROPE_ID_DESTINATION_V] = lowWord(cacheUnits(*job.v) - cacheUnits(k));
        }
    }
    pass->access[ROPE_BINDING_DESTINATION] = wholeCache(k, r);
    pass->whole |= 1u << ROPE_BINDING_DESTINATION;
    push->destination = {lowWord(first - r.begin), lowWord(k.cache.batch_stride), lowWord(k.cache.slot_stride), 0};
    constants[ROPE_ID_PAGE_STRIDE] = lowWord(k.cache.page_stride);
    constants[ROPE_ID_SCALE_BATCH] = lowWord(k.scales.batch_stride);
    constants[ROPE_ID_SCALE_PAGE] = lowWord(k.scales.page_stride);
    constants[ROPE_ID_SCALE_SLOT] = lowWord(k.scales.slot_stride);
    constants[ROPE_ID_SCALE_HEAD] = lowWord(k.scales.head_stride);
}

// All heads of a token at once: heads are not split between dispatches.
RopeAccess allHeads(RopeSlot slot, const RopeLayout& layout, RopeElement element, const FusedTensor& tensor) {
    RopeAccess access = tensorAccess(slot, layout, element, tensor.d.head_dim);
    access.extent += (tensor.heads - 1) * layout.head_stride;
    access.stride[2] = 0;
    return access;
}

// K's and V's places in one binding, or V's in one of its own.
void bindBoth(const Job& job, uint32_t binding, uint32_t v_binding, uint32_t v_constant, const RopeAccess& k,
              const RopeAccess& v, RopePass* pass) {
    pass->access[binding] = k;
    if (job.v == nullptr) return;
    if (job.own_buffers) {
        pass->access[v_binding] = v;
        return;
    }
    const uint64_t begin = least(k.offset, v.offset);
    pass->access[binding].offset = begin;
    pass->access[binding].extent = most(k.offset + k.extent, v.offset + v.extent) - begin;
    pass->constants[v_constant] = lowWord(v.offset - k.offset);
}

void setPlaces(const Job& job, RopePush* push, RopePass* pass) {
    const FusedTensor& t = job.tensor;
    const FusedTensor& v = job.v != nullptr ? *job.v : t;
    pass->constants[ROPE_ID_SOURCE_HEAD] = lowWord(sourceHeadStride(t));
    pass->constants[ROPE_ID_DESTINATION_HEAD] = lowWord(destinationHeadStride(t));
    if (job.fused.given.cache.shift == 0) {
        bindBoth(job, ROPE_BINDING_SOURCE, ROPE_BINDING_SOURCE_V, ROPE_ID_SOURCE_V,
                 allHeads(t.from, t.source, t.d.element_in, t), allHeads(v.from, v.source, v.d.element_in, v), pass);
    }
    if (t.cached) return setCachePlaces(job, push, pass);
    bindBoth(job, ROPE_BINDING_DESTINATION, ROPE_BINDING_DESTINATION_V, ROPE_ID_DESTINATION_V,
             allHeads(t.to, t.destination, t.d.element_out, t), allHeads(v.to, v.destination, v.d.element_out, v),
             pass);
}

void setStages(const Job& job, RopePass* pass) {
    const FusedTensor& t = job.tensor;
    const RopeNorm& norm = t.norm;
    const Parameters parameters = parametersOf(job.fused);
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
            constants[ROPE_ID_WEIGHTS] = job.is_q ? parameters.q_weights : parameters.k_weights;
            constants[ROPE_ID_WEIGHT_OFFSET] = bitsOf(norm.weight_offset);
        }
    }
    const RopeQueryScale& scale = job.fused.given.query_scale;
    if (t.scaled) {
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
bool movesWholeHead(const FusedTensor& t) { return t.d.out_of_place != 0 || needsRuns(t); }

// Norms and quantizers look at whole heads before any of it is stored.
bool meets(const FusedTensor& t) { return isQuantized(t) || t.norm.kind != ROPE_NORM_NONE; }

uint32_t groupsOf(uint32_t heads, uint32_t per_thread) { return (heads + per_thread - 1) / per_thread; }

// Of a token, in teams of so many heads; K's and V's are never in one team.
uint32_t lanesOfToken(const Job& job, uint32_t head_lanes, uint32_t heads) {
    const uint32_t v_heads = job.v != nullptr ? job.v->heads : 0;
    return head_lanes * (groupsOf(job.tensor.heads, heads) + groupsOf(v_heads, heads));
}

struct Teams {
    uint32_t heads;      // of one team
    uint32_t group_size; // whole teams
};

uint32_t sharedBytes(const FusedTensor& t, const Teams& teams, uint32_t head_lanes) {
    const uint32_t runs = t.d.head_dim / 4;
    const ElementFormat& format = formatOf(t.d.element_out);
    const uint32_t blocks = format.scale == ElementScale::kInBlock ? t.d.head_dim / format.block_elements : 1;
    return teams.group_size / head_lanes * teams.heads * (runs + 2 + 2 * blocks) * 4;
}

// Heads of a team, and teams of a group: a head's lanes meet in shared memory, and with a norm over all heads a
// token's.
RopeResult chooseTeams(const Job& job, uint32_t head_lanes, const RopeLimits& limits, Teams* teams,
                       RopeReason* reason) {
    const FusedTensor& t = job.tensor;
    const uint32_t full = teams->group_size;
    const bool all = t.norm.kind != ROPE_NORM_NONE && t.norm.all_heads != 0;
    for (;; teams->heads = all ? teams->heads * 2 : teams->heads / 2) {
        const uint32_t unit = all ? lanesOfToken(job, head_lanes, teams->heads) : head_lanes;
        teams->group_size = unit < full ? full / unit * unit : unit;
        if (unit > limits.group_size) {
            if (all && teams->heads < t.heads) continue;
            break;
        }
        if (teams->group_size > limits.group_size) teams->group_size = limits.group_size / unit * unit;
        if (sharedBytes(t, *teams, head_lanes) <= limits.shared_bytes) return ROPE_SUCCESS;
        if (teams->group_size > unit) {
            teams->group_size = unit;
            if (sharedBytes(t, *teams, head_lanes) <= limits.shared_bytes) return ROPE_SUCCESS;
        }
        if (all || teams->heads == 1) break;
    }
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "%s: %llu elements normed or quantized together take more than the %u threads or %u bytes of shared "
                  "memory of a group; use fewer heads or smaller ones",
                  t.name, (all ? t.heads : 1ull) * t.d.head_dim, limits.group_size, limits.shared_bytes);
}

RopeResult setTeams(const Job& job, const Build& build, const RopeLimits& limits, RopePass* pass, RopeReason* reason) {
    const FusedTensor& t = job.tensor;
    const uint32_t pairs = t.turned ? t.d.rotary_dim / 2 : 0;
    const uint32_t pair_lanes = t.turned ? pairLanes(t.d, build) : 0;
    const uint32_t passed = movesWholeHead(t) ? t.d.head_dim - 2 * pairs : 0;
    const uint32_t head_lanes = pair_lanes + passLanes(passed, build);
    const uint32_t v_heads = job.v != nullptr ? job.v->heads : 0;
    uint32_t* constants = pass->constants;
    const RopeTuning tuning = chooseTuning(t.d, t.heads + v_heads, head_lanes, false, limits);
    Teams teams = {meets(t) && tuning.heads > kMostMeeting ? kMostMeeting : tuning.heads, tuning.group_size};
    RopeResult result = ROPE_SUCCESS;
    if (meets(t)) result = chooseTeams(job, head_lanes, limits, &teams, reason);
    if (result != ROPE_SUCCESS) return result;
    constants[ROPE_ID_HEADS] = teams.heads;
    constants[ROPE_ID_GROUP_SIZE] = teams.group_size;
    constants[ROPE_ID_PAIR_COUNTS] = pairs | pair_lanes << 16;
    constants[ROPE_ID_ROTARY_BEGIN] = t.turned ? t.d.rotary_begin : 0;
    constants[ROPE_ID_PASS_ELEMENTS] = passed;
    constants[ROPE_ID_HEAD_LANES] = head_lanes;
    constants[ROPE_ID_TURNED_HEADS] = t.heads;
    constants[ROPE_ID_ALL_HEADS] = t.heads + v_heads;
    constants[ROPE_ID_RUNS] = meets(t) ? t.d.head_dim / 4 : 1;
    pass->head_lanes = lanesOfToken(job, head_lanes, teams.heads);
    return result;
}

Build chooseFused(const Job& job, const RopeLimits& limits) {
    // Of the wide ones the second reads parameters; the narrow ones never do.
    static const Shaders kTogether[2] = {{&rope_shader_fused_wide, &rope_shader_fused_narrow, &rope_shader_fused_odd},
                                         {&rope_shader_fused_wide_parameters, nullptr, nullptr}};
    static const Shaders kApart[2] = {
        {&rope_shader_fused_apart_wide, &rope_shader_fused_apart_narrow, &rope_shader_fused_apart_odd},
        {&rope_shader_fused_apart_wide_parameters, nullptr, nullptr}};
    const Shaders& shaders = (job.own_buffers ? kApart : kTogether)[readsParameters(job.tensor)];
    RopeRotateDescription d = job.tensor.d;
    d.out_of_place = movesWholeHead(job.tensor);
    if (needsRuns(job.tensor)) d.tuning.pairs = 0;
    const Build build = chooseBuild(d, sideBits(job.tensor), shaders, limits);
    if (job.v == nullptr || build.shader == nullptr) return build;
    RopeRotateDescription other = job.v->d;
    other.tuning.pairs = d.tuning.pairs;
    const Build v = chooseBuild(other, sideBits(*job.v), shaders, limits);
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

// A cache is bound whole, for its slots are not known to the plan.
RopeResult checkCacheRange(const RopePass& pass, const RopeLimits& limits, RopeReason* reason) {
    const int bindings[] = {ROPE_BINDING_DESTINATION, ROPE_BINDING_DESTINATION_V};
    for (const int binding : bindings) {
        const RopeAccess& cache = pass.access[binding];
        if (times(cache.extent, cache.element_bytes) <= limits.storage_range) continue;
        return refuse(
            reason, ROPE_ERROR_TOO_LARGE,
            "a cache is bound whole and this one spans %llu bytes, more than the %llu that a binding may; use "
            "fewer slots, or K and V in buffers of their own",
            static_cast<unsigned long long>(times(cache.extent, cache.element_bytes)),
            static_cast<unsigned long long>(limits.storage_range));
    }
    return ROPE_SUCCESS;
}

RopeResult addJob(const Job& job, Planner* planner) {
    const FusedTensor& t = job.tensor;
    const Build build = chooseFused(job, planner->limits());
    if (build.shader == nullptr) return refuseBuild(t.name, planner->reason());
    RopePass* pass = planner->addPass(*build.shader, t.d.batch, t.d.tokens, 1);
    RopePush push = {};
    setSource(t, build, &push, pass);
    setSlotMap(job.fused, t, t.cached, &push, pass);
    setCache(t.cached ? job.fused.given.cache : RopeCache{}, sequencesOf(t.d), &push, pass);
    setPlaces(job, &push, pass);
    setStages(job, pass);
    const RopeResult result = setTeams(job, build, planner->limits(), pass, planner->reason());
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
    if (!fused.joined || limits.storage_buffers >= 6) return ROPE_SUCCESS;
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
    const uint32_t jobs = fused.joined ? fused.count - 1 : fused.count;
    for (uint32_t i = 0; i < jobs && result == ROPE_SUCCESS; ++i) {
        const FusedTensor& t = fused.tensors[i];
        const FusedTensor* v = fused.joined && i + 1 == jobs ? &fused.tensors[i + 1] : nullptr;
        if (isIdle(t)) continue;
        const bool own_buffers = v != nullptr && (t.from != v->from || t.to != v->to);
        result = addJob({fused, t, v, own_buffers, i == 0 && fused.given.rotate.q.heads != 0}, &planner);
    }
    if (result != ROPE_SUCCESS) return planner.refused(result);
    if (fused.given.rotate.count_outside != 0) addFusedCountPass(fused, &planner);
    return planner.finish();
}
