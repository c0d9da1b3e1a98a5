// This file adds to scores. A group holds a tile of the scores of its queries. It stages the rows that the tile's keys
// have, and its queries, through shared memory, and makes each product of a query and a row once. Then it adds them by
// distance.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "relative.glsl"

layout(constant_id = ROPE_ID_TERM_SCALE) const uint kTermScale = 0x3F800000u;
layout(constant_id = ROPE_ID_TILE_QUADS) const uint kTileQuads = 1; // quads of elements that are staged together
layout(constant_id = ROPE_ID_ROW_SLOTS) const uint kSlots = 1;      // rows that are staged together
layout(constant_id = ROPE_ID_ALL_ROWS) const uint kAllRows = 0;     // 1: there are no more rows
const uint kRunKeys = kFloatsOut ? 4u : 8u;                         // 16 bytes of scores
const uint kRoundKeys = kLanes * kHeld * kRunKeys;                  // that a group's threads hold
const uint kStride = kTileQuads | 1u; // an odd stride lets threads read rows of their own from separate banks
const uint kQueryPairs = (kQueries + 1u) / 2u;

shared vec4 shared_rows[kSlots * kStride];
shared vec4 shared_queries[2u * kQueryPairs * kStride];
shared float shared_terms[2u * kQueryPairs * kSlots];
shared uint shared_known[kQueries];

// A range has the rows of a tile's keys, from all known queries of the group.
struct RowRange {
    uint first;
    uint count; // 0: no query is known
    bool fit;   // into shared memory
};

// Distances of far positions wrap around. Then every row may be one of a tile's.
RowRange rows_of_tile(uint first_key, uint last_key) {
    int least = 0x7FFFFFFF;
    int most = int(0x80000000u);
    uint known = 0u;
    for (uint i = 0u; i < kQueries; ++i) {
        int distance = shared_distances[i];
        bool counts = shared_known[i] != 0u;
        known |= shared_known[i];
        least = counts ? min(least, distance) : least;
        most = counts ? max(most, distance) : most;
    }
    bool wraps = distance_of_key(most, last_key) < most;
    uint first = row_of(distance_of_key(least, first_key));
    uint last = row_of(distance_of_key(most, last_key));
    first = choose(wraps, 0u, first);
    last = choose(wraps, last_row(), last);
    RowRange rows = RowRange(first, last - first + 1u, true);
    if (kAllRows == 0u) rows.fit = rows.count - 1u < kSlots;
    rows.count = choose(known != 0u && rows.fit, rows.count, 0u);
    return rows;
}

// Stages elements of rows and of queries, from quad `first_quad` on.
void stage(Query query, RowRange rows, uint first_quad, uint quads) {
    for (uint i = gl_LocalInvocationIndex; i < rows.count * kTileQuads; i += kThreads) {
        uint quad = i % kTileQuads;
        uint slot = i / kTileQuads;
        uint element = 4u * (first_quad + quad);
        if (quad < quads) {
            uint row = query.rows + (rows.first + slot) * push.row_stride;
            shared_rows[slot * kStride + quad] = row_quad(row + element, kDim - element);
        }
    }
    for (uint quad = gl_LocalInvocationID.x; quad < quads; quad += kLanes) {
        uint element = 4u * (first_quad + quad);
        shared_queries[query.slot * kStride + quad] =
            values_of_quad(load_source(query.from + element, min(kDim - element, 4u)));
    }
}

// Adds the staged elements' products to the terms. A thread takes a row and two queries.
void add_products(uint slots, uint quads, bool begins, bool ends) {
    for (uint i = gl_LocalInvocationIndex; i < slots * kQueryPairs; i += kThreads) {
        uint slot = i / kQueryPairs;
        uint first = 2u * (i % kQueryPairs);
        uint at = first * kSlots + slot;
        precise vec2 sum = vec2(0.0);
        if (!begins) sum = vec2(shared_terms[at], shared_terms[at + kSlots]);
        for (uint quad = 0u; quad < quads; ++quad) {
            vec4 row = shared_rows[slot * kStride + quad];
            precise vec4 low = shared_queries[first * kStride + quad] * row;
            precise vec4 high = shared_queries[(first + 1u) * kStride + quad] * row;
            sum = sum + vec2(low.x, high.x);
            sum = sum + vec2(low.y, high.y);
            sum = sum + vec2(low.z, high.z);
            sum = sum + vec2(low.w, high.w);
        }
        if (kTermScale != 0x3F800000u && ends) sum = sum * uintBitsToFloat(kTermScale);
        shared_terms[at] = sum.x;
        shared_terms[at + kSlots] = sum.y;
    }
}

// Every thread of the group comes here.
void make_terms(Query query, RowRange rows) {
    for (uint first = 0u; first < kDimQuads; first += kTileQuads) {
        uint quads = min(kTileQuads, kDimQuads - first);
        if (first != 0u) barrier();
        stage(query, rows, first, quads);
        barrier();
        add_products(rows.count, quads, first == 0u, first + quads == kDimQuads);
    }
    barrier();
}

// Returns a thread's own product, if the rows of a tile do not fit into shared memory.
float product_with(Query query, uint row) {
    precise float sum = 0.0;
    uint at = query.rows + row * push.row_stride;
    for (uint element = 0u; element < kDim; element += 4u) {
        uint count = min(kDim - element, 4u);
        precise vec4 products =
            values_of_quad(load_source(query.from + element, count)) * row_quad(at + element, count);
        sum = with_four(sum, products);
    }
    if (kTermScale != 0x3F800000u) sum = sum * uintBitsToFloat(kTermScale);
    return sum;
}

float shared_term(Query query, RowRange rows, uint row) {
    return shared_terms[query.slot * kSlots + row - rows.first];
}
uint row_of_key(Query query, uint key) { return row_of(distance_of_key(query.distance, key)); }

// A round is what the threads of a query hold. Neighbours' runs lie between a thread's own.
uvec4 held[kHeld];
uint run_of_round(uint run) { return (gl_LocalInvocationID.x + run * kLanes) * kRunKeys; }
uint vector_at(uint element) { return kFloatsOut ? element >> 2 : element >> 3; }

void load_round(uint at) {
    for (uint i = 0u; i < kHeld; ++i) held[i] = destination_vector[vector_at(at + run_of_round(i))];
}

void add_round(Query query, RowRange rows, uint first_key) {
    for (uint i = 0u; i < kHeld; ++i) {
        uint key = first_key + run_of_round(i);
        for (uint half_run = 0u; half_run < kRunKeys / 4u; ++half_run) {
            vec4 terms;
            for (uint k = 0u; k < 4u; ++k)
                terms[k] = shared_term(query, rows, row_of_key(query, key + 4u * half_run + k));
            uvec2 packed = half_run == 0u ? held[i].xy : held[i].zw;
            precise vec4 sum = uintBitsToFloat(kFloatsOut ? held[i] : widen_run(packed, kElementOut)) + terms;
            packed = narrow_run(floatBitsToUint(sum), kElementOut);
            if (kFloatsOut) held[i] = floatBitsToUint(sum);
            else if (half_run == 0u) held[i].xy = packed;
            else held[i].zw = packed;
        }
        destination_vector[vector_at(query.to + key)] = held[i];
    }
}

// Adds a word of scores at a time, wherever the scores lie, and also if the rows do not fit.
void add_words(Query query, RowRange rows, uint first_key, uint last_key) {
    const uint halves = uint(!kFloatsOut);
    const uint keys = 1u << halves; // of a word
    for (uint key = first_key + gl_LocalInvocationID.x * keys; key <= last_key; key += kLanes * keys) {
        uint at = (query.to + key) >> halves;
        uint word = destination_word[at];
        vec2 terms;
        for (uint k = 0u; k < 2u; ++k) {
            uint row = row_of_key(query, min(key + k, last_key));
            if (kAllRows != 0u || rows.fit) terms[k] = shared_term(query, rows, row);
            else terms[k] = product_with(query, row);
        }
        vec2 before = uintBitsToFloat(kFloatsOut ? uvec2(word, 0u) : widen_run(uvec2(word, 0u), kElementOut).xy);
        precise vec2 sum = before + terms;
        uvec4 bits = uvec4(floatBitsToUint(sum), 0u, 0u);
        destination_word[at] = kFloatsOut ? bits.x : narrow_run(bits, kElementOut).x;
    }
}

void main() {
    Query query = find_query(push.key_parts);
    if (gl_LocalInvocationID.x == 0u) {
        shared_distances[query.slot] = query.distance;
        shared_known[query.slot] = uint(query.is_there);
    }
    uint tile_keys = push.key_rounds * kRoundKeys;
    uint tiles = (push.keys - 1u) / tile_keys + 1u;
    for (uint tile = gl_WorkGroupID.z % push.key_parts; tile < tiles; tile += push.key_parts) {
        uint first_key = tile * tile_keys;
        uint last_key = first_key + min(push.keys - first_key, tile_keys) - 1u;
        bool whole = !lies_by_words(ROPE_DESTINATION_BY_WORDS) && last_key - first_key + 1u == tile_keys;
        bool by_vectors = query.is_there && whole;
        RowRange rows;
        for (uint key = first_key; key <= last_key; key += kRoundKeys) {
            if (by_vectors) load_round(query.to + key); // of the first round before its terms, to hide latency
            if (key == first_key) {
                barrier();
                rows = rows_of_tile(first_key, last_key);
                make_terms(query, rows);
            }
            if (by_vectors && rows.fit) add_round(query, rows, key);
        }
        if (query.is_there && !(whole && rows.fit)) add_words(query, rows, first_key, last_key);
    }
}
