// This file has the queries, the rows and the distances of both shaders that add Shaw's relative vectors. A row belongs to
// the clipped distance from a query to a key. One adds q . R[row] to scores, the other Sum a * R[row] to an attention's
// output. A group takes a few queries of one head. In a group, x is the lane and z the query. Among groups, x is the
// first query, y the sequence and z the head with a part of its keys or of its elements.
#ifndef ROPE_RELATIVE_GLSL
#define ROPE_RELATIVE_GLSL
#define ROPE_PUSH RopeRelativePush
#include "words.h"
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

// Loads four elements of Q, or of what is added to, of which the first `count` exist. Others are 0. 16-bit elements are in
// the first two words.
#define LOAD_QUAD(side, floats, by_words)                                                                              \
    uvec4 load_##side(uint at, uint count) {                                                                           \
        if (count >= 4u && !lies_by_words(by_words))                                                                   \
            return (floats) ? side##_vector[at >> 2] : uvec4(side##_two[at >> 2], 0u, 0u);                             \
        uvec4 quad = uvec4(0u);                                                                                        \
        const uint halves = uint(!(floats));                                                                           \
        for (uint i = 0u; i < 4u >> halves; ++i) {                                                                     \
            if (i < count >> halves) quad[i] = side##_word[(at >> halves) + i];                                        \
        }                                                                                                              \
        return quad;                                                                                                   \
    }
LOAD_QUAD(source, kFloatsIn, ROPE_SOURCE_BY_WORDS)
LOAD_QUAD(destination, kFloatsOut, ROPE_DESTINATION_BY_WORDS)
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
    uint slot;     // in the group
    bool is_there; // false: a surplus thread, or a query without a position. Its scores or output stay
    int distance;  // to key 0
    uint part;
    uint from;
    uint to;
    uint rows; // the head's first
};

// Adds four products or weights to a sum, in their order.
float with_four(float total, vec4 terms) {
    precise float sum = total + terms.x;
    sum = sum + terms.y;
    sum = sum + terms.z;
    sum = sum + terms.w;
    return sum;
}

shared int shared_distances[kQueries];

// Surplus threads get the last query, so that every thread reaches the barriers.
Query find_query(uint parts) {
    Query query;
    query.slot = gl_LocalInvocationID.z;
    uint number = gl_WorkGroupID.x * kQueries + query.slot, head = gl_WorkGroupID.z / parts;
    query.part = gl_WorkGroupID.z % parts;
    query.is_there = number < push.tokens;
    number = min(number, push.tokens - 1u);
    uint batch = gl_WorkGroupID.y;
    query.from =
        push.source.offset + batch * push.source.batch + number * push.source.token + head * push.source.head;
    query.to = push.destination.offset + batch * push.destination.batch + number * push.destination.token +
               head * push.destination.head;
    query.rows = push.rows.offset + head * push.rows.head;
    Token token = find_token(batch, number);
    bool known = is_known(token);
    query.is_there = known && query.is_there;
    query.distance = int(uint(push.first_key) - token.whole.x);
    return query;
}

#endif
