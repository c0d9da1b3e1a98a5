// This file finishes plans: passes are joined, split to a device's limits, and summed up to the bytes of each slot.
#include "plan/planner.h"
#include "plan/completion.h"
#include "plan/limits.h"

#include <string.h>

namespace rope {
namespace {

constexpr uint32_t kDefaultGroupSize = 64; // tokens of a count, one a thread: what every device allows in z
constexpr uint32_t kMaxGroupsZ = 65535;    // what every device has

// Returns the bytes that a binding's start may lose to its alignment. The loss is known for a binding that no split
// moves; other bindings may lose nearly the whole alignment. Two bytes more may go to the end of a word.
uint64_t alignmentLoss(const RopePass& pass, const RopeAccess& access, uint64_t alignment) {
    for (int axis = 0; axis < kGridAxes; ++axis) {
        if (pass.step[axis] != pass.count[axis] && access.stride[axis] != 0) return alignment + 2;
    }
    return access.offset * access.element_bytes % alignment + (access.element_bytes == 2 ? 2 : 0);
}

constexpr uint32_t kAllBindings = UINT32_MAX; // bit i: binding i

// Returns the first of these bindings of a part that spans more than the device allows, or ROPE_BINDING_COUNT.
uint32_t findTooWide(const RopePass& pass, const RopeLimits& limits, uint32_t bindings = kAllBindings) {
    uint32_t binding = 0;
    for (; binding < ROPE_BINDING_COUNT; ++binding) {
        const RopeAccess& access = pass.access[binding];
        if (access.extent == 0 || (bindings >> binding & 1u) == 0) continue;
        const uint64_t lost = alignmentLoss(pass, access, limits.storage_alignment);
        const uint64_t room = limits.storage_range > lost ? limits.storage_range - lost : 0;
        if (spanBytes(access, pass.step) > room) break;
    }
    return binding;
}

// A part fits if its workgroups are no more than a dispatch may have.
bool fitsGroups(const RopePass& pass, const RopeLimits& limits) {
    return groupCountX(pass, pass.step[kToken]) <= limits.group_count[0] &&
           pass.step[kBatch] <= limits.group_count[1] && groupCountZ(pass, pass.step[kHead]) <= kMaxGroupsZ;
}

// Caches alone have no say in the groups.
bool fitsLimits(const RopePass& pass, const RopeLimits& limits, uint32_t bindings) {
    return findTooWide(pass, limits, bindings) == ROPE_BINDING_COUNT &&
           (bindings != kAllBindings || fitsGroups(pass, limits));
}

// Returns the bytes of the widest stride that any of these bindings has along a grid axis.
uint64_t widestStride(const RopePass& pass, int axis, uint32_t bindings) {
    uint64_t widest = 0;
    for (uint32_t binding = 0; binding < ROPE_BINDING_COUNT; ++binding) {
        const RopeAccess& access = pass.access[binding];
        const uint64_t bytes = access.stride[axis] * access.element_bytes;
        if ((bindings >> binding & 1u) != 0 && access.extent != 0 && bytes > widest) widest = bytes;
    }
    return widest;
}

// Lowers the step of one grid axis as little as it takes these bindings to fit, or to 1.
void lowerStep(int axis, const RopeLimits& limits, uint32_t bindings, RopePass* pass) {
    uint32_t low = 1;
    uint32_t high = pass->step[axis];
    while (low < high) {
        pass->step[axis] = low + (high - low + 1) / 2;
        if (fitsLimits(*pass, limits, bindings)) {
            low = pass->step[axis];
        } else {
            high = pass->step[axis] - 1;
        }
    }
    pass->step[axis] = low;
}

// Lowers the step to a multiple that starts every part's destinations at the alignment. These parts write to no binding
// that has bytes of their neighbours. Synchronization validation would take shared bytes for a hazard.
void alignStep(int axis, uint64_t alignment, RopePass* pass) {
    uint64_t multiple = 1;
    for (int binding = ROPE_BINDING_DESTINATION; binding <= ROPE_BINDING_DESTINATION_V; ++binding) {
        const RopeAccess& access = pass->access[binding];
        if (access.extent == 0 || access.stride[axis] == 0) continue;
        while (multiple < alignment && access.stride[axis] * access.element_bytes * multiple % alignment != 0)
            multiple *= 2;
    }
    uint32_t& step = pass->step[axis];
    if (step != pass->count[axis] && step > multiple) step -= static_cast<uint32_t>(step % multiple);
}

// True if a step may be lowered now. The slots of a window follow each other, so pages are cut when each window has one
// sequence, and slots when it has one page.
bool isNext(const RopePass& pass, int axis, const bool* lowered) {
    if (lowered[axis]) return false;
    if (axis == kPage) return pass.step[kSequence] == 1;
    return axis != kSlot || (pass.step[kSequence] == 1 && pass.step[kPage] == 1);
}

// Splits a pass along the grid axis of the widest stride first, of those up to `last`, until these bindings fit: the
// parts of that axis lie furthest apart.
void splitAlong(int last, const RopeLimits& limits, uint32_t bindings, RopePass* pass) {
    bool lowered[kGridAxes] = {};
    for (int attempt = 0; attempt <= last && !fitsLimits(*pass, limits, bindings); ++attempt) {
        int axis = -1;
        uint64_t widest = 0;
        for (int candidate = 0; candidate <= last; ++candidate) {
            if (!isNext(*pass, candidate, lowered)) continue;
            const uint64_t stride = widestStride(*pass, candidate, bindings);
            if (axis >= 0 && stride <= widest) continue;
            axis = candidate;
            widest = stride;
        }
        if (axis < 0) return;
        lowered[axis] = true;
        if (bindings != kAllBindings && widest == 0) continue;
        lowerStep(axis, limits, bindings, pass);
        alignStep(axis, limits.storage_alignment, pass);
    }
}

// Splits a pass: a cache into windows, then batches, tokens and heads. Returns false if no split fits.
bool splitPass(const RopeLimits& limits, RopePass* pass) {
    if (pass->cache_bindings != 0) splitAlong(kCacheHead, limits, pass->cache_bindings, pass);
    splitAlong(kHead, limits, kAllBindings, pass);
    for (int axis = 0; axis < kGridAxes; ++axis) {
        pass->parts[axis] = pass->count[axis] / pass->step[axis] + (pass->count[axis] % pass->step[axis] != 0);
    }
    return fitsLimits(*pass, limits, kAllBindings);
}

// Joins sequences that follow each other as tokens do into one long sequence. The workgroups are then fewer and fuller.
void joinSequences(RopePass* pass) {
    const uint64_t tokens = static_cast<uint64_t>(pass->count[kBatch]) * pass->count[kToken];
    if (pass->count[kBatch] == 1 || tokens > (1u << 30) || pass->joinable == 0) return;
    for (const RopeAccess& access : pass->access) {
        if (access.extent != 0 && access.stride[kBatch] != pass->count[kToken] * access.stride[kToken]) return;
    }
    pass->joined_tokens = pass->count[kToken];
    pass->count[kBatch] = 1;
    pass->count[kToken] = static_cast<uint32_t>(tokens);
}

} // namespace

uint32_t countStorageBuffers(const RopePass& pass) {
    uint32_t count = 0;
    for (uint32_t bound = boundBindings(pass) & ~(1u << ROPE_BINDING_UNIFORM); bound != 0; bound &= bound - 1) ++count;
    return count;
}

RopeResult checkStorageBuffers(const RopePass& pass, const RopeLimits& limits, const char* advice, RopeReason* reason) {
    const uint32_t count = countStorageBuffers(pass);
    if (count <= limits.storage_buffers) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "%s takes %u storage buffers, and limits.storage_buffers is %u; %s",
                  pass.shader->name, count, limits.storage_buffers, advice);
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

RopePass* Planner::addPass(const RopeShader& shader, uint32_t batch, uint32_t tokens, uint32_t heads) {
    RopePass* pass = &plan_->passes[plan_->pass_count++];
    pass->shader = &shader;
    plan_->limits.enabled |= shader.needs;
    pass->group_size = kDefaultGroupSize < limits_.group_size ? kDefaultGroupSize : limits_.group_size;
    pass->constants[ROPE_ID_HEADS] = 1;
    pass->heads_per_thread = pass->tokens_per_thread = pass->address_unit = pass->head_lanes = 1;
    for (uint32_t& count : pass->count) count = 1;
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
RopeResult Planner::sumBytes(const RopePass& pass) {
    for (const RopeAccess& access : pass.access) {
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

// Says why no split helps: one token of one head spans too much. This is above all a table that is read at any
// position. Other bindings that no split moves were refused before.
RopeResult Planner::refuseSplit(const RopePass& pass) {
    const unsigned long long max_range = limits_.storage_range;
    const uint32_t binding = findTooWide(pass, limits_);
    if (binding == ROPE_BINDING_COUNT) {
        return refuse(reason(), ROPE_ERROR_TOO_LARGE,
                      "one token takes more groups of %u threads than a dispatch may have, %u by %u by %u",
                      pass.group_size, limits_.group_count[0], limits_.group_count[1], kMaxGroupsZ);
    }
    if (binding == ROPE_BINDING_COS_SIN && isBoundWhole(pass, binding)) {
        return refuse(
            reason(), ROPE_ERROR_TOO_LARGE,
            "the table spans more than the %llu bytes that a binding may; use fewer rows, or ROPE_SOURCE_ROWS or "
            "ROPE_SOURCE_INLINE",
            max_range);
    }
    return refuse(reason(), ROPE_ERROR_TOO_LARGE,
                  "%s: what one token of one head needs at once spans more than the %llu bytes that a binding may; it "
                  "must lie closer together",
                  slotName(pass.access[binding].slot), max_range);
}

RopeResult Planner::finish() {
    RopeResult result = checkLimits(limits_, reason());
    uint64_t dispatches = 0;
    for (uint32_t i = 0; i < plan_->pass_count && result == ROPE_SUCCESS; ++i) {
        RopePass* pass = &plan_->passes[i];
        result = checkStorageBuffers(*pass, limits_, "ropeLimitsFromDevice fills it in", reason());
        if (result == ROPE_SUCCESS) result = sumBytes(*pass);
        if (result != ROPE_SUCCESS) break;
        joinSequences(pass);
        const uint32_t batches = pass->step[kBatch]; // 0, or as many as a part may take
        memcpy(pass->step, pass->count, sizeof pass->step);
        if (batches != 0) pass->step[kBatch] = batches;
        if (!splitPass(limits_, pass)) {
            result = refuseSplit(*pass);
            break;
        }
        if (windowCount(*pass) != 1) pass->completion->set_windows(pass);
        finishPass(pass);
        pass->pipeline_hash = hashPipeline(*pass);
        dispatches += pass->dispatches;
        if (dispatches > (1u << 30)) {
            result =
                refuse(reason(), ROPE_ERROR_TOO_LARGE, "the plan takes over 2^30 dispatches; split it or pack strides");
        }
    }
    if (result != ROPE_SUCCESS) return refused(result);
    plan_->version = ROPE_VERSION;
    return result;
}

} // namespace rope
