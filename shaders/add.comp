// This shader adds positions to embeddings: sines and cosines, computed or from rows, or the rows of a learned table. A
// thread loads one lane (see lane.glsl) of a token, of one sequence or of a few that have the same positions. Then it
// finds what it adds, adds and stores. A group with several sequences computes each cosine and sine once.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_16bit_storage : require
#define ROPE_ONE_TENSOR
#define ROPE_PUSH RopeAddPush
#include "families.h"
#include "start.glsl"
#include "position.glsl"
#include "frequency.glsl"
#include "runs.glsl"
#include "rows.glsl"
#include "work_item.glsl"
#include "lane.glsl"
#include "terms.glsl"

layout(constant_id = ROPE_ID_EVERY_TOKEN) const uint kEveryToken = 0;
layout(constant_id = ROPE_ID_COSINE_FIRST) const uint kCosineFirst = 0;
layout(constant_id = ROPE_ID_SCALED) const uint kScaled = 0;
const bool kEveryAdded = kEveryToken != 0u;

// Returns lane `number` of an embedding, all of whose elements are in pairs: its halves, or interleaved.
Lane row_lane(uint number) {
    const bool interleaved = ROPE_IS_INTERLEAVED(kChunkIn);
    const uint run = kByWords ? kRun : 1u; // in units of places
    const uint half_row = kByWords ? kPairs : kPairs / kRun;
    Lane lane;
    lane.paired = true;
    lane.turned = true;
    lane.j = number * kRun;
    lane.count = kByWords ? min(kRun, kPairs - lane.j) : kRun;
    lane.from = Runs(uint[](number * run, number * run + half_row), uint[](lane.count, lane.count));
    if (interleaved) {
        uint low = min(2u * lane.count, kRun);
        uint high = 2u * lane.count - low;
        lane.from = Runs(uint[](2u * number * run, (2u * number + uint(high != 0u)) * run), uint[](low, high));
    }
    lane.to = lane.from;
    return lane;
}

// Elements that are neither scaled nor added to move as integers.
uvec4 sum_of(uvec4 x, bool added, vec4 term) {
    precise vec4 sum = uintBitsToFloat(x);
    if (kScaled != 0u) sum = sum * uintBitsToFloat(push.factor);
    if (added) sum = sum + term;
    return added || kScaled != 0u ? floatBitsToUint(sum) : x;
}

Head sum_head(Head head, bool added, LaneTerms lane_terms) {
    bool as_is = kSameElement && kScaled == 0u && !added;
    Head result = head;
    uint quad = 0u;
    do { // not all compilers see that a for loop would run at least once
        CosSin terms = lane_terms.first;
        if (quad != 0u) terms = lane_terms.second;
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
    Lane lane = row_lane(item.lane);
    Token token;
    bool added = true;
    if (kInline || kFromTable || !kEveryAdded) {
        token = find_token(gl_WorkGroupID.y, item.token);
        if (!kEveryAdded) added = is_known(token) && token.turns;
    }
    Head heads[kHeadsPerThread];
    for (uint h = 0u; h < kHeadsPerThread; ++h) heads[h] = load_head(item, lane, kFirst, item.head + h);
    LaneTerms terms;
    if (kInline) terms = compute_terms(token, added, lane);
    if (kShared) barrier();
    if (!item.is_there || (kFirstInPlace && kScaled == 0u && !added)) return;
    uint row = gl_WorkGroupID.y * push.rows.batch + item.token * push.rows.token;
    if (!kInline || kShared) terms = read_terms(token, row, lane);
    for (uint h = 0u; h < kHeadsPerThread; ++h) { // ends nowhere else, so that it unrolls: heads stay in registers
        if (item.head + h < item.heads) {
            uint at = item.to + (item.head + h) * item.to_head;
            store_runs(at, lane, kFirst, sum_head(heads[h], added, terms), kFloatsOut);
        }
    }
}
