// This shader rotates Q and K. A thread loads one lane (see lane.glsl) of a few heads. Its group makes the
// cosines and sines of its tokens. Then the thread turns and stores its lanes. Out of place, other lanes copy the rest.
#version 450
#extension GL_GOOGLE_include_directive : require
#if ROPE_LANE == 1
#extension GL_EXT_shader_16bit_storage : require
#endif
#define ROPE_ROTATION
#include "start.glsl"
#include "angle.h"
#include "position.glsl"
#include "frequency.glsl"
#include "runs.glsl"
#include "rows.glsl"
#include "work_item.glsl"
#include "lane.glsl"
#include "angles.glsl"

layout(constant_id = ROPE_ID_EVERY_TOKEN) const uint kEveryToken = 0;
const bool kEveryTurns = kEveryToken != 0u;
// In place, elements that do not turn are not stored. Out of place they are stored unturned.
const bool kSomeStay = !kSamePlace && (kPassElements != 0u || !kEveryTurns);

// Callers pass a literal `of_k`, so one branch is enough for all loads of a thread, and one for a head's stores.
Head load_head(WorkItem item, Lane lane, bool of_k, uint head) {
    uint at = item.from + min(head, item.heads - 1u) * item.from_head;
    return Head(load_run(of_k, at + lane.from.low, lane.from.low_count),
                load_run(of_k, at + lane.from.high, lane.from.high_count));
}

void store_runs(uint at, Lane lane, bool of_k, Head words) {
    store_run(of_k, at + lane.to.low, words.low, lane.to.low_count);
    store_run(of_k, at + lane.to.high, words.high, lane.to.high_count);
}

// Reads the first and second elements of a quad (four pairs) as float32 bits, or as 16-bit numbers if `as_is`. If pairs
// are interleaved and a lane has two quads, each run is one quad. Otherwise both runs have a part of each quad.
void read_quad(Head head, uint quad, bool interleaved, bool as_is, out WORDS first, out WORDS second) {
    if (kFloatsIn) {
        first = head.low;
        second = head.high;
    } else {
        bool run_each = interleaved && kQuads == 2u;
        HALVES low = part(head, run_each ? quad : 0u, run_each ? 0u : quad);
        HALVES high = part(head, run_each ? quad : 1u, run_each ? 1u : quad);
        first = as_is ? low_halves(low) : widen_run(low, kElementIn);
        second = as_is ? low_halves(high) : widen_run(high, kElementIn);
    }
    if (interleaved) deinterleave(first, second);
}

void write_quad(inout Head head, uint quad, bool interleaved, bool as_is, WORDS first, WORDS second) {
    if (interleaved) interleave(first, second);
    if (kFloatsOut) {
        head = Head(first, second);
    } else {
        bool run_each = interleaved && kQuads == 2u;
        HALVES low = as_is ? run_of_low(first) : narrow_run(first, kElementOut);
        HALVES high = as_is ? run_of_low(second) : narrow_run(second, kElementOut);
        set_part(head, run_each ? quad : 0u, run_each ? 0u : quad, low);
        set_part(head, run_each ? quad : 1u, run_each ? 1u : quad, high);
    }
}

Head turned_head(Head head, Lane lane, CosSin first_turn, CosSin second_turn) {
    bool stays = kSomeStay && !lane.turned;
    bool as_is = kSameElement && stays;
    Head result = head;
    uint quad = 0u;
    do {
        WORDS first;
        WORDS second;
        CosSin turn = first_turn;
        if (quad != 0u) turn = second_turn;
        read_quad(head, quad, ROPE_IS_INTERLEAVED(kChunkIn) && lane.paired, as_is, first, second);
        if (!stays) turn_pair(first, second, turn.cosine, turn.sine, kScaleGrid);
        write_quad(result, quad, ROPE_IS_INTERLEAVED(kChunkOut) && lane.paired, as_is, first, second);
    } while (++quad < kQuads);
    return result;
}

void store_head(WorkItem item, Lane lane, uint head, Head words) {
    if (head >= item.heads) return;
    uint at = item.to + head * item.to_head;
    if (kBoth && item.of_k) store_runs(at, lane, true, words);
    else store_runs(at, lane, false, words);
}

void main() {
    WorkItem item = find_work_item();
    Lane lane = lane_of(item.lane);
    Token token;
    lane.turned = lane.paired;
    if (kInline || kFromTable || !kEveryTurns) {
        token = find_token(gl_WorkGroupID.y, item.token);
        if (!kEveryTurns) lane.turned = is_known(token) && token.turns && lane.paired;
    }
    Head heads[kHeadsPerThread];
    uint round = 0u;
    do { // round 0 loads the heads before its angle, to hide latency
        uint pair = angle_pair(round, lane);
        uvec4 frequency;
        if (kInline) frequency = frequency_of(token, min(pair, kPairs - 1u));
        if (round == 0u && kBoth && item.of_k) {
            for (uint h = 0u; h < kHeadsPerThread; ++h) heads[h] = load_head(item, lane, true, item.head + h);
        } else if (round == 0u) {
            for (uint h = 0u; h < kHeadsPerThread; ++h) heads[h] = load_head(item, lane, false, item.head + h);
        }
        if (kInline) make_angle(round, token, pair, frequency);
    } while (++round < kRounds);
    if (kShared) barrier();
    uint row = gl_WorkGroupID.y * push.rows.batch + item.token * push.rows.token;
    CosSin first_turn = cos_sin_of_quad(token, row, lane, 0u);
    CosSin second_turn = first_turn;
    if (kQuads == 2u) second_turn = cos_sin_of_quad(token, row, lane, 1u);
    if (!item.is_there || (kSamePlace && !lane.turned)) return;
    for (uint h = 0u; h < kHeadsPerThread; ++h)
        store_head(item, lane, item.head + h, turned_head(heads[h], lane, first_turn, second_turn));
}
