// How a thread of the rotation goes through its heads. It may take two lanes of each, so that those of a CPU's vector
// cover a head as it lies in memory; or of float32 two heads together, all of whose elements are loaded before the first
// are stored.
#if ROPE_LANE == 4
layout(constant_id = ROPE_ID_IN_FLIGHT) const uint kInFlight = 1;
layout(constant_id = ROPE_ID_LANES) const uint kLanes = 1;
const uint kTogether = kInFlight;
#else
const uint kLanes = 1u;
const uint kTogether = 1u;
#endif
const bool kTwoHeads = kTogether == 2u;

// Of two lanes every second step takes the other one, and then goes on to the next head.
bool is_other(uint step) {
    bool second = (step & 1u) != 0u;
    return kLanes == 2u && second;
}
uint lane_distance(uint chunk) { return choose(ROPE_IS_INTERLEAVED(chunk), 2u, 1u) * push.head_lanes; } // in places
uint next_place(uint at, uint step, uint chunk, uint head) {
    uint other = lane_distance(chunk);
    return at + choose(kLanes == 1u, kTogether * head, choose(is_other(step), head - other, other));
}
