// Norms, integers, weights and biases take whole quads of a head's elements. If the pairs do not lie in quads, every lane
// holds two quads, and its pairs come and go through shared memory. The heads themselves may then lie anywhere.
layout(constant_id = ROPE_ID_RELAYED) const uint kRelayed = 0; // elements of the widest head
const bool kRelays = kRelayed != 0u;
shared uint relayed[kRelays ? kEntries * kRelayed : 1u];

// Returns a lane's two quads. A lane without quads loads the last ones and stores none.
Lane quads_of(WorkItem item) {
    Width width = width_of(item);
    uint quads = (width.pass_elements + choose(is_own(item), 0u, 2u * kPairs)) / 4u;
    uint low = 2u * item.lane;
    uint last = quads - 1u;
    Lane lane;
    lane.paired = false;
    lane.from = Runs(min(low, last) * 4u, min(low + 1u, last) * 4u, 4u, 4u);
    lane.to = lane.from;
    lane.to.low_count = choose(low < quads, 4u, 0u);
    lane.to.high_count = choose(low + 1u < quads, 4u, 0u);
    return lane;
}

void give(uint h, uint place, uint count, uvec4 words) {
    for (uint i = 0u; i < 4u; ++i) {
        if (i < count) relayed[entry_of(h) * kRelayed + place + i] = words[i];
    }
}
void give_runs(uint h, Runs runs, uvec4 low, uvec4 high) {
    give(h, runs.low, runs.low_count, low);
    give(h, runs.high, runs.high_count, high);
}

uvec4 taken(uint h, uint place, uint count) {
    uint last = max(count, 1u) - 1u;
    uvec4 words;
    for (uint i = 0u; i < 4u; ++i) words[i] = relayed[entry_of(h) * kRelayed + place + min(i, last)];
    return words;
}
