// The stages of a fused pass change the heads that a thread holds. This file loads them and stores them.
#ifndef ROPE_HEADS_GLSL
#define ROPE_HEADS_GLSL
#include "item.glsl"
#include "../lane.glsl"

// The parameters: the queries' values first, then weights and biases of norms, and given scales.
layout(constant_id = ROPE_ID_PARAMETERS) const uint kParameters = 1;
layout(std140, set = 0, binding = ROPE_BINDING_PARAMETERS) uniform Parameters {
    vec4 parameters[kParameters];
};
float parameter(uint at) { return parameters[at / 4u][at % 4u]; }

// The quads of a thread's heads, as float32 bits or, if they are moved as they are, as 16-bit numbers.
Quad held[kHeadsPerThread * kQuads];
// Heads of 16 bits wait as they were loaded, so that all loads are on their way before any is widened. Those of 32 bits
// are held at once.
Head loaded[kHeadsPerThread];

// A HeadPath says how a thread's heads pass: the places of their quads, and what becomes of them.
struct HeadPath {
    Lane lane;
    bool interleaved_in;
    bool interleaved_out;
    bool as_is;
};

// An entry is one head of one token of the group.
const uint kEntries = gl_WorkGroupSize.z * gl_WorkGroupSize.y * kRowBlocks * kHeadsPerThread;
uint entry_of(uint h) {
    uint row = gl_LocalInvocationID.z * gl_WorkGroupSize.y + gl_LocalInvocationID.y;
    return (row * kRowBlocks + row_block) * kHeadsPerThread + h;
}
// Returns which of the four quads from quad 4 * `four` on there are.
bvec4 are_below(uint four, uint quads) { return lessThan(uvec4(four * 4u) + uvec4(0u, 1u, 2u, 3u), uvec4(quads)); }

// Returns the places of a quad's two vectors in its head, counted in fours of elements.
uint[2] quad_places(Runs runs, uint quad, bool interleaved) {
    if (kByWords) return uint[](runs.place[0] / 4u, runs.place[1] / 4u);
    if (interleaved && kQuads == 2u) return uint[](runs.place[quad] * 2u, runs.place[quad] * 2u + 1u);
    return uint[](runs.place[0] * kQuads + quad, runs.place[1] * kQuads + quad);
}
uint[2] places_in(HeadPath path, uint quad) { return quad_places(path.lane.from, quad, path.interleaved_in); }
uint[2] places_out(HeadPath path, uint quad) { return quad_places(path.lane.to, quad, path.interleaved_out); }

void keep_head(uint h, Head words) {
    if (kFloatsIn) held[h] = Quad(words.run);
    else loaded[h] = words;
}

// Loops over heads and quads run at least once. Not all compilers see that in a for loop, so most are do loops:
// SwiftShader then takes half the time.
void load_heads(WorkItem item, Lane lane) {
    uint h = 0u;
    do {
        uint head = item.head + h;
        if (is_read_from(item.tensor, kThird)) keep_head(h, load_head(item, lane, kThird, head));
        else if (is_read_from(item.tensor, kSecond)) keep_head(h, load_head(item, lane, kSecond, head));
        else keep_head(h, load_head(item, lane, kFirst, head));
    } while (++h < kHeadsPerThread);
}

void put_head(WorkItem item, HeadPath path, uint h, Head words) {
    uint at = item.to + (item.head + h) * item.to_head;
    bool floats = float_element_of(item.tensor) == uint(ROPE_F32);
    if (!kVQuantized && is_written_to(item.tensor, kThird)) store_runs(at, path.lane, kThird, words, floats);
    else if (kSomeFloats && is_written_to(item.tensor, kSecond)) store_runs(at, path.lane, kSecond, words, floats);
    else store_runs(at, path.lane, kFirst, words, floats);
}

// A return within a loop would keep compilers from unrolling it, and the heads would lie in memory.
void store_head(WorkItem item, HeadPath path, uint h) {
    if (!has_head(item, h)) return;
    Head words;
    uint quad = 0u;
    do {
        write_quad(words, quad, path.interleaved_out, path.as_is, float_element_of(item.tensor), held[h * kQuads + quad]);
    } while (++quad < kQuads);
    put_head(item, path, h, words);
}

void store_heads(WorkItem item, HeadPath path) {
    if (!item.is_there) return;
    uint h = 0u;
    do {
        store_head(item, path, h);
    } while (++h < kHeadsPerThread);
}

#endif
