// Quad has four pairs, which arithmetic takes at a time: their two vectors as they lie in the head, or their first and
// their second elements.
#ifndef ROPE_QUADS_GLSL
#define ROPE_QUADS_GLSL
#include "runs.glsl"

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

#endif
