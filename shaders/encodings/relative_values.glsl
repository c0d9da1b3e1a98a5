// This file adds to an attention's output. A group stages a tile of its queries' weights through shared memory. Keys
// behind either end share a row: one thread for each query and end sums their weights in the keys' order. The keys
// between add their rows to the elements that the threads hold.
#ifndef ROPE_RELATIVE_VALUES_GLSL
#define ROPE_RELATIVE_VALUES_GLSL
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

bool is_whole(uint first_key) {
    return !lies_by_words(ROPE_SOURCE_BY_WORDS) && push.keys - first_key >= kTileKeys;
}

void load_weights(Query query, uint first_key) {
    for (uint i = 0u; i < kHeld; ++i) {
        uint quad = min(gl_LocalInvocationID.x + i * kLanes, kTileQuads - 1u);
        held[i] = load_whole_quad(query.from + first_key + 4u * quad);
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
            uvec4 words = load_quad(query.from + key, min(push.keys - key, 4u));
            shared_weights[query.slot * kStride + quad] = values_of_quad(words);
        }
    }
}

// Keys of no end add 0 to a sum. The sum is never -0, because it begins with 0.
void sum_ends(uint first_key) {
    for (uint chain = gl_LocalInvocationIndex; chain < kChains; chain += kThreads) {
        uint slot = chain % kQueries;
        bool behind = chain >= kQueries;
        // d >= most, as ~d <= ~most
        int flip = behind ? -1 : 0;
        int bound = behind ? ~push.most : last_row() == 0u ? 0x7FFFFFFF : push.least;
        ivec4 distances = ivec4(uvec4(shared_distances[slot]) + first_key + uvec4(0u, 1u, 2u, 3u));
        precise float sum = shared_ends[chain];
        for (uint quad = 0u; quad < kTileQuads; ++quad) {
            bvec4 counts = lessThanEqual(distances ^ flip, ivec4(bound));
            vec4 weights = mix(vec4(0.0), shared_weights[slot * kStride + quad], counts);
            sum = sum + weights.x;
            sum = sum + weights.y;
            sum = sum + weights.z;
            sum = sum + weights.w;
            distances = ivec4(uvec4(distances) + 4u);
        }
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
    for (; at < end; ++at) {
        float weight = shared_weights[query.slot * kStride + at / 4u][at % 4u];
        add_row(query, weight, row_of(distance_of_key(query.distance, first_key + at)));
    }
}

uvec4 load_output(uint at, uint count) {
    uvec4 quad = uvec4(0u);
    const uint halves = uint(!kFloatsOut);
    if (count >= 4u && !lies_by_words(ROPE_DESTINATION_BY_WORDS)) {
        if (kFloatsOut) quad = destination_vector[at >> 2];
        else quad.xy = destination_two[at >> 2];
    } else {
        for (uint i = 0u; i < 4u >> halves; ++i) {
            if (i < count >> halves) quad[i] = destination_word[(at >> halves) + i];
        }
    }
    return quad;
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
            uvec4 quad = load_output(query.to + element, count);
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

#endif
