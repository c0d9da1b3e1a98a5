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

void load_runs(uint at, Runs runs, out WORDS first, out WORDS second) {
#if ROPE_LANE == 4
    first = load(at + runs.low, runs.low_count);
    second = load(at + runs.high, runs.high_count);
#else // the code once, for a size that hosts pay
    for (uint run = 0u; run < 2u; ++run) {
        first = second;
        second = load(at + (run == 0u ? runs.low : runs.high), run == 0u ? runs.low_count : runs.high_count);
    }
#endif
}

void store_runs(uint at, Runs runs, WORDS first, WORDS second) {
#if ROPE_LANE == 4
    store(at + runs.low, first, runs.low_count);
    store(at + runs.high, second, runs.high_count);
#else
    for (uint run = 0u; run < 2u; ++run) {
        store(at + (run == 0u ? runs.low : runs.high), first, run == 0u ? runs.low_count : runs.high_count);
        first = second;
    }
#endif
}

// The one loop over the heads: from pairs of the one pairing to those of the other, without a turn as integers. Of two
// heads together the second, where there is none, is the first once more; one branch is for both, past which compilers
// would move its loads.
void move_heads(uint heads, uint from, Runs source, uint to, Runs destination, bool paired, bool turned, Turn turn,
                Turn other) {
    bool as_is = kSameElement && !turned;
    uint steps = heads * kLanes;
    for (uint step = 0u; step < steps; step += kTogether) {
        WORDS first;
        WORDS second;
        load_runs(from, source, first, second);
        WORDS third;
        WORDS fourth;
#if ROPE_LANE == 4
        bool more = step + 1u < steps;
        if (kTogether == 2u) {
            uint at = from + choose(more, push.source.head, 0u);
            third = fetch((at + source.low) >> 2);
            fourth = fetch((at + source.high) >> 2);
        }
#endif
        widen_runs(as_is, first, second);
        Turn this_turn = turn_at(step, turn, other);
        if (paired && kChunkIn == 1u) {
            unweave(first, second);
            if (kTogether == 2u) unweave(third, fourth);
        }
        if (turned) {
            turn_pair(first, second, this_turn.cosine, this_turn.sine, kScaleGrid);
            if (kTogether == 2u) turn_pair(third, fourth, turn.cosine, turn.sine, 0u); // never with a grid
        }
        if (paired && kChunkOut == 1u) {
            weave(first, second);
            if (kTogether == 2u) weave(third, fourth);
        }
        narrow_runs(as_is, first, second);
        store_runs(to, destination, first, second);
#if ROPE_LANE == 4
        if (kTogether == 2u) {
            uint at = to + choose(more, push.destination.head, 0u);
            put((at + destination.low) >> 2, third);
            put((at + destination.high) >> 2, fourth);
        }
#endif
        from = next_place(from, step, kChunkIn, push.source.head);
        to = next_place(to, step, kChunkOut, push.destination.head);
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
    bool of_pairs = lane < pair_lanes();
    bool paired = kInPlace != 0u || of_pairs; // in place, nothing else is moved
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
