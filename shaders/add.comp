// Positions added to embeddings: sines and cosines, computed or from rows, or the rows of a learned table. One thread
// takes kLanes times kLane pairs of elements of a token, each through up to kHeads sequences with the same positions; or
// where cos and sin of one set are computed kLane pairs of each of kTokens tokens.
#version 450
#extension GL_GOOGLE_include_directive : require
#if ROPE_LANE == 1
#extension GL_EXT_shader_16bit_storage : require
#endif
#ifdef ROPE_LONG_WORDS
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif
#include "start.glsl"
#include "angle.h"
#include "position.glsl"
#define ROPE_HOLDS_FREQUENCIES
#include "frequency.glsl"
#include "words.glsl"
#include "rows.glsl"
#include "turn.glsl"
#define ROPE_TOKENS kTokens
#include "stand.glsl"

layout(constant_id = ROPE_ID_COSINE_FIRST) const uint kCosineFirst = 0;
layout(constant_id = ROPE_ID_SCALED) const uint kScaled = 0;
layout(constant_id = ROPE_ID_LANES) const uint kLanes = 1;

// What is neither scaled nor added to moves as integers.
WORDS sum_of(WORDS x, bool added, VALUES term) {
    precise VALUES sum = uintBitsToFloat(x);
    if (kScaled != 0u) sum = sum * uintBitsToFloat(push.ROPE_FACTOR);
    if (added) sum = sum + term;
    return added || kScaled != 0u ? floatBitsToUint(sum) : x;
}

void add_pairs(bool added, Turn turn, inout WORDS first, inout WORDS second) {
    if (ROPE_IS_INTERLEAVED(kChunkIn)) unweave(first, second);
    first = sum_of(first, added, kCosineFirst != 0u ? turn.cosine : turn.sine);
    second = sum_of(second, added, kCosineFirst != 0u ? turn.sine : turn.cosine);
    if (ROPE_IS_INTERLEAVED(kChunkIn)) weave(first, second);
}

void add_lane(Token token, bool added, uint row, Stand stand) {
    bool as_is = kSameElement && kScaled == 0u && !added;
    Work work = work_of(stand.lane, kHeads == 1u ? 1u : heads_from(stand.head));
    Turn turn = Turn(VALUES(0.0), VALUES(0.0));
    if (added) turn = turn_of(token, row, work);
    Runs runs = runs_of(work.j, work.count, kChunkIn);
    for (uint h = 0u; h < work.heads; ++h) {
        WORDS first = load(stand.from + runs.low, runs.low_count);
        WORDS second = load(stand.from + runs.high, runs.high_count);
        widen_runs(as_is, first, second);
        add_pairs(added, turn, first, second);
        narrow_runs(as_is, first, second);
        store(stand.to + runs.low, first, runs.low_count);
        store(stand.to + runs.high, second, runs.high_count);
        stand.from += push.source.head;
        stand.to += push.destination.head;
    }
}

void add_token(Stand stand) {
    uint batch = gl_WorkGroupID.y;
    Token token = find_token(batch, stand.number);
    bool added = is_known(token) && token.turns;
    if (!added && kSamePlace && kScaled == 0u) return;
    for (uint i = 0u; i < kLanes; ++i) {
        add_lane(token, added, batch * push.rows.batch + stand.number * push.rows.token, stand);
        stand.lane += push.head_lanes;
    }
}

void main() {
    Stand stand = find_stand();
    if (stand.number >= push.tokens) return;
    if (kTokens > 1u) {
        Work work = work_of(stand.lane, 1u);
        hold_frequencies(work.j, work.count);
    }
    for (uint i = 0u; i < kTokens && stand.number < push.tokens; ++i) {
        add_token(stand);
        ++stand.number;
        stand.from += push.source.token;
        stand.to += push.destination.token;
    }
}
