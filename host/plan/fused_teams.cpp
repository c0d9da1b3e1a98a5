// This file decides the threads of a fused pass. A team is the threads whose lanes hold a head between them. A
// workgroup has whole teams.
#include "plan/element_formats.h"
#include "plan/fused_dispatch.h"

namespace rope {
namespace {

constexpr uint32_t kMaxTeamHeads = 8; // heads of a team that shares memory: more heads gain nothing

// Returns the groups of heads, each taken by one team.
uint32_t headGroups(uint32_t heads, uint32_t per_thread) { return (heads + per_thread - 1) / per_thread; }

// Returns the lanes of a token, whose teams take so many heads each. No team takes heads of both K and V.
uint32_t tokenLanes(const FusedDispatch& dispatch, uint32_t head_lanes, uint32_t heads) {
    const uint32_t v_heads = dispatch.v != nullptr ? dispatch.v->heads : 0;
    return head_lanes * (headGroups(dispatch.tensor.heads, heads) + headGroups(v_heads, heads));
}

// A choice of teams for one dispatch.
struct Teams {
    uint32_t heads;      // heads that one team takes
    uint32_t group_size; // threads of a workgroup, which has whole teams
};

// Returns the bytes of shared memory of a workgroup. Each head has a word for each vector, one for its sum, one for its
// factor, and two for each block's scale.
uint32_t sharedBytes(const FusedTensor& t, const Teams& teams, uint32_t head_lanes) {
    const uint32_t vectors = t.d.head_dim / 4;
    const ElementFormat& format = formatOf(t.d.element_out);
    const uint32_t blocks = format.scale == ElementScale::kInBlock ? t.d.head_dim / format.block_elements : 1;
    return teams.group_size / head_lanes * teams.heads * (vectors + 2 + 2 * blocks) * 4;
}

// Chooses the heads of a team and the teams of a workgroup. The lanes of a head meet in shared memory; with a norm over
// all heads, the lanes of a token do. Fewer heads in a team take less memory. With a norm over all heads, more heads in
// a team take fewer threads.
RopeResult chooseTeams(const FusedDispatch& dispatch, uint32_t head_lanes, const RopeLimits& limits, Teams* teams,
                       RopeReason* reason) {
    const FusedTensor& t = dispatch.tensor;
    const uint32_t wanted_group_size = teams->group_size;
    const bool all_heads = t.norm.kind != ROPE_NORM_NONE && t.norm.all_heads != 0;
    for (;; teams->heads = all_heads ? teams->heads * 2 : teams->heads / 2) {
        const uint32_t unit = all_heads ? tokenLanes(dispatch, head_lanes, teams->heads) : head_lanes;
        teams->group_size = unit < wanted_group_size ? wanted_group_size / unit * unit : unit;
        if (unit > limits.group_size) {
            if (all_heads && teams->heads < t.heads) continue;
            break;
        }
        if (teams->group_size > limits.group_size) teams->group_size = limits.group_size / unit * unit;
        if (sharedBytes(t, *teams, head_lanes) <= limits.shared_bytes) return ROPE_SUCCESS;
        if (teams->group_size > unit) {
            teams->group_size = unit;
            if (sharedBytes(t, *teams, head_lanes) <= limits.shared_bytes) return ROPE_SUCCESS;
        }
        if (all_heads || teams->heads == 1) break;
    }
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "%s: %llu elements normed or quantized together take more than the %u threads or %u bytes of shared "
                  "memory of a group; use fewer heads or smaller ones",
                  t.name, (all_heads ? t.heads : 1ull) * t.d.head_dim, limits.group_size, limits.shared_bytes);
}

} // namespace

RopeResult setTeams(const FusedDispatch& dispatch, const ShaderVariant& variant, const RopeLimits& limits,
                    RopePass* pass, RopeReason* reason) {
    const FusedTensor& t = dispatch.tensor;
    const uint32_t pairs = t.turned ? t.d.rotary_dim / 2 : 0;
    const uint32_t pair_lanes = t.turned ? pairLanes(t.d, variant) : 0;
    const uint32_t copied = movesWholeHead(t) ? t.d.head_dim - 2 * pairs : 0;
    const uint32_t head_lanes = pair_lanes + copyLanes(copied, variant);
    const uint32_t v_heads = dispatch.v != nullptr ? dispatch.v->heads : 0;
    uint32_t* constants = pass->constants;
    const RopeTuning tuning = chooseTuning(t.d, t.heads + v_heads, head_lanes, limits);
    Teams teams = {reducesOverHead(t) && tuning.heads > kMaxTeamHeads ? kMaxTeamHeads : tuning.heads,
                   tuning.group_size};
    RopeResult result = ROPE_SUCCESS;
    if (reducesOverHead(t)) result = chooseTeams(dispatch, head_lanes, limits, &teams, reason);
    if (result != ROPE_SUCCESS) return result;
    constants[ROPE_ID_HEADS] = teams.heads;
    pass->group_size = teams.group_size;
    constants[ROPE_ID_PAIR_COUNTS] = pairs | pair_lanes << 16;
    constants[ROPE_ID_ROTARY_BEGIN] = t.turned ? t.d.rotary_begin : 0;
    constants[ROPE_ID_PASS_ELEMENTS] = copied;
    constants[ROPE_ID_HEAD_LANES] = head_lanes;
    constants[ROPE_ID_TURNED_HEADS] = t.heads;
    constants[ROPE_ID_ALL_HEADS] = t.heads + v_heads;
    constants[ROPE_ID_RUNS] = reducesOverHead(t) ? t.d.head_dim / 4 : 1;
    pass->head_lanes = tokenLanes(dispatch, head_lanes, teams.heads);
    return result;
}

} // namespace rope
