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
const uint kAhead = kInFlight - 1u;
#else
const uint kAhead = 0u;
#endif

// The one loop over the heads. Ahead by one, each head is loaded before the one before it is stored.
void move_heads(Work work, uint from_head, Runs from, uint to_head, Runs to, bool paired, bool turned, Turn turn) {
    bool as_is = kSameElement && !turned;
    WORDS next_first = WORDS(0u);
    WORDS next_second = WORDS(0u);
    for (uint h = 0u; h < work.heads + kAhead; ++h) {
        WORDS first = next_first;
        WORDS second = next_second;
        if (kAhead == 0u || h < work.heads) {
            next_first = load(from_head + from.low, from.low_count);
            next_second = load(from_head + from.high, from.high_count);
            from_head += push.source.head;
        }
        if (kAhead == 0u) {
            first = next_first;
            second = next_second;
        } else if (h == 0u) {
            continue;
        }
        widen_runs(as_is, first, second);
        turn_runs(paired, turned, turn, first, second);
        narrow_runs(as_is, first, second);
        store(to_head + to.low, first, to.low_count);
        store(to_head + to.high, second, to.high_count);
        to_head += push.destination.head;
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
