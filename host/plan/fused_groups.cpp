// This file decides how many heads a thread of a fused pass takes, and how the threads are cut into groups. The lanes
// of a head that is normed or quantized meet in one group. With a norm over all heads, the lanes of a token do.
#include "plan/element_formats.h"
#include "plan/fused_dispatch.h"

namespace rope {
namespace {

constexpr uint32_t kMostNormedHeads = 16; // heads of a thread that are normed together: registers hold no more
constexpr uint32_t kIdleBytes = 64;       // of shared memory: each array of a stage that a dispatch lacks has one entry

uint32_t blocksOf(const FusedDispatch& dispatch, uint32_t heads_per_thread) {
    uint32_t blocks = 0;
    for (const FusedRole role : kFusedRoles) blocks += (dispatch.heads(role) + heads_per_thread - 1) / heads_per_thread;
    return blocks;
}

// The stages of a dispatch that take shared memory. Angles take some too.
struct SharedStages {
    bool norms, all_heads, integers, blocks;
    bool reduce() const { return norms || integers; }
};

SharedStages sharedStages(const FusedDispatch& dispatch) {
    SharedStages stages = {};
    for (const FusedTensor* t : dispatch.tensors) {
        if (t == nullptr) continue;
        stages.norms = stages.norms || t->norm.kind != ROPE_NORM_NONE;
        stages.all_heads = stages.all_heads || normsAllHeads(*t);
        stages.integers = stages.integers || isForCaches(*t);
        stages.blocks = stages.blocks || formatOf(t->d.element_out).scale == ElementScale::kInBlock;
    }
    return stages;
}

// Returns the bytes of shared memory of a group, as the arrays of norms.glsl, integers.glsl and angles.glsl have them.
uint64_t sharedBytes(const FusedDispatch& dispatch, const SharedStages& stages, const GroupCut& cut, uint32_t heads) {
    const RopeRotateDescription& d = dispatch.first().d;
    const uint64_t quads = d.head_dim / 4, fours = (quads + 3) / 4;
    uint64_t words = 0; // of an entry: a head of a token
    if (stages.norms) words += fours * 4;
    if (stages.all_heads) words += 1;
    if (stages.integers) words += fours * 4;
    if (stages.blocks) words += quads + d.head_dim / ROPE_Q8_0_ELEMENTS;
    const uint64_t angles = cut.shares ? uint64_t{cut.size[2]} * (d.rotary_dim / 2) * 2 : 0;
    return (uint64_t{cut.size[1]} * cut.size[2] * heads * words + angles) * sizeof(uint32_t);
}

RopeResult refuseGroup(const FusedDispatch& dispatch, const SharedStages& stages, const RopeLimits& limits,
                       RopeReason* reason) {
    const FusedTensor* tensor = nullptr; // that takes the most together
    for (const FusedTensor* t : dispatch.tensors) {
        if (t != nullptr && reducesOverHead(*t) && (tensor == nullptr || t->heads > tensor->heads)) tensor = t;
    }
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "%s: %llu elements normed or quantized together take more than the %u threads or %u bytes of shared "
                  "memory of a group; use fewer heads or smaller ones",
                  tensor->name, (stages.all_heads ? tensor->heads : 1ull) * tensor->d.head_dim, limits.group_size,
                  limits.shared_bytes);
}

// Cuts a dispatch whose heads meet in groups: fewer heads in a group, then fewer in a thread, take less memory. A norm
// over all heads takes more heads in a thread, until a token is one group.
bool cutStages(const FusedDispatch& dispatch, const SharedStages& stages, uint32_t lanes, const RopeLimits& limits,
               uint32_t* heads, GroupCut* cut) {
    const RopeRotateDescription& d = dispatch.first().d;
    if (lanes > limits.group_size) return false;
    if (stages.all_heads) {
        while (lanes * blocksOf(dispatch, *heads) > limits.group_size && *heads < kMostNormedHeads) *heads *= 2;
        const uint32_t blocks = blocksOf(dispatch, *heads);
        if (blocks > kMostGroupBlocks || lanes * blocks > limits.group_size) return false;
        *cut = cutIntoGroups(d, blocks, lanes, lanes * blocks, limits);
        cut->size[1] = blocks;
        cut->size[2] = 1;
        return sharedBytes(dispatch, stages, *cut, *heads) <= limits.shared_bytes;
    }
    for (;; *heads /= 2) {
        for (uint32_t most = largestGroup(d, limits) > lanes ? largestGroup(d, limits) : lanes;; most /= 2) {
            if (most < lanes) most = lanes;
            *cut = cutIntoGroups(d, blocksOf(dispatch, *heads), lanes, most, limits);
            if (sharedBytes(dispatch, stages, *cut, *heads) <= limits.shared_bytes) return true;
            if (most == lanes) break;
        }
        if (*heads == 1) return false;
    }
}

} // namespace

RopeResult setFusedGroups(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits,
                          RopePass* pass, RopeReason* reason) {
    const FusedTensor& t = dispatch.first();
    const SharedStages stages = sharedStages(dispatch);
    RopeLimits left = limits;
    left.shared_bytes -= limits.shared_bytes < kIdleBytes ? limits.shared_bytes : kIdleBytes;
    bool moves = false;
    uint32_t most_heads = 0;
    for (const FusedTensor* tensor : dispatch.tensors) {
        if (tensor == nullptr) continue;
        moves = moves || movesWholeHead(*tensor);
        if (tensor->heads > most_heads) most_heads = tensor->heads;
    }
    const uint32_t pairs = t.turned ? t.d.rotary_dim / 2 : 0;
    const uint32_t pair_lanes = t.turned ? pairLanes(t.d, variant) : 0;
    const uint32_t copied = moves ? t.d.head_dim - 2 * pairs : 0;
    const uint32_t lanes = pair_lanes + copyLanes(copied, variant);
    uint32_t heads = variant.lane_pairs >= 4 ? chooseRotationHeads(t.d, most_heads, limits) : 1;
    GroupCut cut;
    if (!stages.reduce()) {
        cut = cutIntoGroups(t.d, blocksOf(dispatch, heads), lanes, largestGroup(t.d, limits), left);
    } else if (!cutStages(dispatch, stages, lanes, left, &heads, &cut)) {
        return refuseGroup(dispatch, stages, limits, reason);
    }
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_PAIR_COUNTS] = pairs | pair_lanes << 16;
    constants[ROPE_ID_ROTARY_BEGIN] = t.turned ? t.d.rotary_begin : 0;
    constants[ROPE_ID_PASS_ELEMENTS] = copied;
    constants[ROPE_ID_HEAD_QUADS] = stages.reduce() ? t.d.head_dim / 4 : 1;
    constants[ROPE_ID_Q_HEADS] = dispatch.heads(kQ);
    constants[ROPE_ID_K_HEADS] = dispatch.heads(kK);
    constants[ROPE_ID_V_HEADS] = dispatch.heads(kV);
    setGroupConstants(cut, variant, lanes, heads, pass);
    constants[ROPE_ID_SHARES] = cut.shares && t.turned && variant.lane_pairs >= 4;
    pass->blocks = blocksOf(dispatch, heads);
    return ROPE_SUCCESS;
}

} // namespace rope
