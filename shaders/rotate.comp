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
layout(constant_id = ROPE_ID_COS_SIN) const uint kCosSin = ROPE_FROM_INLINE;
layout(constant_id = ROPE_ID_PAIRING_IN) const uint kInterleavedIn = 0;
layout(constant_id = ROPE_ID_PAIRING_OUT) const uint kInterleavedOut = 0;
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

Turn inline_turn(int position, Work work) {
    Turn turn;
#if ROPE_LANE > 1
    for (uint i = 0u; i < kLane; ++i) {
        uvec2 bits = cos_sin_of(position, work.j + min(i, work.count - 1u));
        turn.cosine[i] = uintBitsToFloat(bits.x);
        turn.sine[i] = uintBitsToFloat(bits.y);
    }
#else
    uvec2 bits = cos_sin_of(position, work.j);
    turn = Turn(uintBitsToFloat(bits.x), uintBitsToFloat(bits.y));
#endif
    return turn;
}

Turn row_turn(uint row_element, Work work) {
    WORDS cosine;
    WORDS sine;
    load_row(row_element + work.j * push.rows.head, work.count, cosine, sine);
    return Turn(uintBitsToFloat(cosine), uintBitsToFloat(sine));
}

// False where the position lies outside the table.
bool find_turn(uint batch, uint token, Work work, out Turn turn) {
    turn = Turn(VALUES(1.0), VALUES(0.0));
    uint row = batch * push.rows.batch + token * push.rows.token;
    if (kCosSin != ROPE_FROM_ROWS) {
        int position = position_of(batch, token);
        if (kCosSin == ROPE_FROM_INLINE) {
            turn = inline_turn(position, work);
        } else {
            row = uint(position) - uint(push.table_first);
            if (row >= push.table_rows) return false;
            row *= push.rows.token;
        }
    }
    if (kCosSin != ROPE_FROM_INLINE) turn = row_turn(push.rows.offset + row, work);
    if (kBackward != 0u) turn.sine = uintBitsToFloat(floatBitsToUint(turn.sine) ^ 0x80000000u);
    return true;
}

// What of all that does not rotate a copying lane brings over, two runs; where only one is left, that one twice.
Runs pass_runs(uint head_element, uint lane) {
    uint low = 2u * copy_step() * lane;
    uint high = low + copy_step() < push.pass_elements ? low + copy_step() : low;
    return Runs(head_element + pass_element(low, push.rotary_begin, push.pairs),
                head_element + pass_element(high, push.rotary_begin, push.pairs), copy_step(), copy_step());
}

// The one loop over the heads. Without a turn the elements are brought over as they lie.
void move_heads(Work work, Runs from, Runs to, bool turned, Turn turn) {
    for (uint h = 0u; h < kHeads; ++h) {
        if (h >= work.heads) break;
        WORDS first = load(from.low + h * push.source.head, from.low_count);
        WORDS second = load(from.high + h * push.source.head, from.high_count);
        if (kInPlace != 0u || turned) { // in place, what is not turned is not moved
            if (kInterleavedIn != 0u) unweave(first, second);
            VALUES x = uintBitsToFloat(first);
            VALUES y = uintBitsToFloat(second);
            precise VALUES left = x * turn.cosine - y * turn.sine;
            precise VALUES right = x * turn.sine + y * turn.cosine;
            first = floatBitsToUint(left);
            second = floatBitsToUint(right);
            if (kInterleavedOut != 0u) weave(first, second);
        }
        store(to.low + h * push.destination.head, first, to.low_count);
        store(to.high + h * push.destination.head, second, to.high_count);
    }
}

void main() {
    uint token = divide(gl_GlobalInvocationID.x, push.lanes_magic, push.shifts & 0xFFFFu);
    if (token >= push.tokens) return;
    uint lanes = push.head_lanes * ((push.heads + kHeads - 1u) / kHeads);
    uint rest = gl_GlobalInvocationID.x - token * lanes;
    uint group = divide(rest, push.head_lanes_magic, push.shifts >> 16);
    uint lane = rest - group * push.head_lanes;
    uint batch = gl_WorkGroupID.y;

    uint head = group * kHeads;
    uint from = push.source.offset + batch * push.source.batch + token * push.source.token + head * push.source.head;
    uint to = push.destination.offset + batch * push.destination.batch + token * push.destination.token +
              head * push.destination.head;
    Work work = Work(min(kHeads, push.heads - head), lane * kLane, min(kLane, push.pairs - lane * kLane));
    Turn turn = Turn(VALUES(1.0), VALUES(0.0));
    bool turned = false;
    Runs source_runs;
    Runs destination_runs;
    if (lane < push.pair_lanes) {
        turned = find_turn(batch, token, work, turn);
        if (!turned && kInPlace != 0u) return;
        // What is not turned moves as it lies, in runs that follow each other, whatever the pairings.
        source_runs = runs_of(from + push.rotary_begin, work.j, work.count, !turned || kInterleavedIn != 0u);
        destination_runs = runs_of(to + push.rotary_begin, work.j, work.count, !turned || kInterleavedOut != 0u);
    } else {
        source_runs = pass_runs(from, lane - push.pair_lanes);
        destination_runs = pass_runs(to, lane - push.pair_lanes);
    }
    move_heads(work, source_runs, destination_runs, turned, turn);
}
