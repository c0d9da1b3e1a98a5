// This file has the queries, the rows and the distances of both builds of relative.comp.
#ifndef ROPE_RELATIVE_GLSL
#define ROPE_RELATIVE_GLSL
#include "../position.glsl"
#include "../rows.glsl"
#include "../bias.glsl"

layout(constant_id = ROPE_ID_DIM) const uint kDim = 1;
layout(constant_id = ROPE_ID_HELD) const uint kHeld = 1;
const uint kLanes = gl_WorkGroupSize.x;
const uint kQueries = gl_WorkGroupSize.z;
const uint kThreads = kLanes * kQueries;
const uint kDimQuads = (kDim + 3u) / 4u; // a quad is four elements

// Returns the row of a distance.
uint row_of(int distance) { return rope_relative_row(distance, push.least, push.most); }
uint last_row() { return uint(push.most) - uint(push.least); }
int distance_of_key(int distance, uint key) { return int(uint(distance) + key); }

bool lies_by_words(uint tensor_bit) { return (push.by_words & tensor_bit) != 0u; }

// A quad of Q. 16-bit elements are in its first two words.
uvec4 load_whole_quad(uint at) {
    return kFloatsIn ? source_vector[at >> 2] : uvec4(source_two[at >> 2], 0u, 0u);
}

// Loads four elements of Q, of which the first `count` exist. Others are 0.
uvec4 load_quad(uint at, uint count) {
    if (count >= 4u && !lies_by_words(ROPE_SOURCE_BY_WORDS)) return load_whole_quad(at);
    uvec4 quad = uvec4(0u);
    const uint halves = uint(!kFloatsIn);
    for (uint i = 0u; i < 4u >> halves; ++i) {
        if (i < count >> halves) quad[i] = source_word[(at >> halves) + i];
    }
    return quad;
}
vec4 values_of_quad(uvec4 quad) { return uintBitsToFloat(kFloatsIn ? quad : widen_run(quad.xy, kElementIn)); }

// Returns four elements of a row. Those from `count` on are 0.
vec4 row_quad(uint at, uint count) {
    uvec4 bits = uvec4(0u);
    if (kRows == ROPE_ROWS_BY_FOUR) {
        bits = kRowElement == ROPE_F32 ? rows_by_four[at >> 2] : widen_run(rows_packed[at >> 2], kRowElement);
    } else {
        for (uint i = 0u; i < 4u; ++i) {
            if (i < count) bits[i] = row_entry(at + i);
        }
        if (kRowElement != ROPE_F32) bits = widen(bits, kRowElement);
    }
    return uintBitsToFloat(bits);
}

// A thread's query, and where the elements of its head lie.
struct Query {
    uint number;
    uint slot;     // in the group
    bool is_there; // false: a surplus thread, or a query without a position. Its scores or output stay
    int distance;  // to key 0
    uint head;
    uint part;
    uint from;
    uint to;
    uint rows; // the head's first
};

shared int shared_distances[kQueries];

// Surplus threads get the last query, so that every thread reaches the barriers.
Query find_query(uint parts) {
    Query query;
    query.slot = gl_LocalInvocationID.z;
    query.number = gl_WorkGroupID.x * kQueries + query.slot;
    query.head = gl_WorkGroupID.z / parts;
    query.part = gl_WorkGroupID.z % parts;
    query.is_there = query.number < push.tokens;
    query.number = min(query.number, push.tokens - 1u);
    uint batch = gl_WorkGroupID.y;
    query.from = push.source.offset + batch * push.source.batch + query.number * push.source.token +
                 query.head * push.source.head;
    query.to = push.destination.offset + batch * push.destination.batch + query.number * push.destination.token +
               query.head * push.destination.head;
    query.rows = push.rows.offset + query.head * push.rows.head;
    Token token = find_token(batch, query.number);
    bool known = is_known(token);
    query.is_there = known && query.is_there;
    query.distance = int(uint(push.first_key) - token.whole.x);
    return query;
}

#endif
