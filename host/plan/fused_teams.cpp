// The threads of a fused pass: teams whose lanes hold a head between them, and groups of whole teams.
#include "plan/fused_dispatch.h"

namespace rope {
namespace {

constexpr uint32_t kMostSharedHeads = 8; // heads of a team that share memory: more gain nothing

uint32_t groupsOf(uint32_t heads, uint32_t per_thread) { return (heads + per_thread - 1) / per_thread; }

// Of a token, in teams of so many heads; K's and V's are never in one team.
uint32_t lanesOfToken(const FusedDispatch& dispatch, uint32_t head_lanes, uint32_t heads) {
    const uint32_t v_heads = dispatch.v != nullptr ? dispatch.v->heads : 0;
    return head_lanes * (groupsOf(dispatch.tensor.heads, heads) + groupsOf(v_heads, heads));
}

struct Teams {
    uint32_t heads;      // of one team
    uint32_t group_size; // whole teams
};

uint32_t sharedBytes(const FusedTensor& t, const Teams& teams, uint32_t head_lanes) {
    const uint32_t runs = t.d.head_dim / 4;
    const ElementFormat& format = formatOf(t.d.element_out);
    const uint32_t blocks = format.scale == ElementScale::kInBlock ? t.d.head_dim / format.block_elements : 1;
    return teams.group_size / head_lanes * teams.heads * (runs + 2 + 2 * blocks) * 4;
}

// Heads of a team, and teams of a group: a head's lanes meet in shared memory, and with a norm over all heads a
// token's.
RopeResult chooseTeams(const FusedDispatch& dispatch, uint32_t head_lanes, const RopeLimits& limits, Teams* teams,
                       RopeReason* reason) {
    const FusedTensor& t = dispatch.tensor;
    const uint32_t full = teams->group_size;
    const bool all = t.norm.kind != ROPE_NORM_NONE && t.norm.all_heads != 0;
    for (;; teams->heads = all ? teams->heads * 2 : teams->heads / 2) {
        const uint32_t unit = all ? lanesOfToken(dispatch, head_lanes, teams->heads) : head_lanes;
        teams->group_size = unit < full ? full / unit * unit : unit;
        if (unit > limits.group_size) {
            if (all && teams->heads < t.heads) continue;
            break;
        }
        if (teams->group_size > limits.group_size) teams->group_size = limits.group_size / unit * unit;
        if (sharedBytes(t, *teams, head_lanes) <= limits.shared_bytes) return ROPE_SUCCESS;
        if (teams->group_size > unit) {
            teams->group_size = unit;
            if (sharedBytes(t, *teams, head_lanes) <= limits.shared_bytes) return ROPE_SUCCESS;
        }
        if (all || teams->heads == 1) break;
    }
    return refuse(reason, ROPE_ERROR_TOO_LARGE,
                  "%s: %llu elements normed or quantized together take more than the %u threads or %u bytes of shared "
                  "memory of a group; use fewer heads or smaller ones",
                  t.name, (all ? t.heads : 1ull) * t.d.head_dim, limits.group_size, limits.shared_bytes);
}

} // namespace

RopeResult setTeams(const FusedDispatch& dispatch, const Build& build, const RopeLimits& limits, RopePass* pass,
                    RopeReason* reason) {
    const FusedTensor& t = dispatch.tensor;
    const uint32_t pairs = t.turned ? t.d.rotary_dim / 2 : 0;
    const uint32_t pair_lanes = t.turned ? pairLanes(t.d, build) : 0;
    const uint32_t passed = movesWholeHead(t) ? t.d.head_dim - 2 * pairs : 0;
    const uint32_t head_lanes = pair_lanes + passLanes(passed, build);
    const uint32_t v_heads = dispatch.v != nullptr ? dispatch.v->heads : 0;
    uint32_t* constants = pass->constants;
    const RopeTuning tuning = chooseTuning(t.d, t.heads + v_heads, head_lanes, false, limits);
    Teams teams = {looksAtWholeHeads(t) && tuning.heads > kMostSharedHeads ? kMostSharedHeads : tuning.heads,
                   tuning.group_size};
    RopeResult result = ROPE_SUCCESS;
    if (looksAtWholeHeads(t)) result = chooseTeams(dispatch, head_lanes, limits, &teams, reason);
    if (result != ROPE_SUCCESS) return result;
    constants[ROPE_ID_HEADS] = teams.heads;
    constants[ROPE_ID_GROUP_SIZE] = teams.group_size;
    constants[ROPE_ID_PAIR_COUNTS] = pairs | pair_lanes << 16;
    constants[ROPE_ID_ROTARY_BEGIN] = t.turned ? t.d.rotary_begin : 0;
    constants[ROPE_ID_PASS_ELEMENTS] = passed;
    constants[ROPE_ID_HEAD_LANES] = head_lanes;
    constants[ROPE_ID_TURNED_HEADS] = t.heads;
    constants[ROPE_ID_ALL_HEADS] = t.heads + v_heads;
    constants[ROPE_ID_RUNS] = looksAtWholeHeads(t) ? t.d.head_dim / 4 : 1;
    pass->head_lanes = lanesOfToken(dispatch, head_lanes, teams.heads);
    return result;
}

} // namespace rope
