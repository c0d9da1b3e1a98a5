// A stage of a fused pass: pairs turn. Norms, quantizers, weights and biases take whole quads of a head's elements. If the
// pairs do not lie in quads, every lane holds two quads, and its pairs come and go through shared memory. The heads
// themselves may then lie anywhere.
#ifndef ROPE_TURN_GLSL
#define ROPE_TURN_GLSL
#include "norms.glsl"
#include "../angles.glsl"

layout(constant_id = ROPE_ID_RELAYED) const uint kRelayed = 0; // elements of the widest head
const bool kRelays = kRelayed != 0u;
shared uint relayed[kRelays ? kEntries * kRelayed : 4u];

// Angles that were made are read for one quad at a time, which turns all heads: those of two would take more registers.
void turn_pairs(WorkItem item, HeadPath path) {
    if (kFloatsIn && !path.lane.paired && !kNormsLast) return;
    uint quad = 0u;
    do {
        CosSin angle = CosSin(vec4(1.0), vec4(0.0));
        if (path.lane.turned && kInline) angle = made_cos_sin(path.lane, quad);
        else if (path.lane.turned) angle = cos_sin[quad];
        uint h = 0u;
        do {
            Quad pairs = held[h * kQuads + quad];
            if (path.interleaved_in) deinterleave(pairs);
            if (path.lane.turned) turn_pair(pairs.x[0], pairs.x[1], angle.cosine, angle.sine, kScaleGrid);
            if (path.interleaved_out) interleave(pairs);
            held[h * kQuads + quad] = pairs;
            for (uint i = 0u; kNormsLast && !kRelays && i < 2u; ++i)
                keep_sums(item, h, places_out(path, quad)[i], pairs.x[i]);
        } while (++h < kHeadsPerThread);
    } while (++quad < kQuads);
}

// ---- Pairs that do not lie in quads

// Returns a lane's two quads. A lane without quads loads the last ones and stores none.
Lane quad_lane(WorkItem item) {
    uint quads = head_quads(item.tensor);
    uint first = 2u * item.lane;
    uint last = quads - 1u;
    Lane lane;
    lane.paired = false;
    lane.from = Runs(uint[](min(first, last) * 4u, min(first + 1u, last) * 4u), uint[](4u, 4u));
    lane.to = lane.from;
    for (uint i = 0u; i < 2u; ++i) lane.to.count[i] = choose(first + i < quads, 4u, 0u);
    return lane;
}

void store_relay(uint h, Runs runs, Quad words) {
    for (uint run = 0u; run < 2u; ++run) {
        uint to = entry_of(h) * kRelayed + runs.place[run];
        for (uint i = 0u; i < 4u; ++i) {
            if (i < runs.count[run]) relayed[to + i] = words.x[run][i];
        }
    }
}

Quad load_relay(uint h, Runs runs) {
    Quad words;
    for (uint run = 0u; run < 2u; ++run) {
        uint from = entry_of(h) * kRelayed + runs.place[run];
        uint last = max(runs.count[run], 1u) - 1u;
        for (uint i = 0u; i < 4u; ++i) words.x[run][i] = relayed[from + min(i, last)];
    }
    return words;
}

// Turns the pairs of lanes that hold quads, and gives them back.
void turn_relayed(WorkItem item, HeadPath quads, HeadPath pairs) {
    for (uint h = 0u; h < kHeadsPerThread; ++h) store_relay(h, quads.lane.from, held[h]);
    barrier();
    if (pairs.lane.paired) {
        for (uint h = 0u; h < kHeadsPerThread; ++h) held[h] = load_relay(h, pairs.lane.from);
    }
    barrier();
    if (pairs.lane.paired) {
        turn_pairs(item, pairs);
        for (uint h = 0u; h < kHeadsPerThread; ++h) store_relay(h, pairs.lane.to, held[h]);
    }
    barrier();
    for (uint h = 0u; h < kHeadsPerThread; ++h) {
        held[h] = load_relay(h, quads.lane.from);
        for (uint i = 0u; kNormsLast && i < 2u; ++i) keep_sums(item, h, places_out(quads, 0u)[i], held[h].x[i]);
    }
}

#endif
