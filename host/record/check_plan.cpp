// This file checks that a context has what a plan takes.
#include "record/context.h"
#include "rules/refuse.h"

#include <stddef.h>
#include <string.h>

namespace rope {
namespace {

// A plan may take more of these limits than a context has. The two tables have the place and the name of each, in the
// same order.
#define ROPE_LIMITS(X)                                                                                                 \
    X(storage_range)                                                                                                   \
    X(storage_alignment)                                                                                               \
    X(group_count[0])                                                                                                  \
    X(group_count[1])                                                                                                  \
    X(group_size)                                                                                                      \
    X(enabled)                                                                                                         \
    X(storage_buffers)                                                                                                 \
    X(uniform_range)                                                                                                   \
    X(shared_bytes)
#define ROPE_PLACE(member) offsetof(RopeLimits, member),
#define ROPE_NAME(member) #member "\0"
constexpr uint8_t kComparedLimits[] = {ROPE_LIMITS(ROPE_PLACE)};
constexpr char kComparedLimitNames[] = ROPE_LIMITS(ROPE_NAME);
#undef ROPE_NAME
#undef ROPE_PLACE
#undef ROPE_LIMITS
static_assert(sizeof(RopeLimits) == 48, "a new limit goes into ROPE_LIMITS, unless like threads it binds no plan");

// Returns the limit at a place. The limits must be filled in: storage_range, the one member of 64 bits, then needs only
// 32.
uint32_t limitAt(const RopeLimits& limits, size_t at) {
    if (at == offsetof(RopeLimits, storage_range)) return static_cast<uint32_t>(limits.storage_range);
    uint32_t word;
    memcpy(&word, reinterpret_cast<const char*>(&limits) + at, sizeof word);
    return word;
}

} // namespace

RopeResult checkPlan(const RopeContext& context, const RopePlan& plan, uint32_t number, RopeReason* reason) {
    if (plan.version != ROPE_VERSION || plan.pass_count == 0) {
        const bool other = plan.version != ROPE_VERSION && plan.version != 0;
        return refuse(reason, other ? ROPE_ERROR_OTHER_VERSION : ROPE_ERROR_INVALID,
                      "plan %u has version %#x; it must be %#x, that of an accepted plan", number, plan.version,
                      ROPE_VERSION);
    }
    for (uint32_t i = 0; i < sizeof kComparedLimits; ++i) {
        const size_t at = kComparedLimits[i];
        const uint32_t takes = limitAt(plan.limits, at), has = limitAt(context.limits, at);
        const uint32_t lacks = at == offsetof(RopeLimits, enabled)             ? takes & ~has
                               : at == offsetof(RopeLimits, storage_alignment) ? has > takes
                                                                               : takes > has;
        if (lacks == 0) continue;
        const char* name = kComparedLimitNames;
        for (; i != 0; --i) {
            while (*name++ != 0) {
            }
        }
        return refuse(reason, ROPE_ERROR_OTHER_LIMITS,
                      "plan %u takes limits.%s of %u, and the context has %u; plan with the context's limits", number,
                      name, takes, has);
    }
    return ROPE_SUCCESS;
}

} // namespace rope
