// This file finishes plans: passes are joined, split to a device's limits, and summed up to the bytes of each slot.
#include "plan/planner.h"
#include "plan/limits.h"
#include "plan/pass.h"

#include <string.h>

namespace rope {
namespace {

constexpr uint32_t kDefaultGroupSize = 64; // tokens of a count, one a thread: what every device allows in z

// Returns the bytes that a binding's start may lose to its alignment. The loss is known for a binding that no split
// moves; other bindings may lose nearly the whole alignment. Two bytes more may go to the end of a word.
uint64_t alignmentLoss(const PlanPass& pass, const PassAccess& access, uint64_t alignment) {
    for (int axis = 0; axis < kGridAxes; ++axis)
        if (pass.step[axis] != pass.count[axis] && access.stride[axis] != 0) return alignment + 2;
    return access.offset * access.element_bytes % alignment + (access.element_bytes == 2 ? 2 : 0);
}

// Returns the first binding of a part that spans more than the device allows, or ROPE_BINDING_COUNT.
uint32_t findTooWide(const PlanPass& pass, const RopeLimits& limits) {
    uint32_t binding = 0;
    for (; binding < ROPE_BINDING_COUNT; ++binding) {
        const PassAccess& access = pass.access[binding];
        if (access.extent == 0) continue;
        const uint64_t lost = alignmentLoss(pass, access, limits.storage_alignment);
        const uint64_t room = limits.storage_range > lost ? limits.storage_range - lost : 0;
        if (spanBytes(access, pass.step) > room) break;
    }
    return binding;
}

// A part fits if no binding is too wide, and if its workgroups are no more than a dispatch may have.
bool fitsLimits(const PlanPass& pass, const RopeLimits& limits) {
    return findTooWide(pass, limits) == ROPE_BINDING_COUNT &&
           groupCountX(pass, pass.step[kToken]) <= limits.group_count[0] &&
           pass.step[kBatch] <= limits.group_count[1] && groupCountZ(pass, pass.step[kHead]) <= kMaxGroupsZ;
}

// Returns the bytes of the widest stride that any binding has along a grid axis.
uint64_t widestStride(const PlanPass& pass, int axis) {
    uint64_t widest = 0;
    for (const PassAccess& access : pass.access) {
        const uint64_t bytes = access.stride[axis] * access.element_bytes;
        if (access.extent != 0 && bytes > widest) widest = bytes;
    }
    return widest;
}

// Lowers the step of one grid axis as little as it takes for all to fit, or to 1.
void lowerStep(int axis, const RopeLimits& limits, PlanPass* pass) {
    uint32_t low = 1;
    uint32_t high = pass->step[axis];
    while (low < high) {
        pass->step[axis] = low + (high - low + 1) / 2;
        if (fitsLimits(*pass, limits))
            low = pass->step[axis];
        else
            high = pass->step[axis] - 1;
    }
    pass->step[axis] = low;
}

// Lowers the step to a multiple that starts every part's destinations at the alignment. These parts write to no binding
// that has bytes of their neighbours. Synchronization validation would take shared bytes for a hazard.
void alignStep(int axis, uint64_t alignment, PlanPass* pass) {
    uint64_t multiple = 1;
    for (int binding = ROPE_BINDING_DESTINATION; binding <= ROPE_BINDING_DESTINATION_V; ++binding) {
        const PassAccess& access = pass->access[binding];
        if (access.extent == 0 || access.stride[axis] == 0) continue;
        while (multiple < alignment && access.stride[axis] * access.element_bytes * multiple % alignment != 0)
            multiple *= 2;
    }
    uint32_t& step = pass->step[axis];
    if (step != pass->count[axis] && step > multiple) step -= static_cast<uint32_t>(step % multiple);
}

// Splits a pass along the grid axis of the widest stride first: the parts of that axis lie furthest apart. Returns
// false if no split fits.
bool splitPass(const RopeLimits& limits, PlanPass* pass) {
    bool lowered[kGridAxes] = {};
    for (int attempt = 0; attempt < kGridAxes && !fitsLimits(*pass, limits); ++attempt) {
        int axis = -1; // of the widest stride
        for (int i = 0; i < kGridAxes; ++i)
            if (!lowered[i] && (axis < 0 || widestStride(*pass, i) > widestStride(*pass, axis))) axis = i;
        lowered[axis] = true;
        lowerStep(axis, limits, pass);
        alignStep(axis, limits.storage_alignment, pass);
    }
    for (int axis = 0; axis < kGridAxes; ++axis)
        pass->parts[axis] = pass->count[axis] / pass->step[axis] + (pass->count[axis] % pass->step[axis] != 0);
    return fitsLimits(*pass, limits);
}

// Joins sequences that follow each other as tokens do into one long sequence. The workgroups are then fewer and fuller.
void joinSequences(PlanPass* pass) {
    const uint64_t tokens = static_cast<uint64_t>(pass->count[kBatch]) * pass->count[kToken];
    if (pass->count[kBatch] == 1 || tokens > (1u << 30) || pass->joinable == 0) return;
    for (const PassAccess& access : pass->access)
        if (access.extent != 0 && access.stride[kBatch] != pass->count[kToken] * access.stride[kToken]) return;
    pass->joined_tokens = pass->count[kToken];
    pass->count[kBatch] = 1;
    pass->count[kToken] = static_cast<uint32_t>(tokens);
}

// Returns what makes a binding smaller that no split moves.
const char* adviseSmaller(uint32_t binding, const PlanPass& pass) {
    if (isCache(pass, binding)) {
        return "take a pass of K and V for each part of the cache, "
               "with SLOTS that are -1 where a token goes to another part";
    }
    if (binding == ROPE_BINDING_COS_SIN) return "use fewer rows or smaller ones, or ROPE_SOURCE_ROWS or _INLINE";
    return binding == ROPE_BINDING_UNIFORM ? "give fewer values" : "use smaller offsets or strides";
}

// Refuses a pass that takes more storage buffers than the device binds together, and says what makes them fewer. The
// slot map goes into POSITIONS, so that is one buffer fewer only where POSITIONS is bound for something else.
RopeResult checkStorageBuffers(const PlanPass& pass, const RopeLimits& limits, RopeReason* reason) {
    constexpr uint32_t kMapAndPositions = 1u << ROPE_BINDING_SLOT_MAP | 1u << ROPE_BINDING_POSITIONS;
    constexpr uint32_t kWeights = 1u << ROPE_BINDING_Q_WEIGHTS | 1u << ROPE_BINDING_K_WEIGHTS;
    const uint32_t bound = boundBindings(pass), count = countStorageBuffers(pass);
    const char* advice = (bound & kMapAndPositions) == kMapAndPositions ? "set cache.map_in_positions to 1"
                         : (bound & kWeights) != 0                      ? "set weights of its norms to arrays"
                                                                        : "ropeLimitsFromDevice fills it in";
    if (count <= limits.storage_buffers) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "%s takes %u storage buffers, and limits.storage_buffers is %u; %s",
                  pass.shader->name, count, limits.storage_buffers, advice);
}

// Refuses a pass with a binding that no split moves and that spans more than the device allows.
RopeResult checkWholeBindings(const PlanPass& pass, const RopeLimits& limits, RopeReason* reason) {
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        const PassAccess& access = pass.access[i];
        const bool uniform = i == ROPE_BINDING_UNIFORM;
        if (access.extent == 0 || !(uniform || isBoundWhole(pass, i) || isCache(pass, i))) continue;
        const uint64_t room = uniform ? limits.uniform_range : limits.storage_range;
        uint64_t bytes = access.offset * access.element_bytes % limits.storage_alignment;
        const bool counted = addProduct(access.extent, access.element_bytes, &bytes);
        bytes = counted ? inWholeWords(access, bytes) : UINT64_MAX;
        if (bytes <= room) continue;
        return refuse(reason, ROPE_ERROR_TOO_LARGE, "%s spans %llu bytes, and a binding %llu at most; %s",
                      slotName(access.slot), static_cast<unsigned long long>(bytes),
                      static_cast<unsigned long long>(room), adviseSmaller(i, pass));
    }
    return ROPE_SUCCESS;
}

} // namespace

uint32_t countStorageBuffers(const PlanPass& pass) {
    uint32_t count = 0;
    for (uint32_t bound = boundBindings(pass) & ~(1u << ROPE_BINDING_UNIFORM); bound != 0; bound &= bound - 1) ++count;
    return count;
}

RopeResult checkArguments(const void* description, RopePlan* plan) {
    if (plan == nullptr) return ROPE_ERROR_INVALID;
    if (description != nullptr) return ROPE_SUCCESS;
    memset(plan, 0, sizeof *plan);
    return refuseNull(&plan->reason, "description");
}

Planner::Planner(const RopeLimits* limits, RopePlan* plan) : plan_(plan) {
    memset(plan, 0, sizeof *plan);
    ropeMinimumLimits(&limits_);
    if (limits != nullptr) limits_ = *limits;
    fillLimits(&limits_);
    // Raises the alignment to the smallest that the shaders take. An alignment that is no power of two stays as it is,
    // to be refused.
    while (limits_.storage_alignment < kMinAlignment && kMinAlignment % limits_.storage_alignment == 0)
        limits_.storage_alignment *= 2;
    plan->limits = limits_;
    plan->limits.enabled = plan->limits.threads = 0;
}

PlanPass* Planner::addPass(const RopeShader& shader, uint32_t batch, uint32_t tokens, uint32_t heads) {
    PlanPass* pass = &passAt(*plan_, plan_->pass_count++);
    pass->shader = &shader;
    plan_->limits.enabled |= shader.needs;
    pass->group_size = kDefaultGroupSize < limits_.group_size ? kDefaultGroupSize : limits_.group_size;
    pass->constants[ROPE_ID_HEADS] = 1;
    pass->heads_per_thread = pass->tokens_per_thread = pass->address_unit = 1;
    pass->count[kBatch] = batch;
    pass->count[kToken] = tokens;
    pass->count[kHead] = heads;
    return pass;
}

RopeResult Planner::refused(RopeResult result) {
    const RopeReason reason = plan_->reason;
    memset(plan_, 0, sizeof *plan_);
    plan_->reason = reason;
    return result;
}

// Raises the bytes of every slot that the pass binds, counted without the offset that the caller gives the buffer.
RopeResult Planner::sumBytes(const PlanPass& pass) {
    for (const PassAccess& access : pass.access) {
        if (access.extent == 0) continue;
        uint64_t bytes = spanBytes(access, pass.count);
        if (bytes == UINT64_MAX || !addProduct(access.offset, access.element_bytes, &bytes)) {
            return refuse(reason(), ROPE_ERROR_TOO_LARGE,
                          "%s would have more bytes than 64 bits count; use smaller strides or offsets",
                          slotName(access.slot));
        }
        bytes = inWholeWords(access, bytes);
        if (bytes > plan_->bytes[access.slot]) plan_->bytes[access.slot] = bytes;
    }
    return ROPE_SUCCESS;
}

// Says why no split helps: one token of one head spans too much. Bindings that no split moves were refused before.
RopeResult Planner::refuseSplit(const PlanPass& pass) {
    const uint32_t binding = findTooWide(pass, limits_);
    if (binding == ROPE_BINDING_COUNT) {
        return refuse(reason(), ROPE_ERROR_TOO_LARGE,
                      "one token takes more groups of %u threads than a dispatch may have, %u by %u by %u",
                      pass.group_size, limits_.group_count[0], limits_.group_count[1], kMaxGroupsZ);
    }
    return refuse(reason(), ROPE_ERROR_TOO_LARGE,
                  "%s: what one token of one head needs at once spans more than the %llu bytes that a binding may; it "
                  "must lie closer together",
                  slotName(pass.access[binding].slot), static_cast<unsigned long long>(limits_.storage_range));
}

RopeResult Planner::finish() {
    RopeResult result = checkLimits(limits_, reason());
    uint64_t dispatches = 0;
    for (uint32_t i = 0; i < plan_->pass_count && result == ROPE_SUCCESS; ++i) {
        PlanPass* pass = &passAt(*plan_, i);
        result = checkStorageBuffers(*pass, limits_, reason());
        if (result == ROPE_SUCCESS) result = checkWholeBindings(*pass, limits_, reason());
        if (result == ROPE_SUCCESS) result = sumBytes(*pass);
        if (result != ROPE_SUCCESS) break;
        joinSequences(pass);
        for (int axis = 0; axis < kGridAxes; ++axis)
            if (pass->step[axis] == 0) pass->step[axis] = pass->count[axis]; // else a part takes at most `step`
        if (!splitPass(limits_, pass)) {
            result = refuseSplit(*pass);
            break;
        }
        finishPass(i, plan_);
        dispatches += pass->dispatches;
        if (dispatches > (1u << 30)) {
            result = refuse(reason(), ROPE_ERROR_TOO_LARGE,
                            "the tensors would take more than 2^30 dispatches; split the call, or use packed strides");
        }
    }
    if (result != ROPE_SUCCESS) return refused(result);
    plan_->version = ROPE_VERSION;
    return result;
}

} // namespace rope
