// A bias on attention scores, added in place or written out. One thread takes eight runs of kLane keys of one head, through
// kQueries queries. Where one's position follows the last one's, each key takes its bias from its neighbour, and of a row
// one value alone is found anew.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#if ROPE_LANE == 1
#extension GL_EXT_shader_16bit_storage : require
#endif
#ifdef ROPE_LONG_WORDS
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif
#include "start.glsl"
#include "angle.h"
#include "position.glsl"
#include "words.glsl"
#include "rows.glsl"
#include "row_value.glsl"
#include "bias.glsl"

layout(constant_id = ROPE_ID_BIAS) const uint kBias = ROPE_BIAS_CLIP;
layout(constant_id = ROPE_ID_TOKENS) const uint kQueries = 1;
layout(constant_id = ROPE_ID_WRITES) const uint kWrites = 0;
layout(constant_id = ROPE_ID_CAUSAL) const uint kCausal = 0;
layout(constant_id = ROPE_ID_BOTH_SIDES) const uint kBothSides = 0;
const uint kHeads = 1u;
#define ROPE_TOKENS kQueries
#include "stand.glsl"

const uint kRuns = 8u;
const uint kKeys = kRuns * kLane; // of one thread

uint head_rows = 0u; // element of the head's first row
float slope = 0.0;

#ifdef ROPE_BUCKETS
layout(constant_id = ROPE_ID_PARAMETERS) const uint kParameters = ROPE_NEAR_THRESHOLDS;
layout(std140, set = 0, binding = ROPE_BINDING_PARAMETERS) uniform Thresholds {
    uvec4 thresholds[kParameters];
};
const bool kBoth = kBothSides != 0u;

// The first of them, which are all in most models, are loaded once.
uvec4 near[ROPE_NEAR_THRESHOLDS];

void load_near() {
    near[0] = thresholds[0];
    near[1] = thresholds[1];
    near[2] = thresholds[2];
    near[3] = thresholds[3];
}

uint bucket_of(int distance) {
    uint reached = rope_t5_reached(distance, kBoth, near[0]) + rope_t5_reached(distance, kBoth, near[1]) +
                   rope_t5_reached(distance, kBoth, near[2]) + rope_t5_reached(distance, kBoth, near[3]);
    for (uint i = ROPE_NEAR_THRESHOLDS; i < kParameters; ++i) reached += rope_t5_reached(distance, kBoth, thresholds[i]);
    return rope_t5_bucket(distance, push.ROPE_BUCKETS_IN_ALL, kBoth, reached);
}
#endif

float bias_of(int distance) {
#ifdef ROPE_BUCKETS
    uint row = bucket_of(distance);
#else
    if (kBias == ROPE_BIAS_LINEAR)
        return kBothSides != 0u ? rope_alibi_both(distance, slope) : rope_alibi(distance, slope);
    uint row = rope_clipped_row(distance, int(push.ROPE_LEAST), push.ROPE_MOST);
#endif
    return row_value(head_rows + row * push.ROPE_ROW_STRIDE);
}

// The biases of a thread's keys.
struct Window {
    VALUES a;
    VALUES b;
    VALUES c;
    VALUES d;
    VALUES e;
    VALUES f;
    VALUES g;
    VALUES h;
};

// The runs one place on, with another behind them.
Window next_run(Window w, VALUES last) { return Window(w.b, w.c, w.d, w.e, w.f, w.g, w.h, last); }

VALUES biases_from(int distance) {
    VALUES biases;
    for (uint i = 0u; i < kLane; ++i) NTH(biases, i) = bias_of(distance + int(i));
    return biases;
}

// Loops, so that the code is there once; one of no rounds is left by drivers that know no branches, too.
Window window_from(int distance, Window w, bool is_there) {
    for (uint run = is_there ? kRuns : 0u; run < kRuns; ++run, distance += int(kLane))
        w = next_run(w, biases_from(distance));
    return w;
}

#if ROPE_LANE == 4
#define LAST(values) values.w
#define SLID(first, values) vec4(first, values.xyz)
#elif ROPE_LANE == 2
#define LAST(values) values.y
#define SLID(first, values) vec2(first, values.x)
#else
#define LAST(values) values
#define SLID(first, values) first
#endif

// Of the next query, from whose first key on the distance is one less.
Window slid(Window w, float first) {
    return Window(SLID(first, w.a), SLID(LAST(w.a), w.b), SLID(LAST(w.b), w.c), SLID(LAST(w.c), w.d),
                  SLID(LAST(w.d), w.e), SLID(LAST(w.e), w.f), SLID(LAST(w.f), w.g), SLID(LAST(w.g), w.h));
}

WORDS masked(WORDS words, int distance) {
    for (uint i = 0u; i < kLane; ++i) {
        if (kCausal != 0u) NTH(words, i) = choose(distance + int(i) > 0, 0xFF800000u, NTH(words, i));
    }
    return words;
}

void put_run(uint to, uint key, int distance, VALUES biases) {
    if (key >= push.ROPE_KEYS) return;
    uint count = min(kLane, push.ROPE_KEYS - key);
    WORDS words = floatBitsToUint(biases);
    if (kWrites == 0u) {
        words = load(place_of(to + key), count);
        if (!kFloatsIn) words = widen(words, kElementIn);
        precise VALUES sum = uintBitsToFloat(words) + biases;
        words = floatBitsToUint(sum);
    }
    words = masked(words, distance);
    if (!kFloatsOut) words = narrow(words, kElementOut);
    store(place_of(to + key), words, count);
}

void put_row(uint to, uint key, int distance, Window w) {
    [[unroll]] for (uint run = 0u; run < kRuns; ++run, key += kLane, distance += int(kLane)) {
        put_run(to, key, distance, w.a);
        w = next_run(w, w.a);
    }
}

// A query without a position keeps its scores, and its bias is 0. The 0 is the thread's second index in a group of one row:
// newer compilers fold a constant into one of 16 bits, which 16-bit storage alone does not allow.
void put_unknown(uint to, uint key) {
    if (kWrites == 0u) return;
    for (uint i = 0u; i < kRuns; ++i, key += kLane) {
        if (key < push.ROPE_KEYS) store(place_of(to + key), WORDS(gl_LocalInvocationID.y), min(kLane, push.ROPE_KEYS - key));
    }
}

int distance_to(uint key, Token token) { return int(push.ROPE_FIRST_KEY + key - token.whole.x); }

void main() {
    Stand stand = find_stand();
    if (stand.number >= push.tokens) return;
    uint batch = gl_WorkGroupID.y;
    uint key = stand.lane * kKeys;
    uint to = stand.to;
    head_rows = push.rows.offset + stand.head * push.rows.head;
    if (kBias == ROPE_BIAS_LINEAR) slope = row_value(head_rows);
#ifdef ROPE_BUCKETS
    load_near();
#endif
    Token token = find_token(batch, stand.number);
    int distance = distance_to(key, token);
    const VALUES none = VALUES(0.0);
    Window w = window_from(distance, Window(none, none, none, none, none, none, none, none), false);
    for (uint i = 0u; i < kQueries; ++i) {
        if (is_known(token)) {
            put_row(to, key, distance, w);
        } else {
            put_unknown(to, key);
        }
        if (++stand.number >= push.tokens) return;
        to += push.destination.token;
        distance -= 1;
        w = slid(w, bias_of(distance));
        if (kPositions != ROPE_KIND_PER_TOKEN || kQueries == 1u) continue;
        token = find_token(batch, stand.number);
        bool follows = distance == distance_to(key, token);
        distance = distance_to(key, token);
        w = window_from(distance, w, follows);
    }
}
