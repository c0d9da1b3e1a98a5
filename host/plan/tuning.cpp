// This file decides how a tensor's work is cut into threads. The one table is here; no bit depends on it.
#include "plan/tensor.h"

namespace rope {
namespace {

// A device takes the first row whose `threads` and `group_size` its limits reach. `rotation` and `shares` cut
// rotations: a group comes nearest to `group_size` threads, a thread has `heads` heads, and a lane has `pairs` pairs at
// most. `others` cuts all other passes: `heads` is halved, down to two, while there are too few threads. `long_words`
// selects shaders of their own, which additions and biases have.
const struct DeviceTuning {
    uint32_t threads, group_size;
    RopeTuning rotation;
    bool shares; // a group makes its angles together; a barrier costs the drivers of the last row more than the angles
    RopeTuning others;
    bool long_words; // drivers load vectors word by word, and 64-bit words are half as many
} kDeviceTunings[] = {
    {16384, 0, {128, 1, 8}, true, {64, 8, 4}, false}, // GPUs
    {0, 512, {256, 4, 8}, true, {64, 32, 4}, true},
    {0, 0, {64, 8, 8}, false, {64, 32, 4}, true},
};
constexpr uint32_t kMinTunedHeads = 2;
constexpr uint32_t kMostGroupThreads = 256;
constexpr uint32_t kLeastGroupThreads = 64;
constexpr uint32_t kMostGroupBlocks = 128; // what every device allows in y; in z it allows 64
constexpr uint32_t kVectorThreads = 32;    // threads that a device moves together: a group is counted up to these

const DeviceTuning& deviceTuning(const RopeLimits& limits) {
    const DeviceTuning* row = kDeviceTunings;
    while (limits.threads < row->threads || limits.group_size < row->group_size) ++row;
    return *row;
}

// Returns the threads of a pass whose threads take so many heads each.
uint64_t threadsLeft(uint64_t tokens, uint32_t heads, uint32_t head_lanes, uint32_t per_thread) {
    return tokens * head_lanes * ((heads + per_thread - 1) / per_thread);
}

uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
uint32_t distance(uint32_t a, uint32_t b) { return a < b ? b - a : a - b; }

// Returns how many blocks of a token a group takes: as many as leave the fewest threads idle, and of equal ones those
// that make a group nearest to `wished` threads.
uint32_t chooseBlocks(uint32_t blocks, uint32_t lanes, uint32_t wished, uint32_t most) {
    uint32_t chosen = 1;
    uint64_t least = UINT64_MAX;
    const uint32_t taken_at_most = smaller(blocks, kMostGroupBlocks);
    for (uint32_t taken = 1; taken <= taken_at_most && taken * lanes <= most; ++taken) {
        const uint32_t threads = (taken * lanes + kVectorThreads - 1) / kVectorThreads * kVectorThreads;
        const uint64_t all = (uint64_t{blocks} + taken - 1) / taken * threads;
        const bool nearer = distance(taken * lanes, wished) < distance(chosen * lanes, wished);
        if (all > least || (all == least && !nearer)) continue;
        chosen = taken;
        least = all;
    }
    return chosen;
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
    return ROPE_SUCCESS;
}

RopeTuning chooseTuning(const RopeRotateDescription& d, uint32_t heads, uint32_t head_lanes, const RopeLimits& limits) {
    RopeTuning tuning = deviceTuning(limits).others;
    const uint64_t tokens = static_cast<uint64_t>(d.batch) * d.tokens;
    while (tuning.heads > kMinTunedHeads && threadsLeft(tokens, heads, head_lanes, tuning.heads) < limits.threads)
        tuning.heads /= 2;
    tuning.group_size = smaller(tuning.group_size, limits.group_size);
    if (d.tuning.group_size != 0) tuning.group_size = d.tuning.group_size;
    if (d.tuning.heads != 0) tuning.heads = d.tuning.heads;
    return tuning;
}

uint32_t lanePairsAtMost(const RopeRotateDescription& d, const RopeLimits& limits) {
    return d.tuning.pairs != 0 ? d.tuning.pairs : deviceTuning(limits).rotation.pairs;
}

uint32_t chooseRotationHeads(const RopeRotateDescription& d, uint32_t most, const RopeLimits& limits) {
    const uint32_t heads = d.tuning.heads != 0 ? d.tuning.heads : deviceTuning(limits).rotation.heads;
    return smaller(smaller(heads, most), ROPE_MAX_ROTATED_HEADS);
}

// A group takes one token, or as many as make 64 threads, and all of a token's heads or a part of them. A head
// of more lanes than a group has threads is cut anywhere, and then each thread makes its own angles.
GroupCut cutIntoGroups(const RopeRotateDescription& d, uint32_t blocks, uint32_t lanes, const RopeLimits& limits) {
    const DeviceTuning& device = deviceTuning(limits);
    const uint32_t given = d.tuning.group_size;
    const uint32_t most = given != 0 ? given : smaller(kMostGroupThreads, limits.group_size);
    const uint32_t wished = smaller(given != 0 ? given : device.rotation.group_size, most);
    if (lanes > most) return {{wished, 1, 1}, (lanes + wished - 1) / wished, false};
    const uint32_t taken = chooseBlocks(blocks, lanes, wished, most), threads = taken * lanes;
    GroupCut cut = {{lanes, taken, 1}, 1, false};
    if (taken == blocks && threads < kLeastGroupThreads)
        cut.size[2] = smaller((kLeastGroupThreads + threads - 1) / threads, most / threads);
    const uint64_t angle_bytes = uint64_t{cut.size[2]} * (d.rotary_dim / 2) * 8; // a cosine and a sine
    cut.shares = device.shares && taken > 1 && d.source == ROPE_SOURCE_INLINE && angle_bytes <= limits.shared_bytes;
    return cut;
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
