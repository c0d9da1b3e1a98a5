// Norms, integers, weights and biases take whole quads of a head's elements. If the pairs do not lie in quads, every
// lane holds two quads, and its pairs come and go through shared memory. The heads themselves may then lie anywhere.
#ifndef ROPE_RELAY_GLSL
#define ROPE_RELAY_GLSL
#include "norms.glsl"
#include "../lane.glsl"

layout(constant_id = ROPE_ID_RELAYED) const uint kRelayed = 0; // elements of the widest head
const bool kRelays = kRelayed != 0u;
shared uint relayed[kRelays ? kEntries * kRelayed : 1u];

// Returns a lane's two quads. A lane without quads loads the last ones and stores none.
Lane quads_of(WorkItem item) {
    Width width = width_of(item);
    uint quads = (width.pass_elements + 2u * kPairs) / 4u;
    uint first = 2u * item.lane;
    uint last = quads - 1u;
    Lane lane;
    lane.paired = false;
    lane.from = Runs(uint[](min(first, last) * 4u, min(first + 1u, last) * 4u), uint[](4u, 4u));
    lane.to = lane.from;
    for (uint i = 0u; i < 2u; ++i) lane.to.count[i] = choose(first + i < quads, 4u, 0u);
    return lane;
}

void give(uint h, Runs runs, Quad words) {
    for (uint run = 0u; run < 2u; ++run) {
        uint to = entry_of(h) * kRelayed + runs.place[run];
        for (uint i = 0u; i < 4u; ++i) {
            if (i < runs.count[run]) relayed[to + i] = words.x[run][i];
        }
    }
}

Quad taken(uint h, Runs runs) {
    Quad words;
    for (uint run = 0u; run < 2u; ++run) {
        uint from = entry_of(h) * kRelayed + runs.place[run];
        uint last = max(runs.count[run], 1u) - 1u;
        for (uint i = 0u; i < 4u; ++i) words.x[run][i] = relayed[from + min(i, last)];
    }
    return words;
}

#endif
