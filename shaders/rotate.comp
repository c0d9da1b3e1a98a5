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

layout(constant_id = ROPE_ID_HEADS) const uint kHeads = 1;
layout(constant_id = ROPE_ID_PAIRING_IN) const uint kChunkIn = 0;
layout(constant_id = ROPE_ID_PAIRING_OUT) const uint kChunkOut = 0;
layout(constant_id = ROPE_ID_BACKWARD) const uint kBackward = 0;

// What one thread turns: pairs j to j + count of `heads` heads.
struct Work {
    uint heads;
    uint j;
    uint count;
};

struct Turn {
    VALUES cosine;
    VALUES sine;
};

// Cos and sin of the pairs: computed, or where they lie and then loaded. In a table each pair has the row of its axis'
// position, otherwise all have the token's own.
Turn turn_of(Token token, uint row, Work work) {
    WORDS cosine;
    WORDS sine;
    WORDS at;
    for (uint i = 0u; i < kLane; ++i) {
        uint pair = work.j + min(i, work.count - 1u);
        uint axis = axis_of(pair);
        if (kCosSin == ROPE_FROM_INLINE) {
            uvec2 bits = cos_sin_of(token, axis, pair);
            NTH(cosine, i) = bits.x;
            NTH(sine, i) = bits.y;
        } else {
            if (kCosSin == ROPE_FROM_TABLE) row = row_of(token, axis) * push.rows.token;
            NTH(at, i) = push.rows.offset + row + pair * push.rows.head;
        }
    }
    if (kCosSin != ROPE_FROM_INLINE) load_row(at, cosine, sine);
    if (kBackward != 0u) sine ^= 0x80000000u;
    return Turn(uintBitsToFloat(cosine), uintBitsToFloat(sine));
}

// What of all that does not rotate a copying lane brings over, two runs; where only one is left, that one twice.
Runs pass_runs(uint lane) {
    uint low = 2u * copy_step() * lane;
    uint high = low + copy_step() < push.pass_elements ? low + copy_step() : low;
    return Runs(pass_element(low, push.rotary_begin, pair_count()), pass_element(high, push.rotary_begin, pair_count()),
                copy_step(), copy_step());
}

// A lane's pairs are of one chunk.
Work work_of(uint lane, uint heads) {
    const uint chunk = max(kChunkIn, kChunkOut);
    const uint lanes = (chunk + kLane - 1u) / kLane;
    uint first = lane * kLane;
    uint end = pair_count();
    uint begin = 0u;
    if (chunk > 1u) {
        begin = lane / lanes * chunk;
        first = lane % lanes * kLane;
        end = chunk;
    }
    return Work(heads, begin + first, min(kLane, end - first));
}

// The one loop over the heads. Pairs without a turn move as integers.
void move_heads(Work work, uint from_head, Runs from, uint to_head, Runs to, bool paired, bool turned, Turn turn) {
    for (uint h = 0u; h < kHeads; ++h) {
        if (h >= work.heads) break;
        WORDS first = load(from_head + from.low, from.low_count);
        WORDS second = load(from_head + from.high, from.high_count);
        widen_runs(first, second);
        if (paired && kChunkIn == 1u) unweave(first, second);
        if (turned) {
            VALUES x = uintBitsToFloat(first);
            VALUES y = uintBitsToFloat(second);
            precise VALUES left = x * turn.cosine - y * turn.sine;
            precise VALUES right = x * turn.sine + y * turn.cosine;
            first = floatBitsToUint(left);
            second = floatBitsToUint(right);
        }
        if (paired && kChunkOut == 1u) weave(first, second);
        narrow_runs(first, second);
        store(to_head + to.low, first, to.low_count);
        store(to_head + to.high, second, to.high_count);
        from_head += push.source.head;
        to_head += push.destination.head;
    }
}

void main() {
    push = given;
    uint number = divide(gl_GlobalInvocationID.x, push.lanes_magic, push.shifts & 0xFFFFu);
    if (number >= push.tokens) return;
    uint lanes = push.head_lanes * ((push.heads + kHeads - 1u) / kHeads);
    uint rest = gl_GlobalInvocationID.x - number * lanes;
    uint group = divide(rest, push.head_lanes_magic, push.shifts >> 16);
    uint lane = rest - group * push.head_lanes;
    uint batch = gl_WorkGroupID.y;

    uint head = group * kHeads;
    uint from = push.source.offset + batch * push.source.batch + number * push.source.token + head * push.source.head;
    uint to = push.destination.offset + batch * push.destination.batch + number * push.destination.token +
              head * push.destination.head;
    Work work = work_of(lane, min(kHeads, push.heads - head));
    Turn turn = Turn(VALUES(1.0), VALUES(0.0));
    bool paired = kInPlace != 0u || lane < pair_lanes(); // in place, nothing else is moved
    bool turned = paired;
    Runs source_runs;
    Runs destination_runs;
    if (paired) {
        Token token = find_token(batch, number);
        bool turns = token.turns && token.known;
        if (!turns && kInPlace != 0u) return;
        turned = kInPlace != 0u || turns;
        if (turns) turn = turn_of(token, batch * push.rows.batch + number * push.rows.token, work);
        source_runs = runs_of(work.j, work.count, kChunkIn);
        destination_runs = runs_of(work.j, work.count, kChunkOut);
    } else {
        source_runs = pass_runs(lane - pair_lanes());
        destination_runs = source_runs;
    }
    move_heads(work, from, source_runs, to, destination_runs, paired, turned, turn);
}
