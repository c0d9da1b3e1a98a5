// A lane is a part of a head: a few pairs, or elements that do not rotate.
#ifndef ROPE_LANE_GLSL
#define ROPE_LANE_GLSL
#include "runs.glsl"
#ifndef ROPE_ITEM_GLSL // a fused pass has work items of its own
#include "work_item.glsl"
#endif

// Quad has four pairs, which arithmetic takes at a time: their two vectors as they lie in the head, or their first and
// their second elements.
struct Quad {
    uvec4 x[2];
};
// Head has a lane's two runs of one head: one quad, or two of 16 bits.
struct Head {
    uvec4 run[2];
};
// These read and write one quad's 16-bit elements of a run. They take no index into the array: NVIDIA's compiler keeps
// a head in memory if its lane decides on `run`.
uvec2 part(Head head, uint run, uint quad) {
    uvec4 words = run == 0u ? head.run[0] : head.run[1];
    return quad == 0u ? words.xy : words.zw;
}
void set_part(inout Head head, uint run, uint quad, uvec2 halves) {
    if (run == 0u && quad == 0u) head.run[0].xy = halves;
    else if (run == 0u) head.run[0].zw = halves;
    else if (quad == 0u) head.run[1].xy = halves;
    else head.run[1].zw = halves;
}

// Reads the two vectors of a quad as they lie in the head: as float32 bits, or as 16-bit numbers if `as_is`. If its
// pairs are interleaved and a lane has two quads, each run is one quad. Otherwise both runs have a part of each quad.
Quad read_quad(Head head, uint quad, bool interleaved, bool as_is) {
    bool run_each = interleaved && kQuads == 2u;
    Quad words = Quad(head.run);
    uint i = 0u;
    if (!kFloatsIn) do {
        uvec2 halves = part(head, run_each ? quad : i, run_each ? i : quad);
        words.x[i] = as_is ? low_halves(halves) : widen_run(halves, kElementIn);
    } while (++i < 2u);
    return words;
}

void write_quad(inout Head head, uint quad, bool interleaved, bool as_is, uint element, Quad words) {
    if (element == uint(ROPE_F32)) {
        head = Head(words.x);
    } else {
        bool run_each = interleaved && kQuads == 2u;
        uint i = 0u;
        do {
            uvec2 halves = as_is ? run_of_low(words.x[i]) : narrow_run(words.x[i], element);
            set_part(head, run_each ? quad : i, run_each ? i : quad, halves);
        } while (++i < 2u);
    }
}

// These change interleaved vectors into first and second elements, and back.
void deinterleave(inout Quad words) {
    words.x = uvec4[](uvec4(words.x[0].xz, words.x[1].xz), uvec4(words.x[0].yw, words.x[1].yw));
}
void interleave(inout Quad pairs) {
    pairs.x = uvec4[](uvec4(pairs.x[0].x, pairs.x[1].x, pairs.x[0].y, pairs.x[1].y),
                      uvec4(pairs.x[0].z, pairs.x[1].z, pairs.x[0].w, pairs.x[1].w));
}

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
