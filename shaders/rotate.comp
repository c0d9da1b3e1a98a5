// The rotation: one thread takes kLane pairs of one token through kHeads heads, or through every head, so that cos and sin
// are found once for all of them. Elsewhere, further lanes bring over what does not rotate.
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

layout(constant_id = ROPE_ID_ALL) const uint kAll = 0;

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

#if ROPE_LANE == 4
// Float32 that stays as it is. Drivers that make a mask of a branch pay for one in move_heads with each step; two heads
// together are of those that do not.
const bool kPlain = kFloatsIn && kFloatsOut && kChunkIn == kChunkOut;
const bool kCopies = kPlain && !kSamePlace && !kTwoHeads;
void copy_heads(uint heads, Stand stand, Runs runs) {
    uint steps = 2u * heads * kLanes; // in each one run of one lane: 2 or 4 a head
    for (uint step = 0u; step < steps; ++step) {
        uint head = step >> kLanes;
        uint lane = step >> 1 & (kLanes - 1u);
        uint within = choose((step & 1u) != 0u, runs.high, runs.low) + lane * lane_distance(kChunkIn);
        uint from = stand.from + head * push.source.head + within;
        uint to = stand.to + head * push.destination.head + within;
        destination[to] = source[from];
    }
}
#endif

// Without a grid one pair after the other, whose four products drivers for CPUs then keep in registers.
void turn_lane(inout WORDS first, inout WORDS second, Turn turn) {
#if ROPE_LANE == 4
    if (kScaleGrid == 0u) {
        VALUES x = uintBitsToFloat(first), y = uintBitsToFloat(second), c = turn.cosine, s = turn.sine;
        first = floatBitsToUint(VALUES(first_turned(x.x, y.x, c.x, s.x), first_turned(x.y, y.y, c.y, s.y),
                                       first_turned(x.z, y.z, c.z, s.z), first_turned(x.w, y.w, c.w, s.w)));
        second = floatBitsToUint(VALUES(second_turned(x.x, y.x, c.x, s.x), second_turned(x.y, y.y, c.y, s.y),
                                        second_turned(x.z, y.z, c.z, s.z), second_turned(x.w, y.w, c.w, s.w)));
        return;
    }
#endif
    turn_pair(first, second, turn.cosine, turn.sine, kScaleGrid);
}

// The one loop over the heads: from pairs of the one pairing to those of the other, without a turn as integers. Of two
// heads together the second, where there is none, is the first once more; one branch is for both, past which compilers
// would move its loads.
void move_heads(uint heads, uint from, Runs source, uint to, Runs destination, bool paired, bool turned, Turn turn,
                Turn other) {
    bool as_is = kSameElement && !turned;
    uint steps = heads * kLanes;
    uint step = 0u;
    if (heads != 0u) do {
        WORDS first;
        WORDS second;
        load_runs(from, source, first, second);
        WORDS third;
        WORDS fourth;
#if ROPE_LANE == 4
        bool more = step + 1u < steps;
        if (kTwoHeads) {
            uint at = from + choose(more, push.source.head, 0u);
            third = fetch(at + source.low);
            fourth = fetch(at + source.high);
        }
#endif
        widen_runs(as_is, first, second);
        Turn this_turn = turn_at(step, turn, other);
        if (paired && ROPE_IS_INTERLEAVED(kChunkIn)) {
            unweave(first, second);
            if (kTwoHeads) unweave(third, fourth);
        }
        if (turned) {
            turn_lane(first, second, this_turn);
            if (kTwoHeads) turn_pair(third, fourth, turn.cosine, turn.sine, 0u); // never with a grid
        }
        if (paired && ROPE_IS_INTERLEAVED(kChunkOut)) {
            weave(first, second);
            if (kTwoHeads) weave(third, fourth);
        }
        narrow_runs(as_is, first, second);
        store_runs(to, destination, first, second);
#if ROPE_LANE == 4
        if (kTwoHeads) {
            uint at = to + choose(more, push.destination.head, 0u);
            put(at + destination.low, third);
            put(at + destination.high, fourth);
        }
#endif
        from = next_place(from, step, kChunkIn, push.source.head);
        to = next_place(to, step, kChunkOut, push.destination.head);
        step += kTogether;
    } while (step < steps);
}

void main() {
    push = push_of(given);
    Stand stand = find_stand();
    uint number = stand.number;
    uint lane = stand.lane;
    uint batch = gl_WorkGroupID.y;
    if (number >= push.tokens) return;
    Work work = work_of(lane, heads_from(stand.head));
    Turn turn = Turn(VALUES(1.0), VALUES(0.0));
    Turn other = turn;
    bool of_pairs = lane < pair_lanes();
    bool paired = kAll != 0u || of_pairs;
    bool turned = paired;
    Runs source_runs;
    Runs destination_runs;
    if (paired) {
        Token token = find_token(batch, number);
        bool known = is_known(token) && token.turns;
        bool turns = kAll == ROPE_ALL_TOKENS || known;
        if (!turns && kSamePlace) return;
        turned = kSamePlace || turns;
        source_runs = runs_of(work.j, work.count, kChunkIn);
        destination_runs = runs_of(work.j, work.count, kChunkOut);
        uint row = batch * push.rows.batch + number * push.rows.token;
#if ROPE_LANE == 4
        work.j += (kLanes - 1u) * kLane * push.head_lanes;
        uint lanes = 0u;
        do { // the other lane first
            other = turn;
            turn = turn_of(token, row, work);
            work.j -= kLane * push.head_lanes;
        } while (++lanes < kLanes);
#else
        turn = turn_of(token, row, work);
#endif
    } else {
        source_runs = pass_runs(lane - pair_lanes());
        destination_runs = source_runs;
    }
#if ROPE_LANE == 4
    if (kCopies && kAll != ROPE_ALL_TOKENS) {
        copy_heads(choose(turned, 0u, work.heads), stand, source_runs);
        work.heads = choose(turned, work.heads, 0u);
        turned = true;
    }
#endif
    move_heads(work.heads, stand.from, source_runs, stand.to, destination_runs, paired, turned, turn, other);
}
