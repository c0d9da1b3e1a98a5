// A lane is a part of a head: a few pairs, or elements that do not rotate.
#ifndef ROPE_LANE_GLSL
#define ROPE_LANE_GLSL
#include "quads.glsl"
#ifndef ROPE_ITEM_GLSL // a fused pass has work items of its own
#include "work_item.glsl"
#endif

layout(constant_id = ROPE_ID_PAIRING_IN) const uint kChunkIn = 0;
layout(constant_id = ROPE_ID_PAIRING_OUT) const uint kChunkOut = 0;

struct Lane {
    bool paired; // its elements are pairs
    bool turned; // set in main: it is paired, and its token rotates
    uint j;      // the first pair
    uint count;
    Runs from;
    Runs to;
};

// Returns lane `number` of a head. All its pairs lie in one chunk.
Lane lane_of(uint number, Width width) {
    Lane lane;
    lane.paired = width.pass_elements == 0u || number < width.pair_lanes;
    const uint chunk = max(kChunkIn, kChunkOut);
    const uint lanes = (chunk + kRun - 1u) / kRun;
    uint begin = 0u, first = number * kRun, end = kPairs;
    if (chunk > 1u) {
        begin = number / lanes * chunk;
        first = number % lanes * kRun;
        end = chunk;
    }
    lane.j = choose(lane.paired, begin + first, 0u);
    lane.count = kByWords ? choose(lane.paired, min(kRun, end - first), 1u) : kRun;
    if (lane.paired) {
        lane.from = pair_runs(lane.j, lane.count, kChunkIn, width);
        lane.to = pair_runs(lane.j, lane.count, kChunkOut, width);
    } else {
        lane.from = copied_runs(number - width.pair_lanes, width);
        lane.to = lane.from;
    }
    return lane;
}

// Returns pair i of a lane, or the last one if the lane has fewer.
uint pair_in_lane(Lane lane, uint i) { return lane.j + (kByWords ? min(i, lane.count - 1u) : i); }

// Callers pass a constant `tensor`, so one branch is enough for all loads of a thread, and one for a head's stores. A
// loop over the two loads took 1.25 of SwiftShader's time, and one over the two stores cost Mali nine moves a head.
Head load_head(WorkItem item, Lane lane, uint tensor, uint head) {
    uint at = item.from + min(head, item.heads - 1u) * item.from_head;
    return Head(uvec4[](load_run(tensor, at + lane.from.place[0], lane.from.count[0]),
                        load_run(tensor, at + lane.from.place[1], lane.from.count[1])));
}

void store_runs(uint at, Lane lane, uint tensor, Head words, bool floats) {
    store_run(tensor, at + lane.to.place[0], words.run[0], lane.to.count[0], floats);
    store_run(tensor, at + lane.to.place[1], words.run[1], lane.to.count[1], floats);
}

#endif
