// Passes: how they are split to a device's limits, what they need of each slot, and each of their dispatches.
#include "plan/planner.h"

#include <string.h>

static_assert(sizeof(rope::RopePush) == sizeof(uint32_t) * ROPE_PUSH_WORDS, "push constants are 128 bytes");

namespace rope {
namespace {

constexpr uint32_t kGroupSize = 64;
constexpr uint32_t kLeastAlignment = 16; // a uvec4

enum Axis { kBatch, kToken, kHead, kAxes };

// *total += a * b, or false past 64 bits.
bool addProduct(uint64_t a, uint64_t b, uint64_t* total) {
    if (a != 0 && b > (UINT64_MAX - *total) / a) return false;
    *total += a * b;
    return true;
}

// Bytes from element (0, 0, 0) over `counts` of each axis, without the offset; UINT64_MAX past 64 bits.
uint64_t reachBytes(const RopeAccess& access, const uint32_t counts[kAxes]) {
    uint64_t elements = access.extent;
    for (int axis = 0; axis < kAxes; ++axis) {
        if (!addProduct(counts[axis] - 1, access.stride[axis], &elements)) return UINT64_MAX;
    }
    uint64_t bytes = 0;
    return addProduct(elements, access.element_bytes, &bytes) ? bytes : UINT64_MAX;
}

uint64_t lanesPerToken(const RopePass& pass, uint32_t heads) {
    const uint64_t groups = (static_cast<uint64_t>(heads) + pass.heads_per_thread - 1) / pass.heads_per_thread;
    return groups * readPush(pass).head_lanes;
}

uint64_t groupsX(const RopePass& pass, uint32_t tokens, uint32_t heads) {
    const uint32_t size = pass.constants[ROPE_ID_GROUP_SIZE];
    const uint64_t turns = (static_cast<uint64_t>(tokens) + pass.tokens_per_thread - 1) / pass.tokens_per_thread;
    return (turns * lanesPerToken(pass, heads) + size - 1) / size;
}

// Rows of 16-bit elements are read by whole words.
uint64_t wholeWords(const RopeAccess& access, uint64_t bytes) {
    return access.slot == ROPE_SLOT_ROWS && bytes < UINT64_MAX - 3 ? (bytes + 3) / 4 * 4 : bytes;
}

// What a binding's start loses to its alignment: for one that no split moves that is known, for others nearly all of
// it. Two bytes more may go to a word's end.
uint64_t lostBytes(const RopePass& pass, const RopeAccess& access, uint64_t alignment) {
    for (int axis = 0; axis < kAxes; ++axis) {
        if (pass.step[axis] != pass.count[axis] && access.stride[axis] != 0) return alignment + 2;
    }
    return access.offset * access.element_bytes % alignment + (access.element_bytes == 2 ? 2 : 0);
}

// A part fits where each binding spans no more than the device allows.
bool fitsRange(const RopePass& pass, const RopeLimits& limits) {
    for (const RopeAccess& access : pass.access) {
        if (access.extent == 0) continue;
        const uint64_t lost = lostBytes(pass, access, limits.storage_alignment);
        const uint64_t room = limits.storage_range > lost ? limits.storage_range - lost : 0;
        if (reachBytes(access, pass.step) > room) return false;
    }
    return true;
}

bool fitsGroups(const RopePass& pass, const RopeLimits& limits) {
    const uint64_t most = (UINT32_MAX >> 1) / pass.constants[ROPE_ID_GROUP_SIZE]; // divide() takes n < 2^31
    const uint64_t groups = limits.group_count[0] < most ? limits.group_count[0] : most;
    return lanesPerToken(pass, pass.step[kHead]) < (1u << 30) &&
           groupsX(pass, pass.step[kToken], pass.step[kHead]) <= groups && pass.step[kBatch] <= limits.group_count[1];
}

bool fits(const RopePass& pass, const RopeLimits& limits) {
    return fitsRange(pass, limits) && fitsGroups(pass, limits);
}

uint64_t widestStride(const RopePass& pass, int axis) {
    uint64_t widest = 0;
    for (const RopeAccess& access : pass.access) {
        const uint64_t bytes = access.stride[axis] * access.element_bytes;
        if (access.extent != 0 && bytes > widest) widest = bytes;
    }
    return widest;
}

// Lowers the step of one axis as little as it takes to fit, or to 1.
void lowerStep(int axis, const RopeLimits& limits, RopePass* pass) {
    uint32_t low = 1;
    uint32_t high = pass->step[axis];
    while (low < high) {
        pass->step[axis] = low + (high - low + 1) / 2;
        if (fits(*pass, limits)) {
            low = pass->step[axis];
        } else {
            high = pass->step[axis] - 1;
        }
    }
    pass->step[axis] = low;
}

// Parts that start at the alignment bind nothing of their neighbours', which synchronization validation would take for
// a hazard.
void alignStep(int axis, uint64_t alignment, RopePass* pass) {
    uint64_t multiple = 1;
    for (const RopeAccess& access : pass->access) {
        if (access.extent == 0 || access.stride[axis] == 0) continue;
        while (multiple < alignment && access.stride[axis] * access.element_bytes * multiple % alignment != 0)
            multiple *= 2;
    }
    uint32_t& step = pass->step[axis];
    if (step != pass->count[axis] && step > multiple) step -= static_cast<uint32_t>(step % multiple);
}

// Splits along the axis of the widest stride first: its parts lie furthest apart.
bool split(const RopeLimits& limits, RopePass* pass) {
    bool lowered[kAxes] = {false, false, false};
    for (int turn = 0; turn < kAxes && !fits(*pass, limits); ++turn) {
        int axis = -1;
        for (int candidate = 0; candidate < kAxes; ++candidate) {
            if (lowered[candidate]) continue;
            if (axis < 0 || widestStride(*pass, candidate) > widestStride(*pass, axis)) axis = candidate;
        }
        lowered[axis] = true;
        lowerStep(axis, limits, pass);
        alignStep(axis, limits.storage_alignment, pass);
    }
    for (int axis = 0; axis < kAxes; ++axis) {
        pass->parts[axis] = pass->count[axis] / pass->step[axis] + (pass->count[axis] % pass->step[axis] != 0);
    }
    return fits(*pass, limits);
}

bool hasWindow(const RopePass& pass) {
    const RopePush push = readPush(pass);
    return push.window_begin != 0 || push.window_end != UINT32_MAX;
}

// Where sequences follow each other as tokens do, they are one long sequence: fewer, fuller groups.
void joinSequences(RopePass* pass) {
    const uint64_t tokens = static_cast<uint64_t>(pass->count[kBatch]) * pass->count[kToken];
    if (pass->count[kBatch] == 1 || tokens > (1u << 30) || pass->whole != 0) return;
    const bool by_row = pass->constants[ROPE_ID_COS_SIN] == ROPE_FROM_ROWS;
    if (hasWindow(*pass) || (pass->constants[ROPE_ID_POSITIONS] != ROPE_KIND_PER_TOKEN && !by_row)) return;
    for (const RopeAccess& access : pass->access) {
        if (access.extent != 0 && access.stride[kBatch] != pass->count[kToken] * access.stride[kToken]) return;
    }
    pass->joined_tokens = pass->count[kToken];
    pass->count[kBatch] = 1;
    pass->count[kToken] = static_cast<uint32_t>(tokens);
}

uint64_t partCount(const RopePass& pass) {
    return static_cast<uint64_t>(pass.parts[kBatch]) * pass.parts[kToken] * pass.parts[kHead];
}

} // namespace

Divisor makeDivisor(uint32_t divisor) {
    uint32_t shift = 0;
    while ((1ull << shift) < divisor) ++shift;
    const uint64_t magic = ((1ull << (31 + shift)) + divisor - 1) / divisor;
    return {static_cast<uint32_t>(magic), shift};
}

RopeAccess frequencyAccess(const RopeFrequencies& frequencies) {
    return {ROPE_SLOT_FREQUENCIES, 16, 0, {0, 0, 0}, static_cast<uint64_t>(frequencies.sets) * frequencies.count};
}

RopePush readPush(const RopePass& pass) {
    RopePush push;
    memcpy(&push, pass.push, sizeof push);
    return push;
}

void writePush(const RopePush& push, RopePass* pass) { memcpy(pass->push, &push, sizeof push); }

void fillLimits(RopeLimits* limits) {
    if (limits->storage_range > UINT32_MAX) limits->storage_range = UINT32_MAX;
    if (limits->storage_alignment == 0) limits->storage_alignment = kLeastAlignment;
    if (limits->group_size == 0) limits->group_size = 1;
    if (limits->storage_buffers == 0) limits->storage_buffers = 4;
    if (limits->uniform_range == 0) limits->uniform_range = 16384;
    if (limits->shared_bytes == 0) limits->shared_bytes = 16384;
    if (limits->threads == 0) limits->threads = 16384;
    if (limits->uniform_alignment == 0) limits->uniform_alignment = 256;
}

RopeResult checkLimits(const RopeLimits& limits, RopeReason* reason) {
    const uint32_t storage = limits.storage_alignment, uniform = limits.uniform_alignment;
    if (((storage & (storage - 1)) | (uniform & (uniform - 1))) != 0) {
        return refuse(reason, ROPE_ERROR_INVALID,
                      "limits.storage_alignment is %u and uniform_alignment %u; each must be a power of two", storage,
                      uniform);
    }
    if (limits.storage_range == 0 || limits.group_count[0] == 0 || limits.group_count[1] == 0) {
        return refuse(reason, ROPE_ERROR_INVALID, "limits.%s is 0; ropeLimitsFromDevice fills it in",
                      limits.storage_range == 0 ? "storage_range" : "group_count");
    }
    return ROPE_SUCCESS;
}

RopeResult checkGiven(const void* description, RopePlan* plan) {
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
    // As fine as the shaders take it; what is no power of two stays as it is, to be refused.
    while (limits_.storage_alignment < kLeastAlignment && kLeastAlignment % limits_.storage_alignment == 0)
        limits_.storage_alignment *= 2;
    plan->limits = limits_;
    plan->limits.enabled = plan->limits.threads = 0;
}

RopePass* Planner::addPass(const RopeShader& shader, uint32_t batch, uint32_t tokens, uint32_t heads) {
    RopePass* pass = &plan_->passes[plan_->pass_count++];
    pass->shader = &shader;
    plan_->limits.enabled |= shader.needs;
    pass->constants[ROPE_ID_GROUP_SIZE] = kGroupSize < limits_.group_size ? kGroupSize : limits_.group_size;
    pass->constants[ROPE_ID_HEADS] = 1;
    pass->heads_per_thread = pass->tokens_per_thread = pass->place_elements = 1;
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

// Bytes of every slot from its own offset on.
RopeResult Planner::sumBytes(const RopePass& pass) {
    for (const RopeAccess& access : pass.access) {
        if (access.extent == 0) continue;
        uint64_t bytes = reachBytes(access, pass.count);
        if (bytes == UINT64_MAX || !addProduct(access.offset, access.element_bytes, &bytes)) {
            return refuse(reason(), ROPE_ERROR_TOO_LARGE,
                          "%s would have more bytes than 64 bits count; use smaller strides or offsets",
                          slotName(access.slot));
        }
        bytes = wholeWords(access, bytes);
        if (bytes > plan_->bytes[access.slot]) plan_->bytes[access.slot] = bytes;
    }
    return ROPE_SUCCESS;
}

// Why no split helps: what one token of one head spans, above all a table that is read at any position.
RopeResult Planner::refuseSplit(const RopePass& pass) {
    const unsigned long long most = limits_.storage_range;
    if (fitsRange(pass, limits_)) {
        return refuse(reason(), ROPE_ERROR_TOO_LARGE,
                      "one token takes more than the %u groups of %u threads of a dispatch", limits_.group_count[0],
                      pass.constants[ROPE_ID_GROUP_SIZE]);
    }
    if (pass.constants[ROPE_ID_COS_SIN] == ROPE_FROM_TABLE) {
        return refuse(
            reason(), ROPE_ERROR_TOO_LARGE,
            "the table spans more than the %llu bytes that a binding may; use fewer rows, or ROPE_SOURCE_ROWS or "
            "ROPE_SOURCE_INLINE",
            most);
    }
    uint32_t slot = pass.access[ROPE_BINDING_DESTINATION].slot;
    for (const RopeAccess& access : pass.access) {
        if (access.extent * access.element_bytes > most) slot = access.slot;
    }
    return refuse(reason(), ROPE_ERROR_TOO_LARGE,
                  "%s: what one token of one head needs at once spans more than the %llu bytes that a binding may; it "
                  "must lie closer together",
                  slotName(slot), most);
}

RopeResult Planner::finish() {
    RopeResult result = checkLimits(limits_, reason());
    uint64_t dispatches = 0;
    for (uint32_t i = 0; i < plan_->pass_count && result == ROPE_SUCCESS; ++i) {
        RopePass* pass = &plan_->passes[i];
        result = sumBytes(*pass);
        if (result != ROPE_SUCCESS) break;
        joinSequences(pass);
        memcpy(pass->step, pass->count, sizeof pass->step);
        if (!split(limits_, pass)) {
            result = refuseSplit(*pass);
            break;
        }
        dispatches += partCount(*pass);
        if (partCount(*pass) > (1u << 30) || dispatches > (1u << 30)) {
            result = refuse(reason(), ROPE_ERROR_TOO_LARGE,
                            "the tensors would take more than 2^30 dispatches; split the call or use packed strides");
        }
    }
    if (result != ROPE_SUCCESS) return refused(result);
    plan_->version = ROPE_VERSION;
    return result;
}

namespace {

// For a binding that is not read: something that is, where there is any.
const RopeAccess& boundInstead(const RopePass& pass) {
    const int read[] = {ROPE_BINDING_COS_SIN, ROPE_BINDING_POSITIONS, ROPE_BINDING_SOURCE};
    for (const int binding : read) {
        if (pass.access[binding].extent != 0) return pass.access[binding];
    }
    return pass.access[ROPE_BINDING_DESTINATION];
}

// A plan that was refused, or is of another version, has none.
uint32_t passCount(const RopePlan* plan) {
    return plan != nullptr && plan->version == ROPE_VERSION ? plan->pass_count : 0;
}

// The pass of a plan's dispatch, whose number becomes that in the pass; null behind the last.
const RopePass* findPass(const RopePlan* plan, uint32_t* index) {
    for (uint32_t i = 0; i < passCount(plan); ++i) {
        const RopePass& pass = plan->passes[i];
        if (*index < partCount(pass)) return &pass;
        *index -= static_cast<uint32_t>(partCount(pass));
    }
    return nullptr;
}

struct Part {
    uint32_t begin[kAxes];
    uint32_t count[kAxes];
};

Part partOf(const RopePass& pass, uint32_t index) {
    Part part;
    for (int axis = kHead; axis >= 0; --axis) {
        part.begin[axis] = index % pass.parts[axis] * pass.step[axis];
        index /= pass.parts[axis];
        const uint32_t left = pass.count[axis] - part.begin[axis];
        part.count[axis] = left < pass.step[axis] ? left : pass.step[axis];
    }
    return part;
}

// Binds what the part reaches over from an aligned offset on; what the alignment left over goes into the place.
RopePlace bind(const RopeAccess& access, const Part& part, uint32_t alignment, RopeBinding* binding) {
    uint64_t element = access.offset;
    uint32_t strides[kAxes];
    for (int axis = 0; axis < kAxes; ++axis) {
        element += part.begin[axis] * access.stride[axis];
        strides[axis] = part.count[axis] > 1 ? static_cast<uint32_t>(access.stride[axis]) : 0;
    }
    const uint64_t byte = element * access.element_bytes;
    const uint64_t left_over = byte % alignment;
    binding->slot = static_cast<RopeSlot>(access.slot);
    binding->offset = byte - left_over;
    binding->range = wholeWords(access, left_over + reachBytes(access, part.count));
    return {static_cast<uint32_t>(left_over / access.element_bytes), strides[kBatch], strides[kToken], strides[kHead]};
}

RopePlace dividedBy(uint32_t elements, const RopePlace& p) {
    return {p.offset / elements, p.batch / elements, p.token / elements, p.head / elements};
}

void placeThreads(const RopePass& pass, const Part& part, RopePush* push) {
    push->tokens = part.count[kToken];
    push->heads = part.count[kHead];
    const Divisor lanes = makeDivisor(static_cast<uint32_t>(lanesPerToken(pass, part.count[kHead])));
    const Divisor head_lanes = makeDivisor(push->head_lanes);
    push->lanes_magic = lanes.magic;
    push->head_lanes_magic = head_lanes.magic;
    push->shifts = lanes.shift | head_lanes.shift << 16;
}

// What a fused pass takes of a part, in words that its other counts leave free.
void placeFused(const RopePass& pass, const Part& part, const RopePush& planned, const RopePlace* places,
                RopePush* push) {
    if (pass.constants[ROPE_ID_HEAD_LANES] == 0) return;
    push->ROPE_FIRST_BATCH = part.begin[kBatch];
    push->ROPE_SOURCE_V_AT = places[ROPE_BINDING_SOURCE_V].offset;
    push->ROPE_DESTINATION_V_AT = planned.ROPE_DESTINATION_V_AT + places[ROPE_BINDING_DESTINATION_V].offset;
    if ((pass.whole & 1u << ROPE_BINDING_POSITIONS) != 0) {
        push->position_offset = planned.position_offset + part.begin[kBatch] * planned.position_batch +
                                part.begin[kToken] * planned.position_token;
        push->position_batch = planned.position_batch;
        push->position_token = planned.position_token;
    }
    if ((pass.whole & 1u << ROPE_BINDING_DESTINATION) != 0) {
        push->destination = planned.destination;
        push->destination.offset += places[ROPE_BINDING_DESTINATION].offset;
    }
}

} // namespace
} // namespace rope

using namespace rope;

uint32_t ropeDispatchCount(const RopePlan* plan) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < passCount(plan); ++i) count += partCount(plan->passes[i]);
    return static_cast<uint32_t>(count);
}

void ropeGetDispatch(const RopePlan* plan, uint32_t index, RopeDispatch* dispatch) {
    if (dispatch == nullptr) return;
    const RopePass* pass = findPass(plan, &index);
    if (pass == nullptr) {
        memset(dispatch, 0, sizeof *dispatch);
        return;
    }
    const Part part = partOf(*pass, index);
    RopePush push = readPush(*pass);
    const RopePush planned = push;
    RopePlace places[ROPE_BINDING_COUNT] = {};
    memset(dispatch->bindings, 0, sizeof dispatch->bindings);
    for (uint32_t i = 0; i < ROPE_BINDING_COUNT; ++i) {
        const RopeAccess& own = pass->access[i];
        if (own.extent == 0 && i >= ROPE_BINDING_PARAMETERS) continue;
        const RopeAccess& access = own.extent != 0 ? own : boundInstead(*pass);
        places[i] = bind(access, part, plan->limits.storage_alignment, &dispatch->bindings[i]);
    }
    const RopePlace positions = places[ROPE_BINDING_POSITIONS];
    const bool packed = pass->constants[ROPE_ID_POSITIONS] >= ROPE_KIND_PACKED;
    push.first_token = part.begin[kToken];
    if (pass->access[ROPE_BINDING_POSITIONS].extent != 0) {
        push.position_offset = positions.offset;
        push.position_batch = packed ? push.ROPE_SEQUENCES : positions.batch;
        push.position_token = positions.token;
    }
    const RopePlace rows = places[ROPE_BINDING_COS_SIN];
    push.rows.offset += pass->access[ROPE_BINDING_COS_SIN].slot == ROPE_SLOT_ROWS ? rows.offset : 0;
    push.rows.batch = rows.batch;
    if (pass->constants[ROPE_ID_COS_SIN] != ROPE_FROM_TABLE) push.rows.token = rows.token;
    push.source = dividedBy(pass->place_elements, places[ROPE_BINDING_SOURCE]);
    push.destination = dividedBy(pass->place_elements, places[ROPE_BINDING_DESTINATION]);
    placeThreads(*pass, part, &push);
    placeFused(*pass, part, planned, places, &push);

    dispatch->shader = pass->shader;
    memcpy(dispatch->constants, pass->constants, sizeof dispatch->constants);
    memcpy(dispatch->push, &push, sizeof push);
    dispatch->groups[0] = static_cast<uint32_t>(groupsX(*pass, part.count[kToken], part.count[kHead]));
    dispatch->groups[1] = part.count[kBatch];
    dispatch->groups[2] = 1;
}

void ropeGroups(const RopePlan* plan, uint32_t index, uint32_t tokens, uint32_t groups[3]) {
    if (groups == nullptr) return;
    groups[0] = groups[1] = groups[2] = 0;
    const RopePass* pass = findPass(plan, &index);
    if (pass == nullptr) return;
    const Part part = partOf(*pass, index);
    uint32_t count = tokens > part.begin[kToken] ? tokens - part.begin[kToken] : 0;
    if (count > part.count[kToken] || (pass->joined_tokens != 0 && tokens != 0)) count = part.count[kToken];
    groups[0] = static_cast<uint32_t>(groupsX(*pass, count, part.count[kHead]));
    groups[1] = part.count[kBatch];
    groups[2] = 1;
}
