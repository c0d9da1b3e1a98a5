// This file adds to an attention's output. A group stages a tile of its queries' weights through shared memory. Keys
// behind either end share a row: one thread for each query and end sums their weights in the keys' order. The keys
// between add their rows to the elements that the threads hold.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "relative.glsl"

layout(constant_id = ROPE_ID_TILE_QUADS) const uint kTileQuads = 1; // quads of keys that are staged together
layout(constant_id = ROPE_ID_DIM_PARTS) const uint kDimParts = 1;   // groups that one query's elements take
layout(constant_id = ROPE_ID_ITEMS) const uint kItems = 1;          // quads of elements of one thread
const uint kTileKeys = 4u * kTileQuads;
const uint kStride = kTileQuads | 1u; // an odd stride lets threads read queries of their own from separate banks
const uint kChains = 2u * kQueries;

shared vec4 shared_weights[kQueries * kStride];
shared float shared_ends[kChains]; // sums of the weights before, then of those behind

uvec4 held[kHeld]; // a thread's part of a tile's weights
vec4 sums[kItems]; // and its elements

bool is_whole(uint first_key) { return !lies_by_words(ROPE_SOURCE_BY_WORDS) && push.keys - first_key >= kTileKeys; }

void load_weights(Query query, uint first_key) {
    for (uint i = 0u; i < kHeld; ++i) {
        uint quad = min(gl_LocalInvocationID.x + i * kLanes, kTileQuads - 1u);
        uint at = query.from + first_key + 4u * quad;
        held[i] = kFloatsIn ? source_vector[at >> 2] : uvec4(source_two[at >> 2], 0u, 0u);
    }
}

void stage_weights(Query query, uint first_key) {
    if (is_whole(first_key)) {
        for (uint i = 0u; i < kHeld; ++i) {
            uint quad = gl_LocalInvocationID.x + i * kLanes;
            if (quad < kTileQuads) shared_weights[query.slot * kStride + quad] = values_of_quad(held[i]);
        }
    } else {
        for (uint quad = gl_LocalInvocationID.x; quad < kTileQuads; quad += kLanes) {
            uint key = min(first_key + 4u * quad, push.keys);
            uvec4 words = load_source(query.from + key, min(push.keys - key, 4u));
            shared_weights[query.slot * kStride + quad] = values_of_quad(words);
        }
    }
}

vec4 staged_weights(uint slot, uint quad) { return shared_weights[slot * kStride + min(quad, kTileQuads - 1u)]; }
vec4[2] two_quads(uint slot, uint quad) { return vec4[](staged_weights(slot, quad), staged_weights(slot, quad + 1u)); }
// Returns the weights of keys from `begin` to before `end`, and 0 for other keys of the quad.
vec4 weights_within(uint slot, uint quad, uint begin, uint end) {
    bvec4 within = lessThan(uvec4(4u * quad - begin) + uvec4(0u, 1u, 2u, 3u), uvec4(end - begin));
    return mix(vec4(0.0), staged_weights(slot, quad), within);
}

// Adds the weights of a tile's keys from `begin` to before `end`, in their order. Each sum waits for the one before, so
// no sum may wait for its weights too: they are loaded eight keys ahead. A sum is never -0, because it begins with 0.
float with_keys(float sum, uint slot, uint begin, uint end) {
    uint quad = begin / 4u;
    if (4u * quad != begin) sum = with_four(sum, weights_within(slot, quad++, begin, end));
    vec4 ahead[2] = two_quads(slot, quad);
    for (; 4u * quad + 16u <= end; quad += 4u) {
        vec4 next[2] = two_quads(slot, quad + 2u);
        sum = with_four(with_four(sum, ahead[0]), ahead[1]);
        ahead = two_quads(slot, quad + 4u);
        sum = with_four(with_four(sum, next[0]), next[1]);
    }
    for (; 4u * quad < end; ++quad) sum = with_four(sum, weights_within(slot, quad, begin, end));
    return sum;
}

// Adds up the weights behind both ends. An end's distances follow each other from its least one on. They wrap around, so
// a tile may begin with keys of an end, and have its least distance behind others.
void sum_ends(uint first_key) {
    for (uint chain = gl_LocalInvocationIndex; chain < kChains; chain += kThreads) {
        uint slot = chain % kQueries;
        bool behind = chain >= kQueries;
        uint least = behind ? uint(push.most) : 0x80000000u;
        uint range = (behind || last_row() == 0u ? 0x7FFFFFFFu : uint(push.least)) - least;
        uint first = uint(shared_distances[slot]) + first_key - least;
        uint keys = first <= range ? min(range - first, kTileKeys - 1u) + 1u : 0u;
        float sum = with_keys(shared_ends[chain], slot, 0u, keys);
        uint begin = max(0u - first, keys); // the key of the least distance
        if (begin < kTileKeys) sum = with_keys(sum, slot, begin, begin + min(range, kTileKeys - 1u - begin) + 1u);
        shared_ends[chain] = sum;
    }
}

uint element_of(Query query, uint item) {
    return 4u * ((query.part * kItems + item) * kLanes + gl_LocalInvocationID.x);
}

void add_row(Query query, float weight, uint row) {
    for (uint i = 0u; i < kItems; ++i) {
        uint element = element_of(query, i);
        if (element < kDim) {
            vec4 values = row_quad(query.rows + row * push.row_stride + element, kDim - element);
            precise vec4 sum = sums[i] + weight * values;
            sums[i] = sum;
        }
    }
}

const uint kTogether = kItems == 1u ? 4u : kItems == 2u ? 2u : 1u; // rows that are loaded before they are added

// Adds the rows of `count` keys from key `at` of a tile on.
void add_rows(Query query, uint first_key, uint at, uint count) {
    for (uint i = 0u; i < kItems; ++i) {
        uint element = element_of(query, i);
        if (element >= kDim) continue;
        float weights[kTogether];
        vec4 values[kTogether];
        for (uint k = 0u; k < kTogether; ++k) {
            uint key = at + min(k, count - 1u);
            uint row = row_of(distance_of_key(query.distance, first_key + key));
            weights[k] = shared_weights[query.slot * kStride + key / 4u][key % 4u];
            values[k] = row_quad(query.rows + row * push.row_stride + element, kDim - element);
        }
        for (uint k = 0u; k < kTogether; ++k) {
            precise vec4 sum = sums[i] + weights[k] * values[k];
            if (k < count) sums[i] = sum;
        }
    }
}

// Adds the rows of the keys between the ends. Such keys follow each other, even if distances wrap around.
void add_middle(Query query, uint first_key) {
    uint count = max(last_row(), 1u) - 1u;
    uint begin = uint(push.least) + 1u - uint(query.distance); // the first such key, maybe none of the tile's
    uint passed = first_key - begin;
    uint ahead = begin - first_key;
    uint keys = min(push.keys - first_key, kTileKeys);
    uint at = choose(passed < count, 0u, min(ahead, keys));
    uint left = choose(passed < count, count - passed, count);
    uint end = at + min(left, keys - at);
    for (; at < end; at += kTogether) add_rows(query, first_key, at, min(end - at, kTogether));
}

void store_output(uint at, uvec4 quad, uint count) {
    const uint halves = uint(!kFloatsOut);
    if (count >= 4u && !lies_by_words(ROPE_DESTINATION_BY_WORDS)) {
        if (kFloatsOut) destination_vector[at >> 2] = quad;
        else destination_two[at >> 2] = quad.xy;
    } else {
        for (uint i = 0u; i < 4u >> halves; ++i) {
            if (i < count >> halves) destination_word[(at >> halves) + i] = quad[i];
        }
    }
}

void add_to_output(Query query) {
    for (uint i = 0u; i < kItems; ++i) {
        uint element = element_of(query, i);
        if (element < kDim) {
            uint count = min(kDim - element, 4u);
            uvec4 quad = load_destination(query.to + element, count);
            vec4 before = uintBitsToFloat(kFloatsOut ? quad : widen_run(quad.xy, kElementOut));
            precise vec4 sum = before + sums[i];
            uvec4 bits = floatBitsToUint(sum);
            if (!kFloatsOut) bits.xy = narrow_run(bits, kElementOut);
            store_output(query.to + element, bits, count);
        }
    }
}

void main() {
    Query query = find_query(kDimParts);
    if (gl_LocalInvocationID.x == 0u) shared_distances[query.slot] = query.distance;
    for (uint chain = gl_LocalInvocationIndex; chain < kChains; chain += kThreads) shared_ends[chain] = 0.0;
    for (uint i = 0u; i < kItems; ++i) sums[i] = vec4(0.0);
    uint ahead = 0u;
    for (uint taken = 0u; taken < push.keys; taken = ahead - kTileKeys) {
        bool holds = ahead < push.keys && is_whole(ahead);
        if (holds) load_weights(query, ahead); // before the last tile is taken, to hide latency
        if (ahead != 0u) {
            sum_ends(taken);
            if (query.is_there) add_middle(query, taken);
            barrier();
        }
        if (ahead < push.keys) stage_weights(query, ahead);
        barrier();
        ahead += kTileKeys;
    }
    if (!query.is_there) return;
    uint ends = min(last_row(), 1u) + 1u;
    for (uint end = 0u; end < ends; ++end)
        add_row(query, shared_ends[end * kQueries + query.slot], choose(end == 0u, 0u, last_row()));
    add_to_output(query);
}
