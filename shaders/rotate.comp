// The rotation: one thread takes LANE_PAIRS pairs of one token through up to kHeads heads, so that cos and sin are
// found once for all of them. Elsewhere, further lanes bring over what does not rotate.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "start.glsl"
#include "angle.h"
#include "position.glsl"
#include "frequency.glsl"
#include "words.glsl"

layout(constant_id = ROPE_ID_HEADS) const uint kHeads = 1;
layout(constant_id = ROPE_ID_COS_SIN) const uint kCosSin = ROPE_FROM_INLINE;
layout(constant_id = ROPE_ID_PAIRING_IN) const uint kInterleavedIn = 0;
layout(constant_id = ROPE_ID_PAIRING_OUT) const uint kInterleavedOut = 0;
layout(constant_id = ROPE_ID_BACKWARD) const uint kBackward = 0;
layout(constant_id = ROPE_ID_RESCALE) const uint kRescale = 0;

layout(set = 0, binding = ROPE_BINDING_COS_SIN) readonly buffer Rows {
    WORDS rows[];
};

struct Turn {
    VALUES cosine;
    VALUES sine;
};

Turn inline_turn(int position, uint j) {
#if ROPE_WIDE
    Turn turn;
    for (uint i = 0u; i < LANE_PAIRS; ++i) {
        uvec2 bits = cos_sin_of(position, j + i);
        turn.cosine[i] = uintBitsToFloat(bits.x);
        turn.sine[i] = uintBitsToFloat(bits.y);
    }
    return turn;
#else
    uvec2 bits = cos_sin_of(position, j);
    return Turn(uintBitsToFloat(bits.x), uintBitsToFloat(bits.y));
#endif
}

Turn row_turn(uint row_element, uint j) {
    uint at = (row_element + j) / LANE_PAIRS;
    Turn turn = Turn(uintBitsToFloat(rows[at]), uintBitsToFloat(rows[at + push.sin_offset / LANE_PAIRS]));
    if (kRescale != 0u) {
        precise VALUES cosine = turn.cosine * uintBitsToFloat(push.scale_mantissa);
        precise VALUES sine = turn.sine * uintBitsToFloat(push.scale_mantissa);
        turn = Turn(cosine, sine);
    }
    return turn;
}

// False where the position lies outside the table.
bool find_turn(uint batch, uint token, uint j, out Turn turn) {
    turn = Turn(VALUES(1.0), VALUES(0.0));
    if (kCosSin == ROPE_FROM_INLINE) {
        turn = inline_turn(position_of(batch, token), j);
    } else if (kCosSin == ROPE_FROM_TABLE) {
        uint row = uint(position_of(batch, token)) - uint(push.table_first);
        if (row >= push.table_rows) return false;
        turn = row_turn(push.rows.offset + row * push.rows.token, j);
    } else {
        turn = row_turn(push.rows.offset + batch * push.rows.batch + token * push.rows.token, j);
    }
    if (kBackward != 0u) turn.sine = uintBitsToFloat(floatBitsToUint(turn.sine) ^ 0x80000000u);
    return true;
}

void rotate_heads(uint from, uint to, uint heads, uint j, Turn turn) {
    for (uint h = 0u; h < kHeads; ++h) {
        if (h >= heads) break;
        WORDS first;
        WORDS second;
        load_pairs(from + h * push.source.head, j, kInterleavedIn, first, second);
        VALUES x = uintBitsToFloat(first);
        VALUES y = uintBitsToFloat(second);
        precise VALUES left = x * turn.cosine - y * turn.sine;
        precise VALUES right = x * turn.sine + y * turn.cosine;
        store_pairs(to + h * push.destination.head, j, kInterleavedOut, floatBitsToUint(left), floatBitsToUint(right));
    }
}

void copy_pairs(uint from, uint to, uint heads, uint j) {
    for (uint h = 0u; h < heads; ++h) {
        WORDS first;
        WORDS second;
        load_pairs(from + h * push.source.head, j, kInterleavedIn, first, second);
        store_pairs(to + h * push.destination.head, j, kInterleavedIn, first, second);
    }
}

void copy_pass(uint from, uint to, uint heads, uint lane) {
    for (uint i = 2u * LANE_PAIRS * lane; i < min(2u * LANE_PAIRS * (lane + 1u), push.pass_elements); i += LANE_PAIRS) {
        uint element = pass_element(i, push.rotary_begin, push.pairs);
        for (uint h = 0u; h < heads; ++h) {
            store(to + h * push.destination.head + element, load(from + h * push.source.head + element));
        }
    }
}

void main() {
    uint token = divide(gl_GlobalInvocationID.x, push.lanes_magic, push.shifts & 0xFFFFu);
    if (token >= push.tokens) return;
    uint rest = gl_GlobalInvocationID.x - token * push.lanes;
    uint group = divide(rest, push.head_lanes_magic, push.shifts >> 16);
    uint lane = rest - group * push.head_lanes;
    uint batch = gl_WorkGroupID.y;

    uint head = group * kHeads;
    uint heads = min(kHeads, push.heads - head);
    uint from = push.source.offset + batch * push.source.batch + token * push.source.token + head * push.source.head;
    uint to = push.destination.offset + batch * push.destination.batch + token * push.destination.token +
              head * push.destination.head;
    if (lane >= push.pair_lanes) {
        copy_pass(from, to, heads, lane - push.pair_lanes);
        return;
    }
    uint j = lane * LANE_PAIRS;
    Turn turn;
    if (find_turn(batch, token, j, turn)) {
        rotate_heads(from + push.rotary_begin, to + push.rotary_begin, heads, j, turn);
    } else if (kInPlace == 0u) {
        copy_pairs(from + push.rotary_begin, to + push.rotary_begin, heads, j);
    }
}
