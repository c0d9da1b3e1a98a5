// This file checks that a context has what a plan takes.
#include "record/check_plan.h"
#include "rules/refuse.h"

namespace rope {
namespace {

// A limit that a plan takes, and that the context has.
struct Compared {
    const char* name;
    uint64_t takes, has;
    bool fits;
};
static_assert(sizeof(RopeLimits) == 48, "a new limit is compared below, unless like threads it binds no plan");

} // namespace

RopeResult checkPlan(const RopeContext& context, const RopePlan& plan, uint32_t number, RopeReason* reason) {
    if (plan.version != ROPE_VERSION || plan.pass_count == 0) {
        const bool other = plan.version != ROPE_VERSION && plan.version != 0;
        return refuse(reason, other ? ROPE_ERROR_OTHER_VERSION : ROPE_ERROR_INVALID,
                      "plan %u has version %#x; it must be %#x, that of an accepted plan", number, plan.version,
                      ROPE_VERSION);
    }
    const RopeLimits &takes = plan.limits, &has = context.limits;
    const auto most = [](const char* name, uint64_t a, uint64_t b) { return Compared{name, a, b, a <= b}; };
    const Compared limits[] = {
        most("storage_range", takes.storage_range, has.storage_range),
        {"storage_alignment", takes.storage_alignment, has.storage_alignment,
         takes.storage_alignment >= has.storage_alignment},
        most("group_count[0]", takes.group_count[0], has.group_count[0]),
        most("group_count[1]", takes.group_count[1], has.group_count[1]),
        most("group_size", takes.group_size, has.group_size),
        {"enabled", takes.enabled, has.enabled, (takes.enabled & ~has.enabled) == 0},
        most("storage_buffers", takes.storage_buffers, has.storage_buffers),
        most("uniform_range", takes.uniform_range, has.uniform_range),
        most("shared_bytes", takes.shared_bytes, has.shared_bytes),
    };
    for (const Compared& limit : limits) {
        if (limit.fits) continue;
        return refuse(reason, ROPE_ERROR_OTHER_LIMITS,
                      "plan %u takes limits.%s of %llu, and the context has %llu; plan with the context's limits",
                      number, limit.name, static_cast<unsigned long long>(limit.takes),
                      static_cast<unsigned long long>(limit.has));
    }
    return ROPE_SUCCESS;
}

} // namespace rope
