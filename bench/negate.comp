// Moves the rotation's elements without its arithmetic: the same lanes load and store the same elements, and flip signs.
// With ROPE_LOADS they first make the rotation's other loads too, each addressed by the last one, and mix the bits of the
// loaded words into the elements. Elements that do not rotate are not copied.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "../shaders/start.glsl"
#include "../shaders/angle.h"
#include "../shaders/position.glsl"
#include "../shaders/frequency.glsl"
#include "../shaders/words.glsl"
#include "../shaders/rows.glsl"
#include "../shaders/turn.glsl"
#include "../shaders/stand.glsl"
#include "../shaders/lanes.glsl"

void load_turn(Token token, uint number, Work work, inout WORDS cosine, inout WORDS sine) {
    WORDS at;
    for (uint i = 0u; i < kLane; ++i) {
        uint pair = work.j + i;
        uint axis = axis_of(pair);
        if (kInline) {
            uvec4 frequency = frequencies[pair];
            NTH(cosine, i) = frequency.x ^ frequency.y ^ token.whole[axis];
            NTH(sine, i) = frequency.z ^ frequency.w;
        } else {
            uint row = kFromTable ? row_of(token, axis) : number;
            NTH(at, i) = push.rows.offset + row * push.rows.token + pair * push.rows.head;
        }
    }
    if (!kInline) load_row(at, cosine, sine);
}

void main() {
    push = push_of(given);
    Stand stand = find_stand();
    if (stand.number >= push.tokens) return;
    Work work = work_of(stand.lane, heads_from(stand.head));
    Runs runs = runs_of(work.j, work.count, kChunkIn);
    WORDS cosine = WORDS(kFloatsIn ? 0x80000000u : 0x8000u);
    WORDS sine = cosine;
#ifdef ROPE_LOADS
    Token token = find_token(gl_WorkGroupID.y, stand.number);
    if (!is_known(token) || !token.turns) return;
    load_turn(token, stand.number, work, cosine, sine);
#endif
    uint from = stand.from;
    uint to = stand.to;
    uint steps = work.heads * kLanes;
    uint step = 0u;
    do {
        bool more = step + 1u < steps;
        WORDS first = load(from + runs.low, runs.low_count);
        WORDS second = load(from + runs.high, runs.high_count);
        WORDS third;
        WORDS fourth;
        if (kTwoHeads) {
            uint at = from + choose(more, push.source.head, 0u);
            third = fetch(at + runs.low);
            fourth = fetch(at + runs.high);
        }
        store(to + runs.low, first ^ cosine, runs.low_count);
        store(to + runs.high, second ^ sine, runs.high_count);
        if (kTwoHeads) {
            uint at = to + choose(more, push.destination.head, 0u);
            put(at + runs.low, third ^ cosine);
            put(at + runs.high, fourth ^ sine);
        }
        from = next_place(from, step, kChunkIn, push.source.head);
        to = next_place(to, step, kChunkOut, push.destination.head);
        step += kTogether;
    } while (step < steps);
}
