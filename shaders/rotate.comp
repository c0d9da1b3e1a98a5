// The rotation: one thread takes kLane pairs of one token through up to kHeads heads, so that cos and sin are found once
// for all of them. Elsewhere, further lanes bring over what does not rotate.
#version 450
#extension GL_GOOGLE_include_directive : require
#if ROPE_LANE == 1
#extension GL_EXT_shader_16bit_storage : require
#endif
#include "start.glsl"
#include "angle.h"
#include "position.glsl"
#include "frequency.glsl"
#include "words.glsl"
#include "rows.glsl"
#include "turn.glsl"
#include "stand.glsl"

#if ROPE_LANE == 4
layout(constant_id = ROPE_ID_IN_FLIGHT) const uint kInFlight = 1;
#else
const uint kInFlight = 1u;
#endif

// The one loop over the heads. Of two in flight both are loaded before the first is stored.
void move_heads(Work work, uint from_head, Runs from, uint to_head, Runs to, bool paired, bool turned, Turn turn) {
    for (uint h = 0u; h < kHeads; h += kInFlight) {
        if (h >= work.heads) break;
        uint left = min(kInFlight, work.heads - h);
        WORDS first, second;
        WORDS last_first = WORDS(0u);
        WORDS last_second = WORDS(0u);
        for (uint i = 0u; i < kInFlight; ++i) {
            if (i >= left) break;
            first = last_first;
            second = last_second;
            last_first = load(from_head + from.low, from.low_count);
            last_second = load(from_head + from.high, from.high_count);
            from_head += push.source.head;
        }
        for (uint i = 0u; i < kInFlight; ++i) {
            if (i >= left) break;
            if (kInFlight == 1u || i + 1u == left) {
                first = last_first;
                second = last_second;
            }
            widen_runs(first, second);
            turn_runs(paired, turned, turn, first, second);
            narrow_runs(first, second);
            store(to_head + to.low, first, to.low_count);
            store(to_head + to.high, second, to.high_count);
            to_head += push.destination.head;
        }
    }
}

void main() {
    push = given;
    Stand stand = find_stand();
    uint number = stand.number;
    uint lane = stand.lane;
    uint batch = gl_WorkGroupID.y;
    if (number >= push.tokens) return;
    Work work = work_of(lane, min(kHeads, push.heads - stand.head));
    Turn turn = Turn(VALUES(1.0), VALUES(0.0));
    bool paired = kInPlace != 0u || lane < pair_lanes(); // in place, nothing else is moved
    bool turned = paired;
    Runs source_runs;
    Runs destination_runs;
    if (paired) {
        Token token = find_token(batch, number);
        bool turns = is_known(token) && token.turns;
        if (!turns && kInPlace != 0u) return;
        turned = kInPlace != 0u || turns;
        if (turns) turn = turn_of(token, batch * push.rows.batch + number * push.rows.token, work);
        source_runs = runs_of(work.j, work.count, kChunkIn);
        destination_runs = runs_of(work.j, work.count, kChunkOut);
    } else {
        source_runs = pass_runs(lane - pair_lanes());
        destination_runs = source_runs;
    }
    move_heads(work, stand.from, source_runs, stand.to, destination_runs, paired, turned, turn);
}
