// This shader adds positions to embeddings: sines and cosines, computed or from rows, or the rows of a learned table. A
// thread loads one lane (see lane.glsl) of a token, of one sequence or of a few that have the same positions. Then it
// finds what it adds, adds and stores. A group with several sequences computes each cosine and sine once.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeRotatePush
#include "words.h"
#include "../angles.glsl"

layout(constant_id = ROPE_ID_COSINE_FIRST) const uint kCosineFirst = 0;
layout(constant_id = ROPE_ID_FACTOR) const uint kFactor = 0; // float32 bits; 0: elements are not scaled
const bool kScaled = kFactor != 0u;

// Loads a lane's cosines and sines, or the two halves of a learned row: two quads of 16-bit entries at once, where they
// lie so.
void load_terms(Token token, uint row, Lane lane) {
    if (kRows != ROPE_ROWS_BY_EIGHT) {
        load_cos_sin(token, row, lane);
        return;
    }
    uint at = row_place(token, row, lane.j);
    uvec4 cosines = rows_by_four[at >> 3];
    uvec4 sines = rows_by_four[(at + push.sin_offset) >> 3];
    cos_sin[0] = cos_sin_from(widen_run(cosines.xy, kRowElement), widen_run(sines.xy, kRowElement));
    cos_sin[kQuads - 1u] = cos_sin_from(widen_run(cosines.zw, kRowElement), widen_run(sines.zw, kRowElement));
}

// Elements that are neither scaled nor added to move as integers.
uvec4 sum_of(uvec4 x, bool added, vec4 term) {
    precise vec4 sum = uintBitsToFloat(x);
    if (kScaled) sum = sum * uintBitsToFloat(kFactor);
    if (added) sum = sum + term;
    return added || kScaled ? floatBitsToUint(sum) : x;
}

Head sum_head(Head head, bool added) {
    bool as_is = kSameElement && !kScaled && !added;
    Head result = head;
    uint quad = 0u;
    do { // not all compilers see that a for loop would run at least once
        CosSin terms = cos_sin[quad];
        Quad pairs = read_quad(head, quad, ROPE_IS_INTERLEAVED(kChunkIn), as_is);
        if (ROPE_IS_INTERLEAVED(kChunkIn)) deinterleave(pairs);
        pairs.x[0] = sum_of(pairs.x[0], added, kCosineFirst != 0u ? terms.cosine : terms.sine);
        pairs.x[1] = sum_of(pairs.x[1], added, kCosineFirst != 0u ? terms.sine : terms.cosine);
        if (ROPE_IS_INTERLEAVED(kChunkIn)) interleave(pairs);
        write_quad(result, quad, ROPE_IS_INTERLEAVED(kChunkIn), as_is, kElementOut, pairs);
    } while (++quad < kQuads);
    return result;
}

void main() {
    WorkItem item = find_work_item();
    Lane lane = lane_of(item.lane, Width(kPairLanes, 0u, 0u)); // all elements are in pairs
    Token token;
    bool added = true;
    if (kInline || kFromTable || !kEveryTurns) {
        token = find_token(gl_WorkGroupID.y, item.token);
        if (!kEveryTurns) added = is_known(token) && token.turns;
    }
    uvec4 frequency; // of the thread's first angle
    if (kInline) frequency = angle_frequency(0u, token, lane);
    Head heads[kHeadsPerThread];
    for (uint h = 0u; h < kHeadsPerThread; ++h) heads[h] = load_head(item, lane, kFirst, item.head + h);
    if (kInline) make_angles(token, lane, frequency);
    if (kShared) barrier();
    if (!item.is_there || (kFirstInPlace && !kScaled && !added)) return;
    if (kInline) read_shared_angles(lane);
    else load_terms(token, gl_WorkGroupID.y * push.rows.batch + item.token * push.rows.token, lane);
    for (uint h = 0u; h < kHeadsPerThread; ++h) { // ends nowhere else, so that it unrolls: heads stay in registers
        if (item.head + h < item.heads) {
            uint at = item.to + (item.head + h) * item.to_head;
            store_runs(at, lane, kFirst, sum_head(heads[h], added), kFloatsOut);
        }
    }
}
