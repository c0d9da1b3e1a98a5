// A quad of pairs is what arithmetic takes at a time. Head has a lane's two runs of one head: one quad, or two.
struct Head {
    uvec4 low;
    uvec4 high;
};
// part() returns one quad's 16-bit elements of a run.
uvec2 part(Head head, uint run, uint quad) {
    uvec4 words = run == 0u ? head.low : head.high;
    return quad == 0u ? words.xy : words.zw;
}
void set_part(inout Head head, uint run, uint quad, uvec2 halves) {
    if (run == 0u && quad == 0u) head.low.xy = halves;
    else if (run == 0u) head.low.zw = halves;
    else if (quad == 0u) head.high.xy = halves;
    else head.high.zw = halves;
}

// Reads the two words of a quad as they lie in the head: as float32 bits, or as 16-bit numbers if `as_is`. If its pairs
// are interleaved and a lane has two quads, each run is one quad. Otherwise both runs have a part of each quad.
void read_quad(Head head, uint quad, bool interleaved, bool as_is, out uvec4 low, out uvec4 high) {
    if (kFloatsIn) {
        low = head.low;
        high = head.high;
    } else {
        bool run_each = interleaved && kQuads == 2u;
        uvec4 words[2];
        for (uint i = 0u; i < 2u; ++i) { // a loop keeps the SPIR-V small
            uvec2 halves = part(head, run_each ? quad : i, run_each ? i : quad);
            words[i] = as_is ? low_halves(halves) : widen_run(halves, kElementIn);
        }
        low = words[0];
        high = words[1];
    }
}

void write_quad(inout Head head, uint quad, bool interleaved, bool as_is, uint element, uvec4 low, uvec4 high) {
    if (element == uint(ROPE_F32)) {
        head = Head(low, high);
    } else {
        bool run_each = interleaved && kQuads == 2u;
        uvec4 words[2] = uvec4[](low, high);
        for (uint i = 0u; i < 2u; ++i) {
            uvec2 halves = as_is ? run_of_low(words[i]) : narrow_run(words[i], element);
            set_part(head, run_each ? quad : i, run_each ? i : quad, halves);
        }
    }
}

// These change interleaved runs into first and second elements, and back.
void deinterleave(inout uvec4 low, inout uvec4 high) {
    uvec4 first = uvec4(low.xz, high.xz);
    high = uvec4(low.yw, high.yw);
    low = first;
}
void interleave(inout uvec4 first, inout uvec4 second) {
    uvec4 low = uvec4(first.x, second.x, first.y, second.y);
    second = uvec4(first.z, second.z, first.w, second.w);
    first = low;
}
