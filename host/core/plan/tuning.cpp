// This file decides how a tensor's work is cut into threads. The one table is here; no bit depends on it.
//
// To cut threads otherwise: a row or a number of the table. Fused passes are fused/groups.cpp, relative vectors
// encodings/relative.cpp.
#include "plan/tuning.h"
#include "plan/tensor.h"

namespace rope {
namespace {

// A device takes the first row whose `threads` and `group_size` its limits reach. `few`, `many` and `halves` cut
// rotations: a group comes nearest to `group_size` threads, a thread has `heads` heads, and a lane has `pairs` pairs at
// most. Few tokens leave a GPU idle, so a thread takes little and ends soon. A thread takes more of many tokens.
// `halves` cuts many tokens of 16 bits whose cosines and sines lie in rows or a table, while a cache may hold them.
// `any` cuts fused passes, which keep their pipelines at any number of tokens, and additions, whose sequences are their
// heads. `bias` cuts biases.
const struct DeviceTuning {
    uint32_t threads, group_size;
    RopeTuning few, many, halves, any;
    bool shares;   // a group makes each angle once; a barrier costs the drivers of the last row more than the angles
    bool together; // Q goes with K and V; drivers for CPUs carry out every side of a branch by tensor
    struct {
        uint32_t threads; // of a group, at most
        uint32_t lanes;   // of a group
        uint32_t queries; // of a thread
        bool shares;      // a group finds each value once; a barrier costs drivers for CPUs more than the values
    } bias;
} kDeviceTunings[] = {
    {16384, 0, {128, 1, 4}, {320, 2, 4}, {128, 1, 8}, {128, 1, 8}, true, true, {256, 64, 4, true}}, // GPUs
    {0, 512, {256, 4, 8}, {256, 4, 8}, {256, 4, 8}, {256, 4, 8}, true, false, {256, 256, 16, false}},
    {0, 0, {64, 8, 8}, {64, 8, 8}, {64, 8, 8}, {64, 8, 8}, false, false, {64, 64, 64, false}},
};
constexpr uint64_t kManyTokens = 384;       // of all sequences
constexpr uint64_t kStreamedTokens = 16384; // more than a cache holds; not timed between 4096 and 32 768
constexpr uint32_t kMostGroupThreads = 256; // but where the table says more
constexpr uint32_t kLeastGroupThreads = 64;
constexpr uint32_t kMostGroupTokens = 64;
constexpr uint32_t kMostAddedBlocks = 8;
constexpr uint32_t kVectorThreads = 32; // threads of a subgroup: a group is counted up to whole subgroups

const DeviceTuning& deviceTuning(const RopeLimits& limits) {
    const DeviceTuning* row = kDeviceTunings;
    while (limits.threads < row->threads || limits.group_size < row->group_size) ++row;
    return *row;
}

const RopeTuning& rotationTuning(const HeadGeometry& g, const RopeLimits& limits) {
    const DeviceTuning& device = deviceTuning(limits);
    if (g.tokens == 0) return device.any;
    if (g.tokens < kManyTokens) return device.few;
    const bool floats = g.element == ROPE_ELEMENT_F32 || g.element_out == ROPE_ELEMENT_F32;
    return g.tokens >= kStreamedTokens || g.computes || floats ? device.many : device.halves;
}

uint32_t distance(uint32_t a, uint32_t b) { return a < b ? b - a : a - b; }

// Returns how many blocks of a token a group takes: the number that leaves the fewest threads idle, and among
// equal numbers the one whose group is nearest to `wished` threads.
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
    if (t.group_size <= limits.group_size) return ROPE_SUCCESS;
    return refuse(reason, ROPE_ERROR_INVALID, "tuning.group_size is %u; this device allows 1 to %u, or 0", t.group_size,
                  limits.group_size);
}

uint32_t lastTokensCutAlike(uint32_t sequences, uint32_t tokens) {
    const uint64_t batch = sequences != 0 ? sequences : 1;
    if (tokens * batch >= kStreamedTokens) return UINT32_MAX;
    const uint64_t next = tokens * batch < kManyTokens ? kManyTokens : kStreamedTokens;
    return static_cast<uint32_t>((next - 1) / batch);
}

bool takesTensorsTogether(const RopeLimits& limits) { return deviceTuning(limits).together; }

uint32_t lanePairsAtMost(const HeadGeometry& g, const RopeLimits& limits) {
    return g.tuning.pairs != 0 ? g.tuning.pairs : rotationTuning(g, limits).pairs;
}

uint32_t chooseRotationHeads(const HeadGeometry& g, uint32_t most, const RopeLimits& limits) {
    const uint32_t heads = g.tuning.heads != 0 ? g.tuning.heads : rotationTuning(g, limits).heads;
    return smaller(smaller(heads, most), ROPE_MAX_ROTATED_HEADS);
}

// A group takes one token, or several that make 64 threads, and all of a token's heads or some. A head
// of more lanes than a group has threads is cut anywhere, and then each thread makes its own angles.
GroupCut cutIntoGroups(const HeadGeometry& g, uint32_t blocks, uint32_t lanes, uint32_t most,
                       const RopeLimits& limits) {
    const DeviceTuning& device = deviceTuning(limits);
    const uint32_t given = g.tuning.group_size;
    const uint32_t wished = smaller(given != 0 ? given : rotationTuning(g, limits).group_size, most);
    if (lanes > most) return {{wished, 1, 1}, (lanes + wished - 1) / wished, false};
    const uint32_t taken = chooseBlocks(blocks, lanes, wished, most), threads = taken * lanes;
    GroupCut cut = {{lanes, taken, 1}, 1, false};
    if (taken == blocks && threads < kLeastGroupThreads)
        cut.size[2] = smaller((kLeastGroupThreads + threads - 1) / threads, most / threads);
    const uint64_t angle_bytes = uint64_t{cut.size[2]} * (g.rotary_dim / 2) * 8; // a cosine and a sine
    cut.shares = device.shares && taken > 1 && g.computes && angle_bytes <= limits.shared_bytes;
    return cut;
}

uint32_t largestGroup(const HeadGeometry& g, const RopeLimits& limits) {
    if (g.tuning.group_size != 0) return g.tuning.group_size;
    const uint32_t wished = rotationTuning(g, limits).group_size;
    return smaller(wished > kMostGroupThreads ? wished : kMostGroupThreads, limits.group_size);
}

void setGroupConstants(const GroupCut& cut, const ShaderVariant& variant, uint32_t lanes, uint32_t heads,
                       PlanPass* pass) {
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_HEAD_LANES] = lanes;
    constants[ROPE_ID_LANE_PARTS] = cut.lane_parts;
    constants[ROPE_ID_SHARES] = cut.shares;
    constants[ROPE_ID_QUADS] = variant.lane_pairs / 4;
    constants[ROPE_ID_BY_WORDS] = variant.by_words;
    constants[ROPE_ID_HEADS] = heads;
    setGroup(cut.size[0], cut.size[1], cut.size[2], pass);
    pass->lane_parts = cut.lane_parts;
    pass->heads_per_thread = heads;
    pass->address_unit = addressUnit(variant);
}

// A group has the table's number of lanes. It has fewer if a row is shorter, and more if there are too few queries
// for its other threads.
ScoreCut cutScores(uint32_t queries, uint32_t lanes, const RopeLimits& limits) {
    const auto& bias = deviceTuning(limits).bias;
    ScoreCut cut = {1, bias.queries, bias.shares, 0, 0};
    while (cut.threads * 2 <= smaller(bias.threads, limits.group_size)) cut.threads *= 2;
    const auto taken = [&cut] { return 1u << cut.lane_bits; };
    const auto has_idle_rows = [&] { return uint64_t{cut.threads} / taken() / 2 * cut.queries >= queries; };
    while (taken() < lanes && taken() < cut.threads && (taken() < bias.lanes || has_idle_rows())) ++cut.lane_bits;
    cut.lane_parts = (lanes - 1) / taken() + 1;
    return cut;
}

// A group takes up to eight blocks of sequences, and some or all of a token's lanes, or several tokens.
// Sequences are counted in powers of two, so that few batch sizes take another pipeline.
AdditionCut cutAddition(bool computes, uint32_t sequences, uint32_t lanes, uint32_t lane_pairs,
                        const RopeLimits& limits) {
    const DeviceTuning& device = deviceTuning(limits);
    const uint32_t wished = smaller(device.any.group_size, limits.group_size);
    const uint32_t taken = powerOfTwo(smaller(sequences, device.any.heads));
    uint32_t blocks = powerOfTwo(smaller(smaller(sequences / taken, kMostAddedBlocks), wished));
    const uint64_t angle_bytes = uint64_t{wished} / 2 * lane_pairs * 8; // a cosine and a sine, of two blocks or more
    if (computes && (!device.shares || angle_bytes > limits.shared_bytes)) blocks = 1;
    const uint32_t most = wished / blocks;
    const uint32_t parts = (lanes + most - 1) / most;
    const uint32_t step = kVectorThreads / blocks;
    uint32_t in_group = (lanes + parts - 1) / parts;
    if (parts > 1) in_group = smaller((in_group + step - 1) / step * step, most);
    const uint32_t tokens = parts > 1 ? 1 : smaller(most / in_group, kMostGroupTokens);
    return {{{in_group, blocks, tokens}, parts, computes && blocks > 1}, taken};
}

} // namespace rope
