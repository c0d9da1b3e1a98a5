// This shader rotates Q and K. A thread reads the cosines and sines of one lane (see lane.glsl), or makes them, alone
// or with its group. It loads the lane of a few heads, turns it and stores it. Out of place, other lanes copy the rest.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ROPE_PUSH RopeRotatePush
#include "angles.glsl"

// In place, elements that do not turn are not stored. Out of place they are stored unturned.
const bool kSomeStay = !kFirstInPlace && (kPassElements != 0u || !kEveryTurns);

Head heads[kHeadsPerThread];

// Loops over heads and quads run at least once. Not all compilers see that of a for loop.
void load_heads(WorkItem item, Lane lane, uint tensor) {
    uint h = 0u;
    do {
        heads[h] = load_head(item, lane, tensor, item.head + h);
    } while (++h < kHeadsPerThread);
}

Head turned_head(Head head, Lane lane) {
    bool stays = kSomeStay && !lane.turned;
    bool as_is = kSameElement && stays;
    Head result = head;
    uint quad = 0u;
    do {
        bool interleaved_in = ROPE_IS_INTERLEAVED(kChunkIn) && lane.paired;
        bool interleaved_out = ROPE_IS_INTERLEAVED(kChunkOut) && lane.paired;
        Quad pairs = read_quad(head, quad, interleaved_in, as_is);
        if (interleaved_in) deinterleave(pairs);
        if (!stays) turn_pair(pairs.x[0], pairs.x[1], cos_sin[quad].cosine, cos_sin[quad].sine, kScaleGrid);
        if (interleaved_out) interleave(pairs);
        write_quad(result, quad, interleaved_out, as_is, kElementOut, pairs);
    } while (++quad < kQuads);
    return result;
}

void store_head(WorkItem item, Lane lane, uint head, Head words) {
    if (head >= item.heads) return;
    uint at = item.to + head * item.to_head;
    if (kBoth && item.of_k) store_runs(at, lane, kSecond, words, kFloatsOut);
    else store_runs(at, lane, kFirst, words, kFloatsOut);
}

void main() {
    WorkItem item = find_work_item();
    Lane lane = lane_of(item.lane, Width(kPairLanes, kRotaryBegin, kPassElements));
    Token token;
    lane.turned = lane.paired;
    if (kInline || kFromTable || !kEveryTurns) {
        token = find_token(gl_WorkGroupID.y, item.token);
        if (!kEveryTurns) lane.turned = is_known(token) && token.turns && lane.paired;
    }
    uvec4 frequency; // of the thread's first angle
    if (kInline) frequency = angle_frequency(0u, token, lane);
    else load_cos_sin(token, gl_WorkGroupID.y * push.rows.batch + item.token * push.rows.token, lane);
    if (kBoth && item.of_k) load_heads(item, lane, kSecond);
    else load_heads(item, lane, kFirst);
    if (kInline) make_angles(token, lane, frequency);
    if (kShared) barrier();
    if (kInline) read_shared_angles(lane);
    uint h = 0u;
    if (item.is_there && (lane.turned || !kFirstInPlace)) do {
        store_head(item, lane, item.head + h, turned_head(heads[h], lane));
    } while (++h < kHeadsPerThread);
}
