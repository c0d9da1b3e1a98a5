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
#include "lanes.glsl"

#if ROPE_LANE == 4
Turn turn_at(uint step, Turn turn, Turn other) {
    bvec4 others = bvec4(is_other(step));
    return Turn(mix(turn.cosine, other.cosine, others), mix(turn.sine, other.sine, others));
}
#else
Turn turn_at(uint step, Turn turn, Turn other) { return turn; }
#endif

// The one loop over the heads. Ahead by one, each lane's elements are loaded before those of the one before are stored.
void move_heads(uint heads, uint from_head, Runs from, uint to_head, Runs to, bool paired, bool turned, Turn turn,
                Turn other) {
    bool as_is = kSameElement && !turned;
    WORDS next_first = WORDS(0u);
    WORDS next_second = WORDS(0u);
    uint steps = heads * kLanes;
    for (uint step = 0u; step < steps + kAhead; ++step) {
        WORDS first = next_first;
        WORDS second = next_second;
        if (kAhead == 0u || step < steps) {
#if ROPE_LANE == 4
            next_first = load(from_head + from.low, from.low_count);
            next_second = load(from_head + from.high, from.high_count);
#else // the code once, for a size that hosts pay
            for (uint run = 0u; run < 2u; ++run) {
                next_first = next_second;
                next_second = load(from_head + (run == 0u ? from.low : from.high),
                                   run == 0u ? from.low_count : from.high_count);
            }
#endif
            from_head = next_place(from_head, step, kChunkIn, push.source.head);
        }
        if (kAhead == 0u) {
            first = next_first;
            second = next_second;
        } else if (step == 0u) {
            continue;
        }
        widen_runs(as_is, first, second);
        turn_runs(paired, turned, turn_at(step - kAhead, turn, other), first, second);
        narrow_runs(as_is, first, second);
#if ROPE_LANE == 4
        store(to_head + to.low, first, to.low_count);
        store(to_head + to.high, second, to.high_count);
#else
        for (uint run = 0u; run < 2u; ++run) {
            store(to_head + (run == 0u ? to.low : to.high), first, run == 0u ? to.low_count : to.high_count);
            first = second;
        }
#endif
        to_head = next_place(to_head, step - kAhead, kChunkOut, push.destination.head);
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
    Turn other = turn;
    bool paired = kInPlace != 0u || lane < pair_lanes(); // in place, nothing else is moved
    bool turned = paired;
    Runs source_runs;
    Runs destination_runs;
    if (paired) {
        Token token = find_token(batch, number);
        bool turns = is_known(token) && token.turns;
        if (!turns && kInPlace != 0u) return;
        turned = kInPlace != 0u || turns;
        source_runs = runs_of(work.j, work.count, kChunkIn);
        destination_runs = runs_of(work.j, work.count, kChunkOut);
        uint row = batch * push.rows.batch + number * push.rows.token;
#if ROPE_LANE == 4
        work.j += (kLanes - 1u) * kLane * push.head_lanes;
        for (uint i = 0u; i < kLanes && turns; ++i) { // the other lane first
            other = turn;
            turn = turn_of(token, row, work);
            work.j -= kLane * push.head_lanes;
        }
#else
        if (turns) turn = turn_of(token, row, work);
#endif
    } else {
        source_runs = pass_runs(lane - pair_lanes());
        destination_runs = source_runs;
    }
    move_heads(work.heads, stand.from, source_runs, stand.to, destination_runs, paired, turned, turn, other);
}
