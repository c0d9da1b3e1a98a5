// A quad of pairs is what arithmetic takes at a time. Head has a lane's two runs of one head: one quad, or two.
struct Head {
    RUN low;
    RUN high;
};
// part() returns one quad's 16-bit elements of a run.
#if ROPE_LANE == 4
HALVES part(Head head, uint run, uint quad) {
    RUN words = run == 0u ? head.low : head.high;
    return quad == 0u ? words.xy : words.zw;
}
void set_part(inout Head head, uint run, uint quad, HALVES halves) {
    if (run == 0u && quad == 0u) head.low.xy = halves;
    else if (run == 0u) head.low.zw = halves;
    else if (quad == 0u) head.high.xy = halves;
    else head.high.zw = halves;
}
#else
HALVES part(Head head, uint run, uint quad) { return run == 0u ? head.low : head.high; }
void set_part(inout Head head, uint run, uint quad, HALVES halves) {
    if (run == 0u) head.low = halves;
    else head.high = halves;
}
#endif

// Reads the two words of a quad as they lie in the head: as float32 bits, or as 16-bit numbers if `as_is`. If its pairs
// are interleaved and a lane has two quads, each run is one quad. Otherwise both runs have a part of each quad.
void read_quad(Head head, uint quad, bool interleaved, bool as_is, out WORDS low, out WORDS high) {
    if (kFloatsIn) {
        low = head.low;
        high = head.high;
    } else {
        bool run_each = interleaved && kQuads == 2u;
        HALVES low_part = part(head, run_each ? quad : 0u, run_each ? 0u : quad);
        HALVES high_part = part(head, run_each ? quad : 1u, run_each ? 1u : quad);
        low = as_is ? low_halves(low_part) : widen_run(low_part, kElementIn);
        high = as_is ? low_halves(high_part) : widen_run(high_part, kElementIn);
    }
}

void write_quad(inout Head head, uint quad, bool interleaved, bool as_is, uint element, WORDS low, WORDS high) {
    if (element == uint(ROPE_F32)) {
        head = Head(RUN(low), RUN(high));
    } else {
        bool run_each = interleaved && kQuads == 2u;
        HALVES low_part = as_is ? run_of_low(low) : narrow_run(low, element);
        HALVES high_part = as_is ? run_of_low(high) : narrow_run(high, element);
        set_part(head, run_each ? quad : 0u, run_each ? 0u : quad, low_part);
        set_part(head, run_each ? quad : 1u, run_each ? 1u : quad, high_part);
    }
}

// These change interleaved runs into first and second elements, and back.
#if ROPE_LANE == 4
void deinterleave(inout WORDS low, inout WORDS high) {
    WORDS first = uvec4(low.xz, high.xz);
    high = uvec4(low.yw, high.yw);
    low = first;
}
void interleave(inout WORDS first, inout WORDS second) {
    WORDS low = uvec4(first.x, second.x, first.y, second.y);
    second = uvec4(first.z, second.z, first.w, second.w);
    first = low;
}
#else
void deinterleave(inout WORDS low, inout WORDS high) {}
void interleave(inout WORDS first, inout WORDS second) {}
#endif
