// This file decides how a tensor's work is cut into threads. The one table is here; no bit depends on it.
#include "plan/tensor.h"

namespace rope {
namespace {

// The first row that a device meets is its own: so many threads at once keep the device busy, and its workgroups may
// have so many threads. A thread takes `heads` heads. The heads are halved while too few threads are left, but to no
// fewer than two. Long words take shaders of their own, which additions and biases have.
const struct DeviceTuning {
    uint32_t threads, group_size;
    RopeTuning tuning;
    bool long_words; // drivers load vectors word by word, and 64-bit words are half as many
} kDeviceTunings[] = {
    {16384, 0, {64, 8, 4, 2}, false}, // GPUs have twice the bytes in flight with two heads together
    {0, 512, {64, 32, 8, 1}, true},   // CPUs pay for cos and sin, wait for nothing, and go through memory in order
    {0, 0, {64, 32, 4, 1}, true},     // CPU drivers of small groups have short vectors, and take fewer pairs
};
constexpr uint32_t kMinTunedHeads = 2;

const DeviceTuning& deviceTuning(const RopeLimits& limits) {
    const DeviceTuning* row = kDeviceTunings;
    while (limits.threads < row->threads || limits.group_size < row->group_size) ++row;
    return *row;
}

// Returns the threads of a pass whose threads take so many heads each.
uint64_t threadsLeft(uint64_t tokens, uint32_t heads, uint32_t head_lanes, uint32_t per_thread) {
    return tokens * head_lanes * ((heads + per_thread - 1) / per_thread);
}

} // namespace

RopeResult checkTuning(const RopeTuning& t, const RopeLimits& limits, RopeReason* reason) {
    if (t.group_size > limits.group_size) {
        return refuse(reason, ROPE_ERROR_INVALID, "tuning.group_size is %u; this device allows 1 to %u, or 0",
                      t.group_size, limits.group_size);
    }
    if (t.heads > ROPE_MAX_TUNED_HEADS) {
        return refuse(reason, ROPE_ERROR_INVALID, "tuning.heads is %u; it must be 1 to %u, or 0", t.heads,
                      ROPE_MAX_TUNED_HEADS);
    }
    if ((t.pairs & (t.pairs - 1)) != 0 || t.pairs > 8) {
        return refuse(reason, ROPE_ERROR_INVALID, "tuning.pairs is %u; it must be 1, 2, 4, 8, or 0", t.pairs);
    }
    if (t.in_flight > 2) {
        return refuse(reason, ROPE_ERROR_INVALID, "tuning.in_flight is %u; it must be 1, 2, or 0", t.in_flight);
    }
    return ROPE_SUCCESS;
}

RopeTuning chooseTuning(const RopeRotateDescription& d, uint32_t heads, uint32_t head_lanes, bool two_lanes,
                        const RopeLimits& limits) {
    RopeTuning tuning = deviceTuning(limits).tuning;
    if (d.tuning.pairs != 0) tuning.pairs = d.tuning.pairs;
    if (tuning.pairs == 8 && !two_lanes) tuning.pairs = 4;
    if (tuning.pairs == 8) head_lanes /= 2;
    const uint64_t tokens = static_cast<uint64_t>(d.batch) * d.tokens;
    while (tuning.heads > kMinTunedHeads && threadsLeft(tokens, heads, head_lanes, tuning.heads) < limits.threads)
        tuning.heads /= 2;
    if (tuning.group_size > limits.group_size) tuning.group_size = limits.group_size;
    const RopeTuning& given = d.tuning;
    if (given.group_size != 0) tuning.group_size = given.group_size;
    if (given.heads != 0) tuning.heads = given.heads;
    if (given.in_flight != 0) tuning.in_flight = given.in_flight;
    return tuning;
}

bool takesLongWords(const RopeLimits& limits) {
    return (limits.enabled & ROPE_ENABLED_INT_64) != 0 && deviceTuning(limits).long_words;
}

uint32_t chooseItemsPerThread(uint64_t threads, uint32_t most, const RopeLimits& limits) {
    uint32_t chosen = 1;
    while (chosen <= most / 2 && threads / 2 / chosen >= limits.threads) chosen *= 2;
    return chosen;
}

} // namespace rope
