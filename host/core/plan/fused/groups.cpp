// This file decides how many heads a thread of a fused pass takes, and how the threads are cut into groups. The lanes
// of a head that is normed or quantized meet in one group. With a norm over all heads, the lanes of a token do.
#include "plan/fused/groups.h"
#include "plan/element_formats.h"
#include "plan/fused/dispatch.h"
#include "plan/fused/norms.h"
#include "plan/fused/resolve.h"
#include "plan/tuning.h"

namespace rope {
namespace {

constexpr uint32_t kMostNormedHeads = 16; // heads of a thread that are normed together: registers hold no more
constexpr uint32_t kIdleBytes = 76;       // of shared memory: each array of a stage that a dispatch lacks has one entry

uint32_t divideUp(uint32_t count, uint32_t by) { return (count + by - 1) / by; }

// The elements of a head that its lanes copy, and its lanes: those of pairs, which all tensors have, and those that
// copy.
struct HeadLanes {
    uint32_t copied, lanes;
};

// The lanes of a dispatch's heads. V has K's. A row of a group has the lanes of the widest head, and as many blocks of
// a narrower one as it holds.
struct DispatchLanes {
    HeadLanes q, kv;
    bool widths; // heads differ
    bool parts;  // the widest head takes several groups
    uint32_t widest() const { return larger(q.lanes, kv.lanes); }
    uint32_t rowBlocks(FusedRole role) const { return widths && !parts ? widest() / (role == kQ ? q : kv).lanes : 1; }
    uint32_t mostRowBlocks() const { return larger(rowBlocks(kQ), rowBlocks(kK)); }
};

bool differInWidth(const FusedTensor& a, const FusedTensor& b) {
    return a.d.head_dim != b.d.head_dim || (a.turned && a.d.rotary_begin != b.d.rotary_begin);
}

// Heads of one width all copy, if those of one tensor do. Where pairs are relayed, a lane holds two quads, and some
// lanes turn pairs too.
DispatchLanes lanesOf(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits) {
    const FusedTensor *q = dispatch.tensors[kQ], *k = dispatch.tensors[kK], *v = dispatch.tensors[kV];
    const FusedTensor *kv = k != nullptr ? k : v, &first = dispatch.first();
    DispatchLanes all = {};
    all.widths = q != nullptr && kv != nullptr && differInWidth(*q, *kv);
    const bool q_moves = q != nullptr && movesWholeHead(*q);
    const bool kv_moves = (k != nullptr && movesWholeHead(*k)) || (v != nullptr && movesWholeHead(*v));
    const uint32_t rotary = first.turned ? first.d.rotary_dim : 0;
    const uint32_t pair_lanes = first.turned ? pairLanes(first.d, variant) : 0;
    const bool relays = relaysPairs(dispatch, variant);
    const auto lanes_of = [&](const FusedTensor* t, bool moves) -> HeadLanes {
        if (t == nullptr) return {0, 0};
        const uint32_t copied = (all.widths ? moves : q_moves || kv_moves) ? t->d.head_dim - rotary : 0;
        if (relays) return {copied, larger(divideUp(t->d.head_dim, 8), pair_lanes)};
        return {copied, pair_lanes + copyLanes(copied, first.turned ? t->d.rotary_begin : 0, variant)};
    };
    all.q = lanes_of(q, q_moves);
    all.kv = lanes_of(kv, kv_moves);
    bool reduces = relays; // such a head is never cut
    for (const FusedTensor* t : dispatch.tensors) reduces = reduces || (t != nullptr && reducesOverHead(*t));
    all.parts = !reduces && all.widest() > largestGroup(first.d, limits);
    return all;
}

uint32_t rowsOf(const FusedDispatch& dispatch, const DispatchLanes& lanes, uint32_t heads_per_thread) {
    uint32_t rows = 0;
    for (const FusedRole role : kFusedRoles)
        if (dispatch.has(role))
            rows += divideUp(divideUp(dispatch.heads(role), heads_per_thread), lanes.rowBlocks(role));
    return rows;
}

// The stages of a dispatch that take shared memory. Angles take some too.
struct SharedStages {
    bool norms, all_heads, centered, integers, minima, blocks;
    uint32_t relayed; // elements of the widest head whose pairs go through shared memory
    bool reduce() const { return norms || integers || relayed != 0; }
};

SharedStages sharedStages(const FusedDispatch& dispatch, const ShaderVariant& variant) {
    SharedStages stages = {};
    for (const FusedTensor* t : dispatch.tensors) {
        if (t == nullptr) continue;
        stages.norms = stages.norms || isNormed(*t);
        stages.centered = stages.centered || t->norm.kind == ROPE_NORM_LAYER;
        stages.all_heads = stages.all_heads || normsAllHeads(*t);
        if (relaysPairs(dispatch, variant) && t->d.head_dim > stages.relayed) stages.relayed = t->d.head_dim;
        stages.integers = stages.integers || findsScales(*t);
        stages.minima = stages.minima || formatOf(t->d.element_out).minimum;
        stages.blocks = stages.blocks || formatOf(t->d.element_out).scale == ElementScale::kInBlock;
    }
    return stages;
}

// Returns the words that the heads of K or V in a row take to become integers: those of Q beside them take none.
uint64_t cacheWords(const FusedDispatch& dispatch, const SharedStages& stages, const DispatchLanes& lanes) {
    if (!stages.integers) return 0;
    const FusedRole role = dispatch.has(kK) ? kK : kV;
    const uint64_t head_dim = dispatch.tensors[role]->d.head_dim, quads = head_dim / 4;
    uint64_t words = (quads + 3) / 4 * (stages.minima ? 8 : 4);
    if (stages.blocks) words += quads;
    return words * lanes.rowBlocks(role);
}

// Returns the bytes of shared memory of a group, as the arrays of norms.glsl, integers.glsl and angles.glsl have them.
uint64_t sharedBytes(const FusedDispatch& dispatch, const SharedStages& stages, const DispatchLanes& lanes,
                     const GroupCut& cut, uint32_t heads) {
    uint64_t words = 0; // of an entry: a head of a token
    if (stages.norms) words += uint64_t{(normQuads(dispatch) + 3) / 4} * (stages.centered ? 8 : 4);
    if (stages.all_heads) words += 1;
    words += stages.relayed;
    const uint64_t row_heads = uint64_t{cut.size[1]} * cut.size[2] * heads; // where each row has one block
    const uint64_t angles = cut.shares ? uint64_t{cut.size[2]} * (dispatch.first().d.rotary_dim / 2) * 2 : 0;
    const uint64_t all = row_heads * (lanes.mostRowBlocks() * words + cacheWords(dispatch, stages, lanes)) + angles;
    return all * sizeof(uint32_t);
}

RopeResult refuseGroup(const FusedDispatch& dispatch, const SharedStages& stages, const RopeLimits& limits,
                       RopeReason* reason) {
    const auto meets = [&](const FusedTensor& t) { return stages.relayed != 0 || reducesOverHead(t); };
    const FusedTensor* tensor = &dispatch.first(); // that takes the most together
    for (const FusedTensor* t : dispatch.tensors)
        if (t != nullptr && meets(*t) && (!meets(*tensor) || t->heads > tensor->heads)) tensor = t;
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "%s: %llu elements %s together take more than the %u threads or %u bytes of shared "
                  "memory of a group; use fewer heads or smaller ones",
                  tensor->name, (stages.all_heads ? tensor->heads : 1ull) * tensor->d.head_dim,
                  stages.norms || stages.integers ? "normed or quantized" : "exchanged", limits.group_size,
                  limits.shared_bytes);
}

// Cuts a dispatch whose heads meet in groups: fewer heads in a group, then fewer in a thread, take less memory. A norm
// over all heads takes more heads in a thread, until a token is one group.
bool cutStages(const FusedDispatch& dispatch, const SharedStages& stages, const DispatchLanes& all,
               const RopeLimits& limits, uint32_t* heads, GroupCut* cut) {
    const RopeRotateDescription& d = dispatch.first().d;
    const uint32_t lanes = all.widest();
    if (lanes > limits.group_size) return false;
    if (stages.all_heads) {
        while (lanes * rowsOf(dispatch, all, *heads) > limits.group_size && *heads < kMostNormedHeads) *heads *= 2;
        const uint32_t blocks = rowsOf(dispatch, all, *heads);
        if (blocks > kMostGroupBlocks || lanes * blocks > limits.group_size) return false;
        *cut = cutIntoGroups(d, blocks, lanes, lanes * blocks, limits);
        cut->size[1] = blocks;
        cut->size[2] = 1;
        return sharedBytes(dispatch, stages, all, *cut, *heads) <= limits.shared_bytes;
    }
    for (;; *heads /= 2) {
        for (uint32_t most = largestGroup(d, limits) > lanes ? largestGroup(d, limits) : lanes;; most /= 2) {
            if (most < lanes) most = lanes;
            *cut = cutIntoGroups(d, rowsOf(dispatch, all, *heads), lanes, most, limits);
            if (sharedBytes(dispatch, stages, all, *cut, *heads) <= limits.shared_bytes) return true;
            if (most == lanes) break;
        }
        if (*heads == 1) return false;
    }
}

} // namespace

bool canShareRows(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits) {
    const DispatchLanes lanes = lanesOf(dispatch, variant, limits);
    return !lanes.widths ||
           (!sharedStages(dispatch, variant).all_heads && lanes.widest() <= largestGroup(dispatch.first().d, limits));
}

RopeResult setFusedGroups(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits,
                          RopePass* pass, RopeReason* reason) {
    const FusedTensor& t = dispatch.first();
    const SharedStages stages = sharedStages(dispatch, variant);
    RopeLimits left = limits;
    left.shared_bytes -= limits.shared_bytes < kIdleBytes ? limits.shared_bytes : kIdleBytes;
    uint32_t most_heads = 0;
    for (const FusedTensor* tensor : dispatch.tensors)
        if (tensor != nullptr && tensor->heads > most_heads) most_heads = tensor->heads;
    const uint32_t pairs = t.turned ? t.d.rotary_dim / 2 : 0;
    const uint32_t pair_lanes = t.turned ? pairLanes(t.d, variant) : 0;
    const DispatchLanes lanes = lanesOf(dispatch, variant, limits);
    uint32_t heads = chooseRotationHeads(t.d, most_heads, limits);
    GroupCut cut;
    if (!stages.reduce())
        cut = cutIntoGroups(t.d, rowsOf(dispatch, lanes, heads), lanes.widest(), largestGroup(t.d, limits), left);
    else if (!cutStages(dispatch, stages, lanes, left, &heads, &cut))
        return refuseGroup(dispatch, stages, limits, reason);
    uint32_t* constants = pass->constants;
    constants[ROPE_ID_PAIR_COUNTS] = pairs | pair_lanes << 16;
    constants[ROPE_ID_ROTARY_BEGIN] = t.turned ? t.d.rotary_begin : 0;
    constants[ROPE_ID_PASS_ELEMENTS] = (t.role == kQ ? lanes.q : lanes.kv).copied;
    constants[ROPE_ID_RELAYED] = stages.relayed;
    constants[ROPE_ID_HEAD_QUADS] = stages.norms ? normQuads(dispatch) : 1;
    constants[ROPE_ID_Q_HEADS] = dispatch.heads(kQ);
    constants[ROPE_ID_K_HEADS] = dispatch.heads(kK);
    constants[ROPE_ID_V_HEADS] = dispatch.heads(kV);
    setGroupConstants(cut, variant, lanes.widest(), heads, pass);
    constants[ROPE_ID_SHARES] = cut.shares && t.turned;
    pass->blocks = rowsOf(dispatch, lanes, heads);
    if (!lanes.widths) return ROPE_SUCCESS;
    constants[ROPE_ID_Q_LANES] = lanes.q.lanes;
    constants[ROPE_ID_K_LANES] = lanes.kv.lanes;
    constants[ROPE_ID_K_ROTARY_BEGIN] = t.turned ? dispatch.tensors[kK]->d.rotary_begin : 0;
    constants[ROPE_ID_K_PASS_ELEMENTS] = lanes.kv.copied;
    return ROPE_SUCCESS;
}

} // namespace rope
