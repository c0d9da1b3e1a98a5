// This file finds a token's position on each axis, its set of frequencies, and if it rotates. No other file knows how
// positions are stored.
#ifndef ROPE_POSITION_GLSL
#define ROPE_POSITION_GLSL
#include "layout.glsl"
#include "numbers/angle.h"

BUFFER(ROPE_BINDING_POSITIONS, Positions, readonly, uint, positions)
layout(constant_id = ROPE_ID_POSITIONS) const uint kPositions = ROPE_KIND_PER_TOKEN;
layout(constant_id = ROPE_ID_POSITION_ELEMENT) const uint kPositionElement = ROPE_WHOLE_32;
layout(constant_id = ROPE_ID_AXES) const uint kAxes = 1;
layout(constant_id = ROPE_ID_SETS) const uint kSets = 0;
layout(constant_id = ROPE_ID_COS_SIN) const uint kCosSin = ROPE_FROM_INLINE;

#define AXES(n) layout(constant_id = ROPE_ID_AXIS_MAP + n) const uint kAxes##n = 0;
AXES(0) AXES(1) AXES(2) AXES(3) AXES(4) AXES(5) AXES(6) AXES(7)
AXES(8) AXES(9) AXES(10) AXES(11) AXES(12) AXES(13) AXES(14) AXES(15)

const bool kPacked = kPositions >= ROPE_KIND_PACKED;
const uint kEightBytes = uint(kPositionElement == ROPE_WHOLE_64 || kPositionElement == ROPE_FIXED_64);
// There is a row of positions per axis. Packed sequences have one row of starts, or none, behind their lengths.
const uint kPositionRows = kPacked ? kPositions - ROPE_KIND_PACKED : kAxes;
const bool kFixedPositions = kPositionElement == ROPE_FIXED_64;
const bool kCountedPositions = kPositions == ROPE_KIND_COUNTED;
const bool kInline = kCosSin == ROPE_FROM_INLINE;
const bool kFromTable = kCosSin == ROPE_FROM_TABLE;

struct Token {
    uvec4 whole, fraction; // its position on each axis: two's complement Q32.32
    uint index;            // in its sequence
    uint sequence, set;
    bool placed;           // it is part of a sequence
    bool turns;            // it is placed, and inside the window
    bool positioned;       // every axis has a valid position
    bool first_positioned; // axis 0 has one
    bool inside;           // its set exists, and its table rows
};

bool is_known(Token token) { return token.positioned && token.inside; }

// Returns the low or the high word of an entry.
uint position_word(uint element, uint high) { return positions[element * (kEightBytes + 1u) + high]; }

bool load_position(uint at, out uint whole, out uint fraction) {
    whole = position_word(at, 0u);
    fraction = 0u;
    bool is_one = true;
    if (kPositionElement == ROPE_FLOAT_32) {
        is_one = fixed_from_float(whole, whole, fraction);
    } else if (kPositionElement != ROPE_WHOLE_32) {
        uint high = position_word(at, 1u);
        bool extends = high == uint(int(whole) >> 31);
        is_one = kFixedPositions || extends;
        fraction = kFixedPositions ? whole : 0u;
        whole = kFixedPositions ? high : whole;
    }
    return is_one;
}

// Returns the last sequence that begins at or before the token. Wrong lengths cause no read outside them.
uint find_sequence(uint token) {
    uint low = 0u;
    uint high = push.ROPE_SEQUENCES;
    while (high - low > 1u) {
        uint middle = (low + high) / 2u;
        bool before = position_word(push.position_offset + middle, 0u) <= token;
        low = before ? middle : low;
        high = before ? high : middle;
    }
    return low;
}

// Every && ends with a plain name: the compiler makes a branch for any other operand.
Token find_token(uint batch, uint number) {
    Token token = Token(uvec4(0u), uvec4(0u), push.first_token + number, batch, 0u, true, true, true, true, true);
    uint at = push.position_offset + batch * push.position_batch;
    if (kPacked) {
        token.sequence = find_sequence(token.index);
        at = push.position_offset + token.sequence;
        uint begin = position_word(at, 0u);
        uint end = position_word(at + 1u, 0u);
        bool begun = token.index >= begin;
        token.placed = token.index < end && begun;
        token.turns = end - token.index > push.window_end && token.placed;
        token.index -= begin;
        token.turns = token.index >= push.window_begin && token.turns;
        at += push.position_axis;
    } else {
        at += choose(kPositions == ROPE_KIND_PER_TOKEN, number * position_token(), 0u);
        bool begun = token.index >= push.window_begin;
        token.turns = token.index < push.window_end && begun;
    }
    uint axis = 0u;
    do {
        uint whole = kCountedPositions ? push.ROPE_FIRST_POSITION : 0u;
        uint fraction = 0u;
        if (!kCountedPositions && kPositionRows != 0u) {
            uint row = choose(kPacked, 0u, axis * push.position_axis);
            token.positioned = load_position(at + row, whole, fraction) && token.positioned;
            if (axis == 0u) token.first_positioned = token.positioned;
        }
        whole += choose(kPositions == ROPE_KIND_PER_TOKEN, 0u, token.index);
        bvec4 here = equal(uvec4(axis), uvec4(0u, 1u, 2u, 3u));
        token.whole = mix(token.whole, uvec4(whole), here);
        token.fraction = mix(token.fraction, uvec4(fraction), here);
        bool in_table = whole - push.ROPE_TABLE_FIRST < uint(push.ROPE_TABLE_ROWS);
        token.inside = mix(true, in_table, kFromTable) && token.inside;
    } while (++axis < kAxes);
    if (kSets != 0u) {
        at += kPositionRows * push.position_axis;
        token.set = position_word(at, 0u);
        token.inside = token.set < kSets && token.inside;
        token.set = choose(token.set < kSets, token.set, 0u);
        if (kEightBytes != 0u) token.inside = position_word(at, 1u) == 0u && token.inside;
    }
    return token;
}

uint axis_of(uint pair) {
    const uint map[ROPE_AXIS_WORDS] = uint[](kAxes0, kAxes1, kAxes2, kAxes3, kAxes4, kAxes5, kAxes6, kAxes7, kAxes8,
                                             kAxes9, kAxes10, kAxes11, kAxes12, kAxes13, kAxes14, kAxes15);
    uint word = map[pair / ROPE_AXIS_PAIRS % ROPE_AXIS_WORDS]; // one axis may have more pairs than the map
    return choose(kAxes == 1u, 0u, (word >> (2u * (pair % ROPE_AXIS_PAIRS))) & 3u);
}

// Returns the table's row for the position on one axis, or row 0 if there is none.
uint row_of(Token token, uint axis) {
    uint row = token.set * uint(push.ROPE_TABLE_ROWS) + token.whole[axis] - push.ROPE_TABLE_FIRST;
    return choose(token.inside, row, 0u);
}

#endif
