// Position source: the one place that knows where a token stands, on each of its axes, and which of several sets of
// frequencies it takes.
layout(set = 0, binding = ROPE_BINDING_POSITIONS) readonly buffer Positions {
    uint positions[];
};
layout(constant_id = ROPE_ID_POSITIONS) const uint kPositions = ROPE_KIND_PER_TOKEN;
layout(constant_id = ROPE_ID_POSITION_ELEMENT) const uint kPositionElement = ROPE_WHOLE_32;
layout(constant_id = ROPE_ID_AXES) const uint kAxes = 1;
layout(constant_id = ROPE_ID_SETS) const uint kSets = 0;
layout(constant_id = ROPE_ID_COS_SIN) const uint kCosSin = ROPE_FROM_INLINE;

layout(constant_id = ROPE_ID_AXIS_MAP + 0) const uint kAxes0 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 1) const uint kAxes1 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 2) const uint kAxes2 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 3) const uint kAxes3 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 4) const uint kAxes4 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 5) const uint kAxes5 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 6) const uint kAxes6 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 7) const uint kAxes7 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 8) const uint kAxes8 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 9) const uint kAxes9 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 10) const uint kAxes10 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 11) const uint kAxes11 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 12) const uint kAxes12 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 13) const uint kAxes13 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 14) const uint kAxes14 = 0;
layout(constant_id = ROPE_ID_AXIS_MAP + 15) const uint kAxes15 = 0;

const bool kPacked = kPositions >= ROPE_KIND_PACKED;
const uint kEightBytes = uint(kPositionElement == ROPE_WHOLE_64 || kPositionElement == ROPE_FIXED_64);
// Rows of positions or starts, one for each axis; packed sequences' begin with their cumulative lengths.
const uint kPositionRows = kPacked ? kPositions - ROPE_KIND_PACKED : kAxes;

const bool kFloatPositions = kPositionElement == ROPE_FLOAT_32;
const bool kFixedPositions = kPositionElement == ROPE_FIXED_64;
const bool kCountedPositions = kPositions == ROPE_KIND_COUNTED;
const bool kInline = kCosSin == ROPE_FROM_INLINE;
const bool kFromTable = kCosSin == ROPE_FROM_TABLE;
const bool kOneAxis = kAxes == 1u;

struct Token {
    uvec4 whole; // its position on each axis: two's complement Q32.32
    uvec4 fraction;
    uint index;    // in its sequence
    uint sequence;
    uint set;
    bool placed;   // it is part of a sequence
    bool turns;    // and inside the window
    bool positioned; // each of its positions is one
    bool first_positioned; // that on axis 0 is
    bool inside;     // its set is there, and its rows of the table
};

bool is_known(Token token) { return token.positioned && token.inside; }

// Of eight bytes the low word, or the high one.
uint position_word(uint element, uint high) { return positions[element * (kEightBytes + 1u) + high]; }

bool load_position(uint at, out uint whole, out uint fraction) {
    whole = position_word(at, 0u);
    fraction = 0u;
    bool is_one = true;
    if (kFloatPositions) {
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

// The last sequence that begins at or before the token; whatever the lengths say, nothing but them is read.
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

// A plain name stands last in every &&: of anything else the compiler makes a branch.
//
// Without its positions; returns the element where they begin.
uint place_token(uint batch, uint number, out Token token) {
    token = Token(uvec4(0u), uvec4(0u), push.first_token + number, batch, 0u, true, true, true, true, true);
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
        at += choose(kPositions == ROPE_KIND_PER_TOKEN, number * push.position_token, 0u);
        bool begun = token.index >= push.window_begin;
        token.turns = token.index < push.window_end && begun;
    }
    return at;
}

Token find_token(uint batch, uint number) {
    Token token;
    uint at = place_token(batch, number, token);
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
        if (kOneAxis) {
            token.whole.x = whole;
            token.fraction.x = fraction;
        } else {
            token.whole[axis] = whole;
            token.fraction[axis] = fraction;
        }
        bool in_table = whole - push.ROPE_TABLE_FIRST < uint(push.ROPE_TABLE_ROWS);
        token.inside = mix(true, in_table, kFromTable) && token.inside;
    } while (++axis < kAxes);
    if (kSets != 0u) {
        token.set = position_word(at + kPositionRows * push.position_axis, 0u);
        token.inside = token.set < push.sets && token.inside;
        token.set = choose(token.set < push.sets, token.set, 0u);
        if (kEightBytes != 0u) {
            token.inside = position_word(at + kPositionRows * push.position_axis, 1u) == 0u && token.inside;
        }
    }
    return token;
}

uint axis_of(uint pair) {
    const uint map[ROPE_AXIS_WORDS] = uint[](kAxes0, kAxes1, kAxes2, kAxes3, kAxes4, kAxes5, kAxes6, kAxes7, kAxes8,
                                             kAxes9, kAxes10, kAxes11, kAxes12, kAxes13, kAxes14, kAxes15);
    uint word = map[pair / ROPE_AXIS_PAIRS % ROPE_AXIS_WORDS]; // one axis may have more pairs than the map
    return choose(kOneAxis, 0u, (word >> (2u * (pair % ROPE_AXIS_PAIRS))) & 3u);
}

// The table's row for a position on one axis, or the first where that has none.
uint row_of(Token token, uint axis) {
    uint row = token.set * uint(push.ROPE_TABLE_ROWS) + token.whole[axis] - push.ROPE_TABLE_FIRST;
    return choose(token.inside, row, 0u);
}
